"""What a picture shows, in the words of its reader: the sentence above it, and what "What is this?" opens."""

from __future__ import annotations

from typing import Any, NamedTuple

from pmdviz.scenes.words import count

PLAY = "Press Play."
BAYES = "Before any data, the prior says which values of θ are plausible; the data turn it into the posterior."
NO_DATA = "The target is a density without data: it can be evaluated at any point, but not drawn from."
EXACT = (
    "The exact posterior is computed separately and drawn as lines; TV says how far the method still is from it, "
    "from 1 (no overlap) to 0 (identical)."
)
COMPARED = "The numbers below the picture say how far the method still is from a reference computed separately."


class Explanation(NamedTuple):
    """What "What is this?" opens."""

    title: str
    sentences: tuple[str, ...]
    formula: str
    source: str


def title(method: Any, target: Any) -> str:
    """Method and target."""
    return f"{method.title} · {target.title or target.name}"


def sentence(method: Any, knobs: Any, target: Any) -> str:
    """What one sees and what should come of it, such as "1,500 particles start at what is known before ..."."""
    number, noun = method.who(knobs)
    subject = f"One {noun} starts" if number == 1 else f"{count(number)} {noun}s start"
    if target.data is None:
        said = f"{subject} at random and should {method.goal} where the target's density is high."
        return f"{said} {target.no_reference}".rstrip()
    end = "where prior and data together point (posterior)"
    return f"{subject} at what is known before the data (prior) and should {method.goal} {end}."


def explanation(method: Any, target: Any) -> Explanation:
    """Five sentences, the formula and the paper."""
    judged = target.no_reference or (EXACT if "reals" in target.offers and target.dim <= 2 else COMPARED)
    told = (NO_DATA if target.data is None else BAYES, target.about, method.about, method.what_moves, judged)
    return Explanation(title(method, target), tuple(one for one in told if one), method.formula, _cited(method.source))


def _cited(source: str) -> str:
    first = source.split(";")[0]  # the paper; what else was taken or is ours stands in the docs
    return f"{first[0].upper()}{first[1:]}." if first else ""
