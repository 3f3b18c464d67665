"""What the steps of a lesson drive: the run of the Lab, the race of the Race page, an experiment of the Theory page."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from pmdviz.expressions import Scope
from pmdviz.lessons.lesson import Step


class Pages(Protocol):
    """The pages of a browser session, as tabs."""

    built: Mapping[str, Any]
    names: Sequence[str]

    def open(self, name: str, what: Any) -> None:
        """Show a page with something that it is handed."""

    def show(self, name: str) -> None:
        """Show a page as it is."""


class Moment(NamedTuple):
    """Something to judge: `key` tells it from others, `scope` is called in the worker."""

    key: Hashable
    at_end: bool
    playing: bool
    scope: Callable[[], Scope]
    at_rest: bool = True  # whether it may be judged before the end too


class Place(Protocol):
    """Where a step shows what it is about."""

    tab: str

    def keep(self) -> None:
        """Remember what is there before the lesson."""

    def begin(self, showing: Step) -> None:
        """Show what a step shows, from its start."""

    def go_on(self, step: Step, begins: bool = True) -> None:
        """A step that goes on with what is shown; with `begins` a run that is over and has settings begins again."""

    def play(self) -> None:
        """Play it to its end."""

    def play_again(self, only_if_over: bool) -> bool:
        """Play from the start with the settings as they are; False where it does not."""

    def moment(self) -> Moment | None:
        """What there is to judge; None while the step is not there yet."""

    def give_back(self) -> None:
        """What was there before the lesson."""
