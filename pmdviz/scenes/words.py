"""Numbers and states as a person reads them, the sentences above a picture, and the words that a page explains."""

from __future__ import annotations

import html
import math
import re
from pathlib import Path
from typing import NamedTuple

import yaml

from pmdviz.engine.frame import Frame
from pmdviz.files import Json
from pmdviz.methods import Method
from pmdviz.methods.step import MethodKnobs
from pmdviz.metrics import METRICS
from pmdviz.metrics.perfect_draws import NUM_SETS
from pmdviz.targets import Target

NO_JUDGEMENT = ("ess", "ancestors", "khat")  # of weights and descent: they do not say how far q is from p
UNKNOWN = "being computed"  # the words for a floor until it is known
INDEPENDENT_DRAWS = "independent draws"  # the reference, wherever it is read: on a page, in a film, on a terminal
SHARE = "share"  # unit of values of at most 1
UNSPOKEN = ("0 to 1", SHARE)  # not read after a number
NOISE = 2.0  # standard deviations of one set of independent draws that are called its noise


SET_LOW_OR_HIGH = re.compile(r"([_^])(?:\{([^}]*)\}|([\w.−/+-]*\w))")  # "_t", "^{t+1}", "^−1/2"


def count(value: float) -> str:
    """A whole number with thousands separators: 12,000."""
    return f"{int(value):,}"


def number(value: float | None, digits: int = 3) -> str:
    """`value` to so many significant digits, without an exponent: 0.0872, 1,230, "below 0.0001"."""
    if value is None or math.isnan(value):
        return "not known"
    if math.isinf(value):
        return "infinite" if value > 0 else "minus infinite"
    if value == 0:
        return "0"
    if abs(value) < 1e-4:
        return "below 0.0001" if value > 0 else "just below 0"
    value = float(f"{value:.{digits - 1}e}")
    places = digits - 1 - math.floor(math.log10(abs(value)))
    return f"{value:,.{max(places, 0)}f}"


def typeset(text: str) -> str:
    """A formula as HTML: "q_{t+1}" and "m^−1/2" with low and high parts set so, the rest escaped."""
    tags = {"_": "sub", "^": "sup"}
    return SET_LOW_OR_HIGH.sub(lambda m: f"<{tags[m[1]]}>{m[2] or m[3]}</{tags[m[1]]}>", html.escape(text))


def short(value: float) -> str:
    """`number` without zeros at its end, for boxes and notes: 0.05, 1,500."""
    text = number(value, 4)
    return text.rstrip("0").rstrip(".") if "." in text else text


def state(frame: Frame, unknown: str = UNKNOWN) -> str:
    """One line: "iteration 120, 12,000 of 20,000 observations used, TV 0.087, independent draws 0.088"."""
    parts = [f"iteration {count(frame.iteration)}", observations_used(frame), *headline(frame, unknown=unknown)]
    said = frame.caveat or (frame.unchecked and f"not checked: {frame.unchecked}")
    return ", ".join([*parts, said] if said else parts)


def headline(frame: Frame, before: str = f", {INDEPENDENT_DRAWS} ", unknown: str = UNKNOWN) -> list[str]:
    """The first available metric, with the reference: ["TV 0.087, independent draws 0.088"]; [] for none."""
    tv = frame.metric("tv")
    if tv is not None:
        return [f"TV {number(tv)}{floor(frame, before, unknown)}"]
    judging = (name for name in frame.traced_names if name not in NO_JUDGEMENT)
    known = ((METRICS[name], value) for name in judging if (value := frame.metric(name)) is not None)
    for one, value in known:
        return [f"{one.title} {number(value)} {'' if one.unit in UNSPOKEN else one.unit}".rstrip()]
    return []


def observations_used(frame: Frame) -> str:
    """How far the budget is used up, such as "12,000 of 20,000 observations used"; beyond it both numbers, and why."""
    spent, budget = frame.spent, frame.budget
    data = frame.budget_unit == "data"
    unit, done = ("observations", "used") if data else ("evaluations", "made")
    said = f"{unit} {done}" if data else unit
    if budget is None:
        return f"{count(spent)} {said}"
    if spent <= budget:
        return f"{count(spent)} of {count(budget)} {said}"
    took = count(frame.info.cost.visited if data else frame.info.cost.evaluations)
    return f"{count(budget)} {unit} asked for, {count(spent)} {done} (the last step took {took})"


def floor(frame: Frame, before: str, unknown: str = UNKNOWN) -> str:
    """The TV of as many independent draws, after `before`; `unknown` while it is being computed.

    "" for a method without particles.
    """
    if frame.num_draws is None:
        return ""
    tv = frame.floors["floor_tv"]
    return f"{before}{number(tv)}" if tv is not None else f"{before.rstrip(': ')}: {unknown}"


def below_words(frame: Frame) -> str:
    """Why the TV of a run may be below the TV of as many independent draws; "" where it is not, or unexplained."""
    tv, reference, error = frame.metric("tv"), frame.floors["floor_tv"], frame.floors["floor_tv_se"]
    if frame.num_draws is None or tv is None or reference is None or tv >= reference:
        return ""
    if reason := frame.method.varies_less:
        return f"Lower than {INDEPENDENT_DRAWS}: {reason}"
    within = error is not None and reference - tv <= NOISE * error * math.sqrt(NUM_SETS)
    return f"Lower than {INDEPENDENT_DRAWS}, but within noise" if within else ""


def duration(seconds: float) -> str:
    """A time in words: "0.4 s", "12 s", "3 min"."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


# Sentences about a picture: the one above it, and the text that "What is this?" opens.

PLAY = "Press Play."
BAYES = "Before any data, the prior says which values of θ are plausible; the data turn it into the posterior."
NO_DATA = "The target is a density without data: it can be evaluated at any point, but not drawn from."
EXACT = (
    "The exact posterior is computed separately and drawn as lines; TV says how far the method still is from it, "
    "from 1 (no overlap) to 0 (identical)."
)
COMPARED = "The numbers below the picture say how far the method still is from a reference computed separately."


def capital(words: str) -> str:
    """Words that begin with a capital."""
    return words[:1].upper() + words[1:]


def whole_sentence(words: str) -> str:
    """Words with a capital and a full stop; "" for none."""
    return f"{capital(words).rstrip('.')}." if words else ""


def sentence(method: Method, knobs: MethodKnobs, target: Target) -> str:
    """Start and goal of a run in a sentence, such as "1,500 particles start at the prior ..."."""
    number, noun = method.who(knobs)
    subject = f"One {noun} starts" if number == 1 else f"{count(number)} {noun}s start"
    if target.data is None:
        said = f"{subject} at random and should {method.goal} where the target's density is high."
        return f"{said} {target.no_reference}".rstrip()
    end = "where prior and data together point (posterior)"
    return f"{subject} at the prior, before any data, and should {method.goal} {end}."


def explanation(method: Method, target: Target) -> dict[str, Json]:
    """A method on a target for somebody new to them: a title, five sentences, the formula and the paper."""
    judged = target.no_reference or (EXACT if "reals" in target.offers and target.dim <= 2 else COMPARED)
    told = (NO_DATA if target.data is None else BAYES, target.about, method.about, method.what_moves, judged)
    paper = whole_sentence(method.source.split(";")[0])  # other sources, and parts of ours, are in the docs
    title = f"{method.title} · {target.title or target.name}"
    return {"title": title, "sentences": [one for one in told if one], "formula": method.formula, "source": paper}


# The words that a page explains when a person clicks or touches them, from glossary.yaml.


class Term(NamedTuple):
    """A word of the glossary; `forms` is how it is written in texts, `page` says which page of the docs has more."""

    title: str
    forms: tuple[str, ...]
    meaning: str
    formula: str
    page: str


_entries = yaml.safe_load(Path(__file__).with_name("glossary.yaml").read_text(encoding="utf-8"))
GLOSSARY = {key: Term(**{**entry, "forms": tuple(entry["forms"])}) for key, entry in _entries.items()}
IN_ROW = ("tv", "kl", "ess", "bandwidth", "rejuvenation", "independent-draws")  # in the usual legends
KEYS = {form: key for key, term in GLOSSARY.items() for form in term.forms}
_FORMS = re.compile(rf"\b({'|'.join(sorted(map(re.escape, KEYS), key=len, reverse=True))})\b")


def marked(text: str) -> str:
    """A text (escaped, if it is to be HTML) with each word of the glossary as a button that opens its explanation."""
    return _FORMS.sub(lambda found: button(found[1], KEYS[found[1]]), text)


def button(words: str, key: str) -> str:
    """The HTML of a button that explains `key`."""
    return f'<button type="button" class="pmdviz-term" data-term="{key}" aria-haspopup="dialog">{words}</button>'


def row() -> str:
    """The words of the usual legends, which are drawn and cannot be clicked; HTML."""
    found = " · ".join(button(GLOSSARY[key].forms[0], key) for key in IN_ROW)
    return f'<div class="pmdviz-glossary">What is … {found}?</div>'
