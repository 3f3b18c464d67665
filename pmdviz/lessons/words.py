"""Lessons, goals and diagnoses in words."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from typing import Any
from xml.etree.ElementTree import Element, fromstring

from markdown_it import MarkdownIt

from pmdviz.engine.run import Run
from pmdviz.errors import InputError
from pmdviz.expressions import BEFORE, Expression
from pmdviz.files import Json
from pmdviz.lessons.lesson import CONFIDENCES, Verdict
from pmdviz.lessons.progress import Progress
from pmdviz.lessons.reading import TERM
from pmdviz.metrics import METRICS
from pmdviz.presets import PRESETS, RunScope, diagnose
from pmdviz.scenes.words import INDEPENDENT_DRAWS, count, marked, number, state, whole_sentence

Node = list[Json]  # tag, attributes and content
Nodes = list[Json]  # texts and elements
NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
RELATIONS = {"<": "below", "<=": "at most", ">": "above", ">=": "at least", "==": "equal to", "!=": "other than"}
CLAUSE = re.compile(
    r"^([\w.]+|\w+\([\w.]+\)) *(<=|>=|==|!=|<|>) *(?:(-?[\d.]+(?:e-?\d+)?) \* )?(-?[\d.]+(?:e-?\d+)?|[\w.]+)$"
)
WITHIN = re.compile(r"^abs\(([\w.]+)(?: / ([\w.]+) - 1)?\) *<=? *([\d.]+)$")
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
CLOCK = {"visited": "before {} observations are used", "iteration": "before iteration {}"}
NAMES = {  # of values that are not metrics, in a person's words
    "draws_sd": "sd of the draws",
    "ess_fraction": "ESS / m",
    "floor_tv": f"TV of {INDEPENDENT_DRAWS}",
    "num_particles": "number of particles",
    "first_mean": "mean of the first coordinate",
    "first_sd": "sd of the first coordinate",
    "lightest_mode": "mass of the lightest mode",
    "log_z_error": "error of log Z",
    "max_weight": "largest weight",
    "mean_square_ratio": "squared error of the mean, 1 for independent draws",
    "sd": "the exact sd",
    "visited": "number of observations used",
}
BESIDE = {"lowest": "lowest {}", "highest": "highest {}", "first": "first {}"}


# Markdown without HTML and without pictures, which would be asked of other servers; what it makes is XML.
READER = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")


def markdown(text: str) -> Nodes:
    """Markdown as elements of a page; words of the glossary can be clicked, outside of links and code."""
    return _written(READER.parse(TERM.sub(r"\1", COMMENT.sub("", text))))


def inline(text: str) -> Nodes:
    """One paragraph of Markdown, without the paragraph."""
    return _written(READER.parseInline(TERM.sub(r"\1", text)))


def plain(text: str) -> str:
    """Markdown as a text to be read aloud."""
    return html.unescape(re.sub(r"<[^>]*>", "", READER.renderInline(text)))


def _written(tokens: list[Any]) -> Nodes:
    """The elements of tokens, in whose texts the glossary's words are buttons."""
    for token in tokens:
        inside = 0
        for child in token.children or ():
            inside += {"link_open": 1, "link_close": -1}.get(child.type, 0)
            if child.type == "text" and not inside:
                child.type, child.content = "html_inline", marked(html.escape(child.content, quote=False))
    markup = READER.renderer.render(tokens, READER.options, {})
    return _nodes(fromstring(f"<p>{NOT_XML.sub('', markup)}</p>"))  # noqa: S314, it was made here


def _nodes(element: Element) -> Nodes:
    """What an element holds as plain values: a script makes elements of these, and never reads markup."""
    found: Nodes = [element.text] if element.text else []
    for child in element:
        found.append([child.tag, dict(child.attrib), _nodes(child)])
        found += [child.tail] if child.tail else []
    return found


def name_words(name: str) -> str:
    """A name of an expression as a person says it: "TV", "SVGD: TV", "batch size"."""
    owner, dot, metric = name.rpartition(".")
    known = METRICS[metric].title if metric in METRICS else NAMES.get(metric, metric.replace("_", " "))
    return f"{owner.replace('_', ' ')}: {known}" if dot else known


def goal_words(goal: Expression) -> str:
    """The goal: "TV below 0.2 before 3,000 observations are used"; else the expression as it stands."""
    found = BEFORE.match(goal.text)
    clauses = [_clause(part.strip(" ()")) for part in (found["goal"] if found else goal.text).split(" and ")]
    if None in clauses or (found and found["clock"] not in CLOCK):
        return goal.text
    words = " and ".join(map(str, clauses))
    return f"{words} {CLOCK[found['clock']].format(count(float(found['number'])))}" if found else words


def _clause(text: str) -> str | None:
    """One condition in words; None for one that is too complex for them."""
    if within := WITHIN.match(text):
        name, right, most = within.groups()
        if right is None:
            return f"{name_words(name)} within ±{most}"
        return f"{name_words(name)} within {100 * float(most):g} % of {_side(right)}"
    found = CLAUSE.match(text)
    if found is None:
        return None
    left, relation, factor, right = found.groups()
    function, bracket, name = left.rstrip(")").partition("(")
    if bracket and function not in BESIDE:
        return None
    words = BESIDE[function].format(name_words(name)) if bracket else name_words(left)
    share = f"{factor} × " if factor else ""
    return f"{words} {RELATIONS[relation]} {share}{_side(right)}"


def _side(text: str) -> str:
    """A number as it is, a large one with a comma; a name in words."""
    if text[0] not in "-.0123456789":
        return name_words(text)
    return count(float(text)) if text.isdigit() else text


def values_words(values: Mapping[str, Any]) -> str:
    """What the names of a goal are now: "0.21", or of several "TV 0.21, ESS 640"."""
    if len(values) == 1:
        return _value(*values.values())
    return ", ".join(f"{name_words(name)} {_value(value)}" for name, value in values.items())


def _value(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return "not known" if value is None else str(value)
    return count(value) if float(value).is_integer() and abs(value) >= 1 else number(value)


def summary(progress: Progress) -> list[str]:
    """What became of a lesson that is done: how many right, how sure, which goals and scores; sentences."""
    judged = [verdict.right for verdict in progress.verdicts.values()]
    close = sum(verdict.near for verdict in progress.verdicts.values())
    goals = [step.name for step in progress.lesson.steps if step.goal is not None]
    reached = sum(name in progress.reached for name in goals)
    said = []
    if judged:
        beside = f", and {close} close" if close else ""
        said.append(f"{sum(judged)} of {len(judged)} answers right{beside}.")
    said += calibration(progress)
    if goals:
        said.append(f"{reached} of {len(goals)} goals reached.")
    said += [f"Best score: {score_words(score)}." for score in progress.scores.values()]
    return said


ENOUGH, MOST_RIGHT = 3, 0.7  # answers from which calibration is judged, and the share of right ones that "sure" needs


def calibration(progress: Progress) -> list[str]:
    """How often you were right, by how sure you were: ["You were sure of 4 answers, and right on 1."]."""
    by = {said: [0, 0] for said in reversed(CONFIDENCES)}
    for key, verdict in progress.verdicts.items():
        said = progress.answers[key].confidence
        if said in by:
            by[said][0] += verdict.right
            by[said][1] += 1
    found = [SURE[said].format(total, right, "" if total == 1 else "s") for said, (right, total) in by.items() if total]
    guess, _, sure = CONFIDENCES
    shares = {said: right / total for said, (right, total) in by.items() if total >= ENOUGH}
    if shares.get(sure, 1.0) < MOST_RIGHT:
        found.append("You were more often sure than right.")
    elif shares.get(guess, 0.0) > MOST_RIGHT:
        found.append("Your guesses were better than you thought.")
    return found


SURE = {
    "sure": "You were sure of {0} answer{2}, and right on {1}.",
    "rather sure": "You were rather sure of {0} answer{2}, and right on {1}.",
    "a guess": "You guessed {0} answer{2}, and {1} of them right.",
}


def grade_words(verdict: Verdict, confidence: str) -> str:
    """How an answer is graded: "Right.", "Close.", "No."; with how sure you were, where that is worth a thought."""
    beside = ""
    if confidence == CONFIDENCES[-1] and not (verdict.right or verdict.near):
        beside = " You were sure: read on."
    elif confidence == CONFIDENCES[0] and verdict.right:
        beside = " You called it a guess."
    return f"{verdict.grade}.{beside}"


def score_words(score: float) -> str:
    """A score: "71 of 100"; any other number as it is."""
    return f"{score:.0f} of 100" if 0 <= score <= 100 else number(score)


# The diagnosis of a run by a preset, in words: one sentence with the numbers of the run.

NOTHING_YET = "Nothing has run yet: press Play."
NOT_HERE = "Nothing of what this preset is about: {}."


def diagnosis_of(preset: str, run: Run) -> str:
    """The first sentence of a preset's diagnosis that is true of a run; else the facts with which to judge the run.

    What a run lacks, or a person's own target cannot say, leaves out a sentence and breaks nothing.
    """
    frame = run.final
    if frame.iteration == 0:
        return NOTHING_YET
    scope = RunScope(run)
    for each in PRESETS[preset].diagnosis:
        try:
            words = diagnose([each], scope)
        except InputError:
            continue
        if words:
            return words
    return whole_sentence(frame.caveat) or NOT_HERE.format(state(frame, unknown="not known"))
