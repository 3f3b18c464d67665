"""Plays what the steps of a lesson show, without a page, and lists the errors of a lesson."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Any

from pmdviz.engine.recipe import MAX_BUDGET, Recipe, begun_with, controls_of
from pmdviz.engine.run import Run
from pmdviz.engine.session import Session
from pmdviz.errors import InputError, TargetError, words_of
from pmdviz.experiments.running import EXPERIMENTS
from pmdviz.expressions import Expression, Scope, Template
from pmdviz.lessons.lesson import Ask, Lesson, Race, Step, faults_of_paths, reached, within
from pmdviz.metrics import perfect_draws
from pmdviz.presets import FLOOR, ExperimentPreset, contradictions, find_experiment_preset, scope_of
from pmdviz.scenes.trace_columns import GROUPS, first_group
from pmdviz.scenes.words import KEYS, NO_JUDGEMENT

Changes = Mapping[int, Mapping[str, Any]]  # iteration -> control -> value


def play(recipe: Recipe, changes: Changes | None = None) -> Run:
    """The run to the end of its budget, with changes: at iteration 0 before the start, others during the run.

    It is measured as a page measures it. Raises InputError for a change that cannot be made, or a run without an end;
    TargetError from a target that fails.
    """
    later = dict(changes or {})
    session = Session(begun_with(recipe, later.pop(0, {})))
    if session.recipe.budget is None:
        raise InputError("a lesson's run needs a budget: without one it has no end")
    for iteration in sorted(later):
        session.seek(iteration)
        if session.frame.iteration < iteration:
            ends = f"ends after {session.frame.iteration:,} iterations, before the change at iteration {iteration:,}"
            raise InputError(f"the run {ends}; raise its budget, or change the setting earlier")
        for name in later[iteration]:
            if controls_of(session.recipe).get(name, "knobs") != "knobs":
                raise InputError(f"{name!r} acts from the start of a run; put it at iteration 0")
        session.set(**later[iteration])
    session.advance(MAX_BUDGET)
    return session.run


def compute_floor(run: Run) -> None:
    """Have what as many independent draws would get known, for expressions with `floor_tv` or `floor_kl`."""
    perfect_draws.floor(run.target, run.final.num_draws, **run.final.drawn_as)


class Player:
    """Plays each run, race and experiment once, however many steps show it."""

    def __init__(self) -> None:
        self._kept: dict[str, Any] = {}

    def run(self, recipe: Recipe, changes: Changes | None = None) -> Run:
        """As `play`."""
        words = json.dumps(changes or {}, sort_keys=True, default=repr)
        return self._once(f"run {recipe.to_json()} {words}", lambda: play(recipe, changes))

    def race(self, race: Race) -> dict[str, Run]:
        """The runs of a race with its first seed, by the entrants' names; in lock step they would be the same."""
        pairs = zip(race.entrants, race.recipe.recipes, strict=True)
        key = f"race {[*race.entrants]} {race.recipe.to_json()}"
        return self._once(key, lambda: {name: play(recipe) for name, recipe in pairs})

    def experiment_failures(self, preset: ExperimentPreset) -> list[str]:
        """What the experiment, computed in this process, does not show of its preset's promises, one sentence each."""
        experiment = EXPERIMENTS[preset.experiment]
        knobs = experiment.Knobs.checked(dict(preset.knobs))
        rows = (row for case in experiment.cases(knobs) for row in experiment.run(case))
        return self._once(f"experiment {preset.name}", lambda: preset.failures(experiment.summary([*rows], knobs)))

    def _once(self, key: str, act: Callable[[], Any]) -> Any:
        if key not in self._kept:
            self._kept[key] = act()
        return self._kept[key]


# Plays a lesson without a page and lists its errors: sentences that its runs do not show, tasks that cannot be done.


@dataclass(frozen=True)
class Shown:
    """What a step shows once it was played: as the lesson begins it, and with its solution."""

    plain: Scope
    solved: Scope | None
    run: Run | None  # behind `plain`, where that is a single one
    hinted: tuple[tuple[Scope, ...], ...] = ()  # of each hint, what its settings show

    @property
    def scopes(self) -> list[Scope]:
        """Those that the step's words must go with."""
        return [self.plain] if self.solved is None else [self.plain, self.solved, *chain(*self.hinted)]


def check_lesson(lesson: Lesson, player: Player | None = None) -> list[str]:
    """The errors of a lesson, one sentence each; [] for nothing.

    Each run is played to the end of its budget: as it is, with the step's solution laid over it, and with the settings
    of each hint. The names, sentences, goals and diagnoses of the step are then held against it.

    Parameters
    ----------
    lesson : Lesson
    player : Player, optional
        Keeps the played runs, for lessons that show the same runs.
    """
    player = player or Player()
    found, words = [*faults_of_paths(lesson)], ", ".join(sorted(KEYS, key=str.lower))
    unknown_terms = [word for word in dict.fromkeys(lesson.terms) if word not in KEYS]
    found += [f"{{term}}`{word}`: no word of the glossary; it has {words}" for word in unknown_terms]
    for step in lesson.steps:
        if step.name in reached(lesson):
            found += [f"step {step.name!r}: {fault}" for fault in _faults_of_step(lesson, step, player)]
    return found


def _faults_of_step(lesson: Lesson, step: Step, player: Player) -> list[str]:
    """The errors of a step; where it cannot be played, that alone."""
    sources = lesson.on_show(step)
    if len(sources) > 1:
        return ["what it goes on with depends on the path; give it a recipe of its own"]
    source = lesson.step(sources[0]) if sources[0] else None
    try:
        found = [*_faults_of_hints(step), *_faults_of_controls(step, source)]
        if found:
            return found
        shown = _played(step, source, player)
    except (InputError, TargetError) as error:
        return [words_of(error)]
    parts = (_faults_of_trace, _faults_of_words, _faults_of_questions, _faults_of_goal, _faults_of_score)
    said = [words for part in parts for words in _said(part(step, shown))]
    return said or [*faults_of_view(View(lesson, step, source, shown.run), shown.plain)]


def _said(part: Iterator[str]) -> list[str]:
    """The sentences of a part; what an expression cannot say is one."""
    found: list[str] = []
    try:
        found.extend(part)
    except InputError as error:
        found.append(words_of(error))
    return [*dict.fromkeys(found)]


def _faults_of_hints(step: Step) -> Iterator[str]:
    if any(not hint.say.strip() for hint in step.hints):
        yield "a hint is empty"
    if len({hint.say.strip() for hint in step.hints}) < len(step.hints):
        yield "two of its hints are the same"
    if step.goal is None and any(hint.settings for hint in step.hints):
        yield "a hint has settings to try, but the step has no goal that they could reach"


def _faults_of_controls(step: Step, source: Step | None) -> Iterator[str]:
    """A goal needs controls, controls need a run, and a solution turns them alone."""
    recipe = source.recipe if source is not None else None
    wanted = {"goal": step.goal, "score": step.score}
    for name in (name for name, given in wanted.items() if given is not None):
        if not step.controls:
            yield f"its {name} cannot be worked for: it has no `controls`"
        if not step.solution:
            yield f"its {name} needs a `solution` that shows that it can be reached"
    if step.solution and not any(wanted.values()):
        yield "it has a solution, but no goal"
    if step.controls and recipe is None:
        yield "its controls need a run: only a step with a recipe, or after one, has what they turn"
    elif step.controls:
        known = controls_of(recipe)
        for name in step.controls:
            if name not in known:
                yield f"unknown control {name!r}; this run has {', '.join(sorted(known))}"
    turned: dict[str, Iterable[Mapping]] = {"its solution": step.solution.values()}
    turned |= {f"hint {k}": hint.settings for k, hint in enumerate(step.hints, 1)}
    for what, changes in turned.items():
        for name in dict.fromkeys(name for values in changes for name in values):
            if name not in step.controls:
                yield f"{what} turns {name!r}, which is none of its controls"


def _played(step: Step, source: Step | None, player: Player) -> Shown:
    """What the step shows. Raises InputError or TargetError where that cannot be played."""
    if source is None:
        return Shown(scope_of(None), None, None)
    if source.experiment:
        failed = player.experiment_failures(find_experiment_preset(source.experiment))
        if failed:
            words = "the experiment does not show what its preset promises"
            raise InputError(f"{words}: {failed[0]}; change `knobs` or `check` there")
        return Shown(scope_of(None), None, None)
    if source.race is not None:
        return Shown(scope_of(player.race(source.race)), None, None)
    plain = player.run(source.recipe)
    solved = player.run(source.recipe, step.solution) if step.solution else None
    hinted = [[player.run(source.recipe, {0: values}) for values in hint.settings] for hint in step.hints]
    told: list[Expression | Template] = [*_expressions(step).values(), *_sentences(step).values()]
    if any(name.startswith(FLOOR) for each in told for name in each.names):
        for run in filter(None, (plain, solved, *chain(*hinted))):
            compute_floor(run)
    scopes = tuple(tuple(map(scope_of, runs)) for runs in hinted)
    return Shown(scope_of(plain), scope_of(solved) if solved else None, plain, scopes)


def _expressions(step: Step) -> dict[str, Expression]:
    """Its expressions, by where they stand."""
    found = {"the goal": step.goal, "the score": step.score}
    for part, ask in step.asks.items():
        found |= {f"option {letter} of `{part}`": option.when for letter, option in ask.options.items()}
        found |= {f"the number of `{part}`": ask.number.right} if ask.number else {}
    found |= {f"`when` of diagnosis {k}": each.when for k, each in enumerate(step.diagnosis, 1)}
    return {where: each for where, each in found.items() if each is not None}


def _sentences(step: Step) -> dict[str, Template]:
    """Its sentences with numbers of the run, by their place; a diagnosis is included where it is true."""
    return _always_said(step) | {f"`say` of diagnosis {k}": each.say for k, each in enumerate(step.diagnosis, 1)}


def _always_said(step: Step) -> dict[str, Template]:
    found: dict[str, Template] = {}
    for part, ask in step.asks.items():
        found |= {f"option {letter} of `{part}`": option.because for letter, option in ask.options.items()}
        if ask.number:
            found |= {f"`{name}` of `{part}`": getattr(ask.number, name) for name in ("close", "low", "high")}
    return found


def _faults_of_trace(step: Step, shown: Shown) -> Iterator[str]:
    if not step.trace:
        return
    if shown.run is None:
        yield f"its trace {step.trace!r} needs a run"
        return
    known = GROUPS.of(shown.run.target, shown.run.final.method)
    if step.trace not in known:
        yield f"unknown trace {step.trace!r}; this run has {', '.join(known)}"


def _faults_of_words(step: Step, shown: Shown) -> Iterator[str]:
    """Names that no run has, sentences whose numbers are not known, and a diagnosis that is true of nothing."""
    for where, each in (_expressions(step) | _sentences(step)).items():
        for scope in shown.scopes:
            yield from _refused(where, partial(list, map(scope.value, each.names)))
            if isinstance(each, Expression):
                yield from _refused(where, partial(each.value, scope))
    for where, template in _always_said(step).items():
        for scope in shown.scopes:
            yield from _refused(where, partial(template.words, scope))
    for diagnosis in step.diagnosis:
        for scope in shown.scopes:
            if diagnosis.when.holds(scope):
                diagnosis.say.words(scope)
    told = [contradictions(step.diagnosis, scope) for scope in shown.scopes]
    yield from told[0] if all(told) else []


def _refused(where: str, act: Callable[[], Any]) -> Iterator[str]:
    try:
        act()
    except InputError as error:
        yield f"{where}: {words_of(error)}"


def _faults_of_questions(step: Step, shown: Shown) -> Iterator[str]:
    for part, ask in step.asks.items():
        scope = shown.plain if part == "question" or shown.solved is None else shown.solved
        yield from (f"`{part}`: {words}" for words in _faults_of_ask(ask, scope))


def _faults_of_ask(ask: Ask, scope: Scope) -> Iterator[str]:
    if ask.number is None:
        right = [option.is_right(scope) for option in ask.options.values()]
        if not any(right):
            told = [option.when.why(scope) for option in ask.options.values() if option.when is not None]
            yield f"none of its options is right in this run: {'; '.join(told)}"
        elif all(right):
            yield "all of its options are right in this run"
        return
    number = ask.number.right.value(scope)
    if not isinstance(number, (int, float)):
        yield f"the right number, {ask.number.right.text!r}, is not known in this run"
    elif ask.number.tolerance * (ask.number.scale or abs(number)) <= 0:
        yield "only one exact number is right; give it a `tolerance`, and a `scale` if the right number can be 0"


def _faults_of_goal(step: Step, shown: Shown) -> Iterator[str]:
    """A goal is something to reach, and its solution reaches it."""
    if step.goal is None or shown.solved is None or shown.run is None:
        return
    if any(map(step.goal.holds, _moments(shown.run))):
        yield f"the unchanged run reaches the goal already: {step.goal.why(shown.plain)}"
    if not step.goal.holds(shown.solved):
        yield f"the goal cannot be reached by its solution: {step.goal.why(shown.solved)}"
    for k, scopes in enumerate(shown.hinted, 1):
        if scopes and not any(map(step.goal.holds, scopes)):
            yield f"the goal cannot be reached by what hint {k} says: {step.goal.why(scopes[-1])}"


def _moments(run: Run) -> Iterator[Scope]:
    """The run as it was at each measured frame, the last one included."""
    iterations = run.history["iteration"]
    for at, frame in enumerate(run.frames, 1):
        if frame.iteration in iterations:
            rows = {name: column[iterations <= frame.iteration] for name, column in run.history.items()}
            yield scope_of(replace(run, frames=run.frames[:at], history=rows))


def _faults_of_score(step: Step, shown: Shown) -> Iterator[str]:
    if step.score is None or shown.solved is None:
        return
    plain, solved = (step.score.value(scope) for scope in (shown.plain, shown.solved))
    if not isinstance(plain, (int, float)) or not isinstance(solved, (int, float)):
        yield f"the score is not known in this run: {step.score.why(shown.solved)}"
    elif solved <= plain:
        yield f"its solution scores {solved:.4g}, no better than the {plain:.4g} of the untouched run"


# The check that no answer is in view before it is given, and that the number asked for is on the page.

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
        yield from (f"`{part}`: {words}" for words in (*_read_off(view, ask, scope), *_faults_in_view(view, part, ask)))


def _faults_in_view(view: View, part: str, ask: Ask) -> Iterator[str]:
    tests = [ask.number.right] if ask.number else [one.when for one in ask.options.values() if one.when is not None]
    names = frozenset[str]().union(*(one.names for one in tests))
    is_first = part == next(iter(view.step.asks))
    hide = view.step.hide if is_first else ()
    reads_off = is_first or ask.number is not None  # else it is about the revealed run
    has_ended = part == "after" or view.source is not view.step  # the run, when the question is asked
    if view.run is not None and has_ended and reads_off:
        seen = view.at_end(hide)
        for name in sorted(names) if names <= seen.keys() else ():
            yield f"its answer is in view before it is given: {name!r} is {seen[name]}"
    elif view.run is None and names and view.source is not view.step:
        yield "its answer is in view before it is given: the race is over, and its table shows all figures"
    traced = {name for name in names if any(name in group.metrics for group in GROUPS.values())}
    drawn = view.in_traces | view.in_status
    if view.run is not None and traced and not traced & drawn:
        yield f"it needs {', '.join(sorted(traced))}, which the page does not show; set `trace`"


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
