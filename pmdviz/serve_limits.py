"""The limits that a server may set for its sessions: their flags, and the environment variables that hold them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import NamedTuple

from pmdviz.errors import InputError


class Limit(NamedTuple):
    """A limit: its letter on the command line, the least that it may be, and what it limits."""

    letter: str
    least: int
    words: str


LIMITS = {
    "max_sessions": Limit("N", 1, "browser tabs served at the same time"),
    "max_particles": Limit("M", 1, "particles that one session may ask for"),
    "max_grid": Limit("G", 160, "cells a side of the finest grid that densities are drawn and compared on"),
    "max_budget": Limit("N", 1, "data that one run may visit; without it runs may be endless"),
    "max_upload": Limit("BYTES", 1000, "size of what a browser may send at once (default 4,000,000)"),
    "max_step_ms": Limit("MS", 1, "milliseconds that one step may take, by the forecast"),
}


def variable(name: str) -> str:
    """The environment's variable of a limit: PMDVIZ_MAX_SESSIONS."""
    return f"PMDVIZ_{name.upper()}"


def limit(name: str) -> int | None:
    """The limit of that name in force, or None where there is none."""
    text = os.environ.get(variable(name), "").strip()
    return int(text) if text.isdecimal() and int(text) > 0 else None


def set_limits(given: Mapping[str, int | None]) -> None:
    """Put limits into the environment. Raises InputError for one that is too small."""
    for name, bound in LIMITS.items():
        value = given.get(name)
        if value is not None and value < bound.least:
            flag = name.replace("_", "-")
            raise InputError(f"--{flag} must be a whole number at least {bound.least:,}; given: {value}")
        if value is not None:
            os.environ[variable(name)] = str(value)
