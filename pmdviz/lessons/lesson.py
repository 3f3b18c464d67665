"""A lesson as a value: steps that show a run, a race or an experiment, ask, and set a goal.

Its classes are models of a lesson's file: a field is a key of a YAML block, and its annotation the kind of the value.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from typing import Annotated, Any, NamedTuple

from pmdviz import presets
from pmdviz.engine.recipe import Recipe
from pmdviz.errors import InputError, check_known, entry, shown, unknown
from pmdviz.experiments.race import RaceRecipe
from pmdviz.expressions import Expression, Scope
from pmdviz.files import Json
from pmdviz.knobs import real_number

# A question of a lesson as a value: a choice with a text per option, or a number; and how an answer is judged.

CONFIDENCES = ("a guess", "rather sure", "sure")


class Answer(NamedTuple):
    """What a learner said."""

    value: str | float  # the letter of an option, or a number
    confidence: str = ""  # one of CONFIDENCES, where it was asked


class Verdict(NamedTuple):
    """How an answer compares with the right one; `near` is a wrong number not far off."""

    right: bool
    words: str
    near: bool = False

    @property
    def grade(self) -> str:
        """One of GRADES."""
        return GRADES[0] if self.right else GRADES[1] if self.near else GRADES[2]


GRADES = ("Right", "Close", "No")
NEAR = 3.0  # tolerances from the right number within which a wrong one is close


def within(value: float, right: float, tolerance: float, scale: float = 0.0) -> bool:
    """Whether abs(value - right) <= tolerance * scale; `scale` is abs(right) where it is 0."""
    return abs(value - right) <= tolerance * (scale or abs(right))


def side(value: float, right: float, tolerance: float, scale: float = 0.0) -> str:
    """Where a number lies: "close" to the right number, as `within` says, or "low", or "high"."""
    return "close" if within(value, right, tolerance, scale) else "low" if value < right else "high"


def checked_answer(value: Json, confidence: str, options: Collection[str]) -> Answer:
    """One of the options, or a number where there are none. Raises InputError for any other answer."""
    if confidence:
        check_known("confidence", [confidence], CONFIDENCES)
    if options:
        if not isinstance(value, str) or value not in options:
            raise unknown("option", value, options)
        return Answer(str(value), confidence)
    number = real_number(value)
    if number is None:
        raise InputError(f"the answer is a number; got {shown(value)}")
    return Answer(number, confidence)


def _right(value: Json, key: str, what: str) -> bool | Expression:
    return value if isinstance(value, bool) else presets.expression(value, key, what)


@dataclass(frozen=True)
class Option:
    """One of the options of a choice.

    Attributes
    ----------
    say : str
    because : Template
        The text for this choice: why it is right or wrong, with numbers of the run.
    right : bool or Expression
        Whether it is right whatever the run shows; or where it is about the run: what makes it right.
    to : str
        The step where it leads on; "" for the one that follows.
    hope : bool
        Whether it is what a hopeful beginner chooses; among many questions it should be right in a third.
    """

    say: presets.Text
    because: presets.Sentence
    right: Annotated[bool | Expression, _right] = False
    to: presets.Words = ""
    hope: presets.Flag = False

    @property
    def when(self) -> Expression | None:
        """Where it is about the run: what makes it right."""
        return self.right if isinstance(self.right, Expression) else None

    def is_right(self, scope: Scope) -> bool:
        """Whether it is right of the run. Raises InputError for an unknown name."""
        return self.right.holds(scope) if isinstance(self.right, Expression) else self.right


@dataclass(frozen=True)
class Number:
    """A number that is asked for.

    Attributes
    ----------
    right : Expression
        Of the run once it is over, or a number.
    tolerance : float
        How far off counts as right: a share of the right number; or of `scale`, where the right number can be 0.
    close, low, high : Template
        The text for an answer within the tolerance, below, or above.
    unit : str
    scale : float
    """

    right: presets.Test
    tolerance: presets.Real
    close: presets.Sentence
    low: presets.Sentence
    high: presets.Sentence
    unit: presets.Words = ""
    scale: presets.Real = 0.0


LETTERS = "abcdefgh"


def _options(value: Json, key: str, what: str) -> dict[str, Option]:
    if not isinstance(value, list) or len(value) < 2:
        raise InputError(f"the options of {what} are a list of at least two entries; got {shown(value)}")
    if len(value) > len(LETTERS):
        raise InputError(f"{what} has {len(value)} options; at most {len(LETTERS)} can be told apart")
    lettered = zip(LETTERS, value, strict=False)
    found = {letter: presets.read(Option, one, f"option {letter} of {what}") for letter, one in lettered}
    if not any(option.right for option in found.values()):
        raise InputError(f"{what} has no right option; mark one with `right: true`, or with what makes it right")
    return found


def _number(value: Json, key: str, what: str) -> Number:
    return presets.read(Number, value, f"the number of {what}")


@dataclass(frozen=True)
class Ask:
    """A question: `options` by letter, or a `number`."""

    text: presets.Text = field(metadata={"key": "ask"})
    options: Annotated[Mapping[str, Option], _options] = field(default_factory=dict)
    number: Annotated[Number | None, _number] = None
    confidence: presets.Flag = True

    def checked(self, value: Json, confidence: str = "") -> Answer:
        """An answer to it. Raises InputError for an invalid answer."""
        return checked_answer(value, confidence, self.options)

    def told(self, scope: Scope) -> str:
        """What the run says of the right answer, where a learner has given none. Raises InputError as `judged` does."""
        if self.number is not None:
            return self.number.close.words(scope)
        return next((each.because.words(scope) for each in self.options.values() if each.is_right(scope)), "")

    def judged(self, answer: Answer, scope: Scope) -> Verdict:
        """How it compares with the right one, by the run. Raises InputError where the run lacks what that needs."""
        if self.number is None:
            option = self.options[str(answer.value)]
            return Verdict(option.is_right(scope), option.because.words(scope))
        right = self.number.right.value(scope)
        if right is None:
            raise InputError(f"{self.number.right.text!r} is not known in this run; use a name that the method has")
        value, tolerance, scale = float(answer.value), self.number.tolerance, self.number.scale
        found = side(value, float(right), tolerance, scale)
        near = found != "close" and within(value, float(right), NEAR * tolerance, scale)
        return Verdict(found == "close", getattr(self.number, found).words(scope), near)


def _ask(value: Json, key: str, what: str) -> Ask:
    what = f"`{key}` of {what}"
    found = presets.read(Ask, value, what)
    if bool(found.options) == (found.number is not None):
        raise InputError(f"{what} needs either `options` or a `number`")
    return found


HIDES = ("exact", "traces", "numbers")  # of the page: the posterior and all that needs it, curves, the status line


def _hides(value: Json, key: str, what: str) -> tuple[str, ...]:
    found = presets.texts._replace(words=f"a list of some of {', '.join(HIDES)}")(value, key, what)
    check_known(f"part of the page to hide in {what}", found, HIDES)
    return found


RACE_PARTS = ("target", "target_options", "budget", "seeds")


@dataclass(frozen=True)
class Race:
    """A race of a step, whose runs expressions name: `plain.tv`."""

    entrants: Mapping[str, Any]  # name in expressions -> an entrant, as `pmdviz.race` takes them
    parts: Mapping[str, Any]  # RACE_PARTS

    @cached_property
    def recipe(self) -> RaceRecipe:
        """Made when it is first asked for. Raises InputError."""
        return RaceRecipe.checked([*self.entrants.values()], **self.parts)


def _race(value: Json, key: str, what: str) -> Race:
    parts, what = dict(presets.names(value, key, what)), f"the race of {what}"
    check_known(f"key of {what}", parts, ("entrants", *RACE_PARTS))
    entrants = parts.pop("entrants", None)
    if not isinstance(entrants, Mapping) or not all(isinstance(one, str) and one.isidentifier() for one in entrants):
        raise InputError(f"{what} needs `entrants`: name: method, one each; got {shown(entrants)}")
    return Race(dict(entrants), parts)


def _settings(value: Json, key: str, what: str) -> tuple[Mapping[str, Any], ...]:
    found = value if isinstance(value, list) else [value]
    if not all(one and presets.names.fits(one) for one in found):
        raise InputError(f"`try` of {what} is {{control: value}}, or a list of these; got {shown(value)}")
    return tuple(found)


@dataclass(frozen=True)
class Hint:
    """A hint, and the settings that it names: controls and values before the start, tried one after the other."""

    say: presets.Text
    settings: Annotated[tuple[Mapping[str, Any], ...], _settings] = field(default=(), metadata={"key": "try"})


def _hints(value: Json, key: str, what: str) -> tuple[Hint, ...]:
    if not isinstance(value, list) or not all(isinstance(one, (str, Mapping)) for one in value):
        raise InputError(f"`hints` of {what} is a list of texts, or of `say` and `try`; got {shown(value)}")
    return tuple(Hint(one) if isinstance(one, str) else presets.read(Hint, one, f"a hint of {what}") for one in value)


def _is_change(at: Any, values: Any) -> bool:
    return isinstance(at, int) and not isinstance(at, bool) and at >= 0 and presets.names.fits(values)


solution = presets.Kind(
    "iteration: {control: value}, one each",
    lambda value: isinstance(value, Mapping) and all(map(_is_change, value, value.values())),
)


@dataclass(frozen=True)
class Step:
    """One step of a lesson.

    Attributes
    ----------
    name : str
        Its address in the lesson, for branches and for stored answers.
    title, text : str
        The text is Markdown.
    run : mapping or None
        The parts of a recipe, in the form of a preset's file; None where the step continues the run on show.
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
        Iteration -> controls and values that reach the goal; iteration 0 means before the start.
    score : Expression or None
        Of a challenge: a number about the run at the end of its budget; the higher the better.
    hints : tuple of Hint
    reveal : str
        Markdown, shown when the learner requests it.
    diagnosis : tuple of Diagnosis
    trace : str
        Key of the traces that are shown; "" for the usual ones.
    hide : tuple of str
        Those of HIDES that the page does not show before the step's first question is answered.
    skip : bool
        Whether it may be left without an answer.
    to : str
        The next step; "" for the one that follows.
    """

    name: str
    title: presets.Text
    text: str
    run: Annotated[Mapping[str, Any] | None, presets.names] = field(default=None, metadata={"key": "recipe"})
    race: Annotated[Race | None, _race] = None
    experiment: presets.Text = ""
    controls: presets.Texts = ()
    question: Annotated[Ask | None, _ask] = None
    after: Annotated[Ask | None, _ask] = None
    goal: presets.MaybeTest = None
    solution: Annotated[Mapping[int, Mapping[str, Any]], solution] = field(default_factory=dict)
    score: presets.MaybeTest = None
    hints: Annotated[tuple[Hint, ...], _hints] = ()
    reveal: presets.Words = ""
    diagnosis: presets.Diagnoses = ()
    trace: presets.Words = ""
    hide: Annotated[tuple[str, ...], _hides] = ()
    skip: presets.Flag = False
    to: presets.Words = ""

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
    text : str
        Markdown that stands before the first step.
    steps : tuple of Step
    terms : tuple of str
        Words that its texts name as words of the glossary.
    minutes : int
        How long it takes.
    position : int
        In the list of lessons.
    topic : str
        Heading of the lesson's group in the list.
    sketch : str
        Its thumbnail: an SVG path in a box of 96 by 40.
    varies : bool
        Whether it holds on other seeds too: then each student's runs have seeds of their own.
    student : str
        Whose it is; "" for the lesson as the list has it.
    """

    name: str
    title: presets.Text
    question: presets.Text
    text: str
    steps: tuple[Step, ...]
    terms: tuple[str, ...] = ()
    minutes: presets.Whole = 10
    position: presets.Whole = 1000
    topic: presets.Text = "More lessons"
    sketch: presets.Text = ""
    varies: presets.Flag = False
    student: presets.Words = ""

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
        return self.steps[entry("step of this lesson", name, self.places)]

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

    def before(self, name: str) -> list[str]:
        """Names of the steps that can lead to the step of that name, or "" to the end."""
        return [one.name for one in self.steps if name in self.leads_to(one)]

    def on_show(self, step: Step) -> list[str]:
        """Names of the steps whose run, race or experiment may be on show in `step`: itself, or those before it.

        More than one where that depends on the path; "" among them: on some path nothing was shown before.
        """
        shows = {one.name: one.shows for one in self.steps}
        back = met(step.name, lambda name: [] if shows[name] else self.before(name))
        first = self.steps[0].name
        return [name for name in back if shows[name]] + [""] * (first in back and not shows[first])

    def source(self, step: Step) -> Step:
        """The step whose run, race or experiment is on show in `step`; `step` itself where nothing is."""
        return self.step(next(iter(self.on_show(step)), "") or step.name)

    def recipe_at(self, step: Step) -> Recipe | None:
        """The recipe that is on show in `step`: its own, or the recipe of the step that it continues."""
        return self.source(step).recipe


# The lesson of one student: its runs have other seeds, and answers differ.

STUDENT = re.compile(r"[\w.-]{1,40}")


def seed_of(student: str) -> int:
    """A number from 1 to 9,999 that depends on the name alone; upper and lower case are the same."""
    return 1 + int(sha256(student.casefold().encode()).hexdigest(), 16) % 9_999


def for_student(lesson: Lesson, student: str) -> Lesson:
    """The lesson `name@student`; where it varies, `seed_of` moves the seeds of its runs.

    Raises InputError for a name with other characters than STUDENT allows.
    """
    if not STUDENT.fullmatch(student):
        raise InputError(f"a student is up to 40 letters, digits, dots, dashes or underscores, not {shown(student)}")
    move = seed_of(student) if lesson.varies else 0
    steps = tuple(_moved(step, move) for step in lesson.steps) if move else lesson.steps
    return replace(lesson, name=f"{lesson.name}@{student}", student=student, steps=steps)


def _moved(step: Step, move: int) -> Step:
    """The step with other seeds."""
    if step.run is not None:
        return replace(step, run={**step.run, "seed": step.run.get("seed", 0) + move})
    if step.race is not None:
        seeds = [seed + move for seed in step.race.recipe.seeds]
        return replace(step, race=replace(step.race, parts={**step.race.parts, "seeds": seeds}))
    return step


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
    # A default may depend on another knob: the step's knobs where the learner's are turned as in `recipe`.
    turned = {name: recipe.knobs[name] for name in step.controls if name in recipe.knobs and name in own.knobs}
    fixed = own.to_dict() | {"knobs": own.start_knobs().replaced(**turned).as_dict()}
    found = {name for name in ("target", "method", "seed", "budget") if plain[name] != fixed[name]}
    for part in ("target_options", "knobs"):
        mine, theirs = plain[part], fixed[part]
        assert isinstance(mine, Mapping) and isinstance(theirs, Mapping)
        found |= {name for name in {*mine, *theirs} if mine.get(name) != theirs.get(name)}
    found |= {name for _, values in recipe.changes for name in values}
    return sorted(found - {*step.controls})


# The ways through a lesson: which steps can be reached, and from which of them its end.

END = ""  # instead of a step's name


def met(start: str, following: Callable[[str], Iterable[str]]) -> list[str]:
    """All names that are met from one on, itself the first; `following` gives those next to each."""
    found = [start]
    for name in found:  # which grows meanwhile
        found += [each for each in following(name) if each not in found]
    return found


def reached(lesson: Lesson) -> set[str]:
    """Names of the steps that some path from the first step reaches."""
    return {*met(lesson.steps[0].name, lambda name: lesson.leads_to(lesson.step(name)) - {END})}


def ending(lesson: Lesson) -> set[str]:
    """Names of the steps from which the end of the lesson can be reached."""
    return {*met(END, lesson.before)} - {END}


def faults_of_paths(lesson: Lesson) -> Iterator[str]:
    """The errors in the paths through the lesson, one sentence each."""
    there, ends = reached(lesson), ending(lesson)
    for step in lesson.steps:
        if step.name not in there:
            yield f"step {step.name!r}: no path leads to it"
        elif step.name not in ends:
            yield f"step {step.name!r}: no path leads from it to the end of the lesson"
        if step.after is not None and any(option.to for option in step.after.options.values()):
            yield f"step {step.name!r}: an option of `after` has `to`; only the first question leads elsewhere"
