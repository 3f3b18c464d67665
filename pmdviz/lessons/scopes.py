"""What the expressions of a step can ask of whatever it shows: one run, the runs of a race, or nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pmdviz.engine.run import Run
from pmdviz.errors import InputError, unknown
from pmdviz.expressions import Scope
from pmdviz.presets.measures import RunScope


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
