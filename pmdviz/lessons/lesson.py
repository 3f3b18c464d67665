"""A lesson as a value: steps that each show a run, a race or an experiment, ask, and set a goal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from pmdviz.engine.recipe import Recipe
from pmdviz.errors import InputError, unknown
from pmdviz.experiments.race import RaceRecipe
from pmdviz.expressions import Expression
from pmdviz.lessons.asking import Ask
from pmdviz.presets.diagnosis import Diagnosis

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
