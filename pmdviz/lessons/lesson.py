"""A lesson as a value: steps that show a run, a race or an experiment, ask, and set a goal."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from pmdviz.engine.recipe import Recipe
from pmdviz.engine.run import Run
from pmdviz.errors import InputError, shown, unknown
from pmdviz.experiments.race import RaceRecipe
from pmdviz.expressions import Expression, Scope, Template
from pmdviz.knobs import real_number
from pmdviz.presets.diagnosis import Diagnosis
from pmdviz.presets.measures import RunScope

# A question of a lesson as a value: a choice with a text per option, or a number; and how an answer is judged.

CONFIDENCES = ("a guess", "rather sure", "sure")


class Answer(NamedTuple):
    """What a learner said."""

    value: str | float  # the letter of an option, or a number
    confidence: str = ""  # one of CONFIDENCES, where it was asked


class Verdict(NamedTuple):
    """How an answer compares with what is right."""

    right: bool
    words: str


def within(value: float, right: float, tolerance: float, scale: float = 0.0) -> bool:
    """Whether abs(value - right) <= tolerance * scale; `scale` is abs(right) where it is 0."""
    return abs(value - right) <= tolerance * (scale or abs(right))


def checked_answer(value: Any, confidence: str, options: Collection[str]) -> Answer:
    """One of the options, or a number where there are none. Raises InputError for what is neither."""
    if confidence and confidence not in CONFIDENCES:
        raise unknown("confidence", confidence, CONFIDENCES)
    if options:
        if not isinstance(value, str) or value not in options:
            raise unknown("option", value, options)
        return Answer(str(value), confidence)
    number = real_number(value)
    if number is None:
        raise InputError(f"the answer is a number; given: {shown(value)}")
    return Answer(number, confidence)


@dataclass(frozen=True)
class Option:
    """One of the options of a choice.

    Attributes
    ----------
    say : str
    because : Template
        What is told to whoever chose it: why it is right, or what is wrong with it; with numbers of the run.
    right : bool
        Whether it is right whatever the run shows.
    when : Expression or None
        Where it is about the run: what makes it right.
    to : str
        The step where it leads on; "" for the one that follows.
    """

    say: str
    because: Template
    right: bool = False
    to: str = ""
    when: Expression | None = None

    def is_right(self, scope: Scope) -> bool:
        """Whether it is right of the run. Raises InputError for an unknown name."""
        return self.right if self.when is None else self.when.holds(scope)


@dataclass(frozen=True)
class Number:
    """A number that is asked for.

    Attributes
    ----------
    right : Expression
        Of the run once it is over, or a number.
    tolerance : float
        How far off counts as right, as a share of the right one; or of `scale`, where the right one may be 0.
    unit : str
    close, low, high : Template
        What is told to whoever was within the tolerance, below, or above.
    scale : float
    """

    right: Expression
    tolerance: float
    close: Template
    low: Template
    high: Template
    unit: str = ""
    scale: float = 0.0


@dataclass(frozen=True)
class Ask:
    """A question: `options` by letter, or a `number`."""

    text: str
    options: Mapping[str, Option]
    number: Number | None
    confidence: bool = False

    def checked(self, value: Any, confidence: str = "") -> Answer:
        """An answer to it. Raises InputError for what is none."""
        return checked_answer(value, confidence, self.options)

    def judged(self, answer: Answer, scope: Scope) -> Verdict:
        """How it compares with what is right, by the run. Raises InputError where the run lacks what that needs."""
        if self.number is None:
            option = self.options[str(answer.value)]
            return Verdict(option.is_right(scope), option.because.words(scope))
        right = self.number.right.value(scope)
        if right is None:
            raise InputError(f"{self.number.right.text!r} is not known in this run")
        said, right, number = float(answer.value), float(right), self.number
        near = within(said, right, number.tolerance, number.scale)
        words = number.close if near else number.low if said < right else number.high
        return Verdict(near, words.words(scope))


RUN_PARTS = ("seed", "budget")  # what a control or a solution may name besides knobs and options of the target


@dataclass(frozen=True)
class Race:
    """A race of a step, whose runs expressions name: `plain.tv`."""

    entrants: Mapping[str, Any]  # name in expressions -> an entrant, as `pmdviz.race` takes them
    parts: Mapping[str, Any]  # target, target_options, budget, seeds

    @cached_property
    def recipe(self) -> RaceRecipe:
        """Made when it is first asked for. Raises InputError."""
        return RaceRecipe.checked([*self.entrants.values()], **self.parts)


class Hint(NamedTuple):
    """A hint, and the settings that it names: controls and values before the start, tried one after the other."""

    say: str
    settings: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True)
class Step:
    """One step of a lesson.

    Attributes
    ----------
    name : str
        Its address in the lesson, for branches and for what is stored.
    title, text : str
        The text is Markdown.
    run : mapping or None
        The parts of a recipe, as a preset's file has them; None where the step goes on with what is shown.
    race : Race or None
    experiment : str
        Name of a preset of an experiment; "" for none. At most one of the three is given.
    controls : tuple of str
        Knobs, options of the target, "seed" or "budget" that the learner may turn; everything else is hidden.
    question, after : Ask or None
        Before the run is seen, and after what it shows has been revealed.
    goal : Expression or None
        What the learner is to reach by turning the controls.
    solution : mapping
        Iteration -> controls and values that reach the goal; those of iteration 0 before the start.
    score : Expression or None
        Of a challenge: a number about the run at the end of its budget; the higher the better.
    hints : tuple of Hint
    reveal : str
        Markdown, shown when the learner asks for it.
    diagnosis : tuple of Diagnosis
    trace : str
        Key of the traces that are shown; "" for the usual ones.
    skip : bool
        Whether it may be left without an answer.
    to : str
        The next step; "" for the one that follows.
    """

    name: str
    title: str
    text: str
    run: Mapping[str, Any] | None = None
    race: Race | None = None
    experiment: str = ""
    controls: tuple[str, ...] = ()
    question: Ask | None = None
    after: Ask | None = None
    goal: Expression | None = None
    solution: Mapping[int, Mapping[str, Any]] = field(default_factory=dict)
    score: Expression | None = None
    hints: tuple[Hint, ...] = ()
    reveal: str = ""
    diagnosis: tuple[Diagnosis, ...] = ()
    trace: str = ""
    skip: bool = False
    to: str = ""

    @cached_property
    def recipe(self) -> Recipe | None:
        """That of its run, made when it is first asked for: that makes its target. Raises InputError."""
        return None if self.run is None else Recipe.from_dict(self.run)

    @property
    def shows(self) -> bool:
        """Whether it has a run, a race or an experiment of its own."""
        return self.run is not None or self.race is not None or bool(self.experiment)

    @property
    def asks(self) -> dict[str, Ask]:
        """Its questions by their part of a stored answer's key."""
        found = {"question": self.question, "after": self.after}
        return {part: ask for part, ask in found.items() if ask is not None}


@dataclass(frozen=True)
class Lesson:
    """A lesson, or a tuning challenge: one whose steps have a score.

    Attributes
    ----------
    name, title, question : str
        The question is what the list of lessons shows.
    minutes : int
        How long it takes.
    text : str
        Markdown that stands before the first step.
    steps : tuple of Step
    terms : tuple of str
        Words that its texts name as words of the glossary.
    """

    name: str
    title: str
    question: str
    minutes: int
    text: str
    steps: tuple[Step, ...]
    terms: tuple[str, ...] = ()

    @property
    def is_challenge(self) -> bool:
        """Whether it is a tuning challenge."""
        return any(step.score is not None for step in self.steps)

    @cached_property
    def places(self) -> dict[str, int]:
        """Name of a step -> its place."""
        return {step.name: k for k, step in enumerate(self.steps)}

    def step(self, name: str) -> Step:
        """The step of that name. Raises InputError."""
        if name not in self.places:
            raise unknown("step of this lesson", name, self.places)
        return self.steps[self.places[name]]

    def following(self, step: Step, option: str = "") -> Step | None:
        """The step after `step`, where `option` of its question was chosen; None at the end."""
        chosen = step.question.options.get(option) if step.question is not None else None
        to = (chosen.to if chosen is not None else "") or step.to
        if to:
            return self.step(to)
        after = self.places[step.name] + 1
        return self.steps[after] if after < len(self.steps) else None

    def leads_to(self, step: Step) -> set[str]:
        """Names of the steps to which a step can lead, by any answer; "" is the end."""
        letters = [*(step.question.options if step.question else ())] or [""]
        found = [self.following(step, letter) for letter in letters]
        return {"" if one is None else one.name for one in found}

    def on_show(self, step: Step) -> list[str]:
        """Names of the steps whose run, race or experiment may be on show in `step`: itself, or those before it.

        More than one where that depends on the path; "" among them: on some path nothing was shown before.
        """
        found: dict[str, None] = {}
        seen, todo = {step.name}, [step]
        while todo:
            one = todo.pop()
            if one.shows:
                found[one.name] = None
                continue
            if one.name == self.steps[0].name:
                found[""] = None
            before = [each for each in self.steps if one.name in self.leads_to(each) and each.name not in seen]
            seen |= {each.name for each in before}
            todo += before
        return [*found]

    def recipe_at(self, step: Step) -> Recipe | None:
        """The recipe that is on show in `step`: its own, or that of the step that it goes on with."""
        name = next(iter(self.on_show(step)), "")
        return self.step(name).recipe if name else None


def check_steps(lesson: Lesson) -> None:
    """Raise InputError where the steps do not fit together."""
    if not lesson.steps:
        raise InputError(f"lesson {lesson.name!r} has no step; write one as a fence ```{{step}} name")
    if len(lesson.places) < len(lesson.steps):
        names = [step.name for step in lesson.steps]
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"two steps of lesson {lesson.name!r} have the name {twice!r}; give each its own")
    for step in lesson.steps:
        options = step.question.options.values() if step.question else ()
        for to in (step.to, *(option.to for option in options)):
            if to:
                lesson.step(to)


# Whether a run is an attempt at a challenge: nothing differs from its step but what the learner may turn.


def differences(lesson: Lesson, step: Step, recipe: Recipe) -> list[str]:
    """What a recipe has otherwise than the step allows: parts, options and knobs by name; [] for an attempt."""
    own = lesson.recipe_at(step)
    if own is None:
        return []
    plain = recipe.to_dict()
    fixed = own.to_dict() | {"knobs": _fixed(own, recipe, step)}
    found = {name for name in ("target", "method", "seed", "budget") if plain[name] != fixed[name]}
    for part in ("target_options", "knobs"):
        mine, theirs = plain[part], fixed[part]
        found |= {name for name in {*mine, *theirs} if mine.get(name) != theirs.get(name)}
    found |= {name for _, values in recipe.changes for name in values}
    return sorted(found - {*step.controls})


def _fixed(own: Recipe, recipe: Recipe, step: Step) -> Mapping[str, Any]:
    """The step's knobs where the learner's are turned as in `recipe`: a default may depend on another knob."""
    turned = {name: recipe.knobs[name] for name in step.controls if name in recipe.knobs and name in own.knobs}
    return own.start_knobs().replaced(**turned).as_dict()


# The ways through a lesson: which steps can be reached, and from which of them its end.

END = ""  # in place of a step's name


def reached(lesson: Lesson) -> set[str]:
    """Names of the steps that some path from the first step reaches."""
    found, todo = {lesson.steps[0].name}, [lesson.steps[0]]
    while todo:
        fresh = lesson.leads_to(todo.pop()) - found - {END}
        found |= fresh
        todo += map(lesson.step, fresh)
    return found


def ending(lesson: Lesson) -> set[str]:
    """Names of the steps from which the end of the lesson can be reached."""
    found = {END}
    while more := {step.name for step in lesson.steps if lesson.leads_to(step) & found} - found:
        found |= more
    return found - {END}


def faults_of_paths(lesson: Lesson) -> Iterator[str]:
    """What is wrong with the ways through the lesson, one sentence each."""
    there, ends = reached(lesson), ending(lesson)
    for step in lesson.steps:
        if step.name not in there:
            yield f"step {step.name!r}: no path leads to it"
        elif step.name not in ends:
            yield f"step {step.name!r}: no path leads from it to the end of the lesson"
        if step.after is not None and any(option.to for option in step.after.options.values()):
            yield f"step {step.name!r}: an option of `after` has `to`; only the first question leads elsewhere"


# What the expressions of a step can ask of whatever it shows: one run, the runs of a race, or nothing.


class RaceScope:
    """The runs of a race as an expression sees them: `plain.tv` is the TV at the end of the entrant `plain`.

    Parameters
    ----------
    runs : mapping
        Name of an entrant in the lesson's file -> its run.
    """

    def __init__(self, runs: Mapping[str, Run]) -> None:
        self._scopes = {name: RunScope(run) for name, run in runs.items()}

    def value(self, name: str) -> Any:
        """The value at the end of an entrant's run. Raises InputError for an unknown name."""
        entrant, dot, measure = name.partition(".")
        if entrant not in self._scopes:
            raise unknown("entrant of this race", entrant, self._scopes)
        if not dot:
            raise InputError(f"of entrant {entrant!r} a name must be asked for, such as {entrant}.tv")
        return self._scopes[entrant].value(measure)

    def rows(self) -> Iterable[Mapping[str, float]]:
        """Raises InputError: the entrants have measured frames of their own, which do not go together."""
        raise InputError("of a race the ends alone are compared: lowest, ever, when and the like are about one run")

    def constant(self, name: str) -> bool:
        """No: of the entrants' histories nothing is known here."""
        return False


class NoScope:
    """Where no run is on show: an expression may have numbers alone."""

    def value(self, name: str) -> Any:
        """Raises InputError: there is no run."""
        raise InputError(f"no run is on show here that has {name!r}")

    def rows(self) -> Iterable[Mapping[str, float]]:
        """None."""
        return ()

    def constant(self, name: str) -> bool:
        """No: there is no name."""
        return False


def scope_of(shown: Run | Mapping[str, Run] | None) -> Scope:
    """The scope of what is on show: a run, the runs of a race by entrant, or None."""
    if shown is None:
        return NoScope()
    return RunScope(shown) if isinstance(shown, Run) else RaceScope(shown)
