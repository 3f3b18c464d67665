"""The check that no answer is in view before it is given, and that the number asked for is on the page."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from pmdviz.engine.run import Run
from pmdviz.expressions import Scope
from pmdviz.lessons.lesson import Ask, Lesson, Step, within
from pmdviz.scenes.trace_columns import GROUPS, first_group
from pmdviz.scenes.words import NO_JUDGEMENT

NUMBER = re.compile(r"(?<![\w.])[-−]?\d[\d,]*(?:\.\d+)?")
ON_STAGE = ("lightest_mode", "lightest_mode_exact", "mean_square_ratio")  # what q and exact posterior show together


@dataclass(frozen=True)
class View:
    """The page and a question of a step: `source` is the step whose run is on show, `run` that run at its end."""

    lesson: Lesson
    step: Step
    source: Step | None
    run: Run | None

    def texts(self, ask: Ask) -> list[str]:
        """All that a learner has read of the step when they are asked."""
        first = self.step is self.lesson.steps[0]
        return [self.step.title, self.step.text, ask.text, *([self.lesson.text] if first else [])]

    def has_ended(self, part: str) -> bool:
        """Whether the run is over when the question is asked: after the reveal, or in a step that goes on with it."""
        return self.source is not None and (part == "after" or self.source is not self.step)

    @property
    def in_status(self) -> frozenset[str]:
        """The names of the status line."""
        if self.run is None:
            return frozenset()
        final = self.run.final
        judging = (name for name in final.traced_names if name not in NO_JUDGEMENT and final.metric(name) is not None)
        return frozenset({"tv"} if final.metric("tv") is not None else {next(judging, "")})

    @property
    def in_traces(self) -> frozenset[str]:
        """The names of the traces on show."""
        if self.run is None:
            return frozenset()
        groups = GROUPS.of(self.run.target, self.run.final.method)
        trace = self.step.trace or (self.source.trace if self.source else "") or first_group(groups)
        return frozenset(groups[trace].metrics) if trace in groups else frozenset()

    def at_end(self, hide: tuple[str, ...]) -> dict[str, str]:
        """The names whose values can be read off a run that is over -> where, with these parts hidden."""
        where: dict[str, str] = {}
        if "exact" not in hide:
            where |= dict.fromkeys(ON_STAGE, "in the picture; hide: [exact]")
        if "traces" not in hide:
            where |= dict.fromkeys(self.in_traces, "in the traces; hide: [traces]")
        if not {"exact", "numbers"} & {*hide}:
            where |= dict.fromkeys(self.in_status, "in the status line; hide: [numbers]")
        return where


def faults_of_view(view: View, scope: Scope) -> Iterator[str]:
    """Faults of the page that a learner sees, one sentence each."""
    step = view.step
    if step.hide and view.run is None:
        yield "`hide` acts on runs alone: a race and an experiment show all that they have"
    if step.hide and not step.asks:
        yield "it hides parts of the page, but asks nothing that would show them"
    for part, ask in step.asks.items():
        yield from (f"`{part}`: {words}" for words in _faults_of_ask(view, part, ask, scope))


def _faults_of_ask(view: View, part: str, ask: Ask, scope: Scope) -> Iterator[str]:
    names = frozenset[str]().union(*(one.names for one in _tests(ask)))
    hide = view.step.hide if part == next(iter(view.step.asks)) else ()
    yield from _read_off(view, ask, scope)
    reads_off = part == next(iter(view.step.asks)) or ask.number is not None  # else it is about the revealed run
    if view.run is not None and view.has_ended(part) and reads_off:
        seen = view.at_end(hide)
        for name in sorted(names) if names <= seen.keys() else ():
            yield f"its answer is in view before it is given: {name!r} is {seen[name]}"
    elif view.run is None and names and view.source is not view.step:
        yield "its answer is in view before it is given: the race is over, and its table shows all figures"
    traced = {name for name in names if any(name in group.metrics for group in GROUPS.values())}
    drawn = view.in_traces | view.in_status
    if view.run is not None and traced and not traced & drawn:
        yield f"it needs {', '.join(sorted(traced))}, which the page does not show; set `trace`"


def _tests(ask: Ask) -> list:
    """What makes an answer right."""
    return [ask.number.right] if ask.number else [one.when for one in ask.options.values() if one.when is not None]


def _read_off(view: View, ask: Ask, scope: Scope) -> Iterator[str]:
    """Where a text has the answer."""
    texts = " ".join(view.texts(ask))
    if ask.number is not None:
        right = float(ask.number.right.value(scope))
        for found in NUMBER.findall(texts):
            value = float(found.replace(",", "").replace("−", "-"))
            if within(value, right, ask.number.tolerance, ask.number.scale):
                yield f"its answer is in view before it is given: a text has {found}, and {right:.4g} is right"
    told = [one for one in ask.options.values() if one.say.casefold().rstrip(".") in texts.casefold()]
    if len(told) == 1 and told[0].is_right(scope):
        yield f"its answer is in view before it is given: a text has {told[0].say!r}"
