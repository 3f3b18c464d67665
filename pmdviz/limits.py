"""The limits that a server may set for its sessions: their flags, and the environment variables that hold them."""

from __future__ import annotations

import difflib
import os
import warnings
from collections.abc import Mapping
from typing import NamedTuple

from pmdviz.errors import InputWarning
from pmdviz.knobs import Raw, checked_whole

OTHERS = ("DOCS", "LESSONS", "TARGETS", "THREADS", "WORKER")  # other variables
MOST = 10**12  # above any sensible limit; without it milliseconds could become infinite


class Limit(NamedTuple):
    """A limit: its letter on the command line, the least that it may be, and what it limits."""

    letter: str
    least: int
    words: str


LIMITS = {
    "max_sessions": Limit("N", 1, "browser tabs served at the same time"),
    "max_particles": Limit("M", 1, "particles that one session may have"),
    "max_grid": Limit("G", 160, "cells a side of the finest grid that densities are drawn and compared on"),
    "max_budget": Limit("N", 1, "observations that one run may use; without it runs may be endless"),
    "max_upload": Limit("BYTES", 1000, "size of what a browser may send at once (default 4,000,000)"),
    "max_changes": Limit("N", 1, "knob changes that one run may have (default 500)"),
    "max_replay_s": Limit("S", 1, "seconds of computing that the replay of one link may take (default 60)"),
    "spare_pages": Limit("N", 1, "pages that are built before any visitor comes (default 1)"),
    "max_step_ms": Limit("MS", 1, "predicted milliseconds of one step"),
    "max_experiment_s": Limit("S", 1, "predicted seconds of one experiment (default 600)"),
}


def variable(name: str) -> str:
    """The environment's variable of a limit: PMDVIZ_MAX_SESSIONS."""
    return f"PMDVIZ_{name.upper()}"


def limit(name: str) -> int | None:
    """The limit of that name in force, or None where there is none. Raises InputError for one that cannot be used."""
    text = os.environ.get(variable(name), "").strip()
    return checked_whole(variable(name), text, LIMITS[name].least, MOST) if text else None


def check_limits() -> None:
    """Raise InputError for a variable that holds no limit, and warn of a name that is close to a variable's.

    A typing error must not remove a limit.
    """
    for name in LIMITS:
        limit(name)
    known = {*map(str.upper, LIMITS), *OTHERS}
    for name in sorted(each.removeprefix("PMDVIZ_") for each in os.environ if each.startswith("PMDVIZ_")):
        if name not in known and (near := difflib.get_close_matches(name, known, n=1)):
            words = f"the environment has PMDVIZ_{name}, which does nothing; did you mean PMDVIZ_{near[0]}?"
            warnings.warn(words, InputWarning, stacklevel=2)


def set_limits(given: Mapping[str, Raw]) -> None:
    """Put limits into the environment. Raises InputError for one that cannot be used, also of those there before."""
    for name, bound in LIMITS.items():
        if given.get(name) is not None:
            flag = f"--{name.replace('_', '-')}"
            os.environ[variable(name)] = str(checked_whole(flag, given[name], bound.least, MOST))
    check_limits()
