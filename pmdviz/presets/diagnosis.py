"""A sentence on what went on in a run, computed from it: the first of several that is true of the run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from pmdviz.errors import InputError, shown
from pmdviz.expressions import Expression, Scope, Template


@dataclass(frozen=True)
class Diagnosis:
    """A sentence with numbers of the run, and when it is true.

    Attributes
    ----------
    when : Expression
        What the sentence claims; it is said of no run of which this does not hold.
    say : Template
    """

    when: Expression
    say: Template

    @property
    def names(self) -> frozenset[str]:
        """The names that it asks for."""
        return self.when.names | self.say.names

    @property
    def over_history(self) -> bool:
        """Whether it is about more than the last frame."""
        return self.when.over_history or self.say.over_history


def read_diagnoses(entries: Any) -> tuple[Diagnosis, ...]:
    """Those of a data file: a list of mappings with `when` and `say`. Raises InputError."""
    if not isinstance(entries, list) or not all(isinstance(one, dict) and {*one} == {"when", "say"} for one in entries):
        raise InputError(f"a diagnosis is a list of entries with `when` and `say`; given: {shown(entries)}")
    return tuple(Diagnosis(Expression(str(one["when"])), Template(str(one["say"]))) for one in entries)


def diagnose(diagnoses: Iterable[Diagnosis], scope: Scope) -> str:
    """The sentence of the first that is true of the run; "" where none is. Raises InputError for an unknown name."""
    return next((each.say.words(scope) for each in diagnoses if each.when.holds(scope)), "")


def contradictions(diagnoses: Sequence[Diagnosis], scope: Scope) -> list[str]:
    """Why none of them is true of the run, one sentence each; [] where one is, or where there are none."""
    if not diagnoses or any(each.when.holds(scope) for each in diagnoses):
        return []
    return [f"the diagnosis {each.say.text!r} contradicts the run: {each.when.why(scope)}" for each in diagnoses]
