"""What an experiment will cost before it begins, and the refusal of one that is too large for this machine."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NamedTuple

from pmdviz.errors import InputError
from pmdviz.limits import limit

MOST_S = 3600.0  # of computing, where nobody says otherwise
MOST_SERVED_S = 600  # the same where a process serves others
MOST_OF_MEMORY = 0.5  # share of the free memory that all workers may take together


class Size(NamedTuple):
    """What a case needs: seconds on one core, and megabytes at its largest."""

    seconds: float
    megabytes: float


class TooMuch(InputError):
    """An experiment that is refused; `may_insist`: unless a person insists."""

    def __init__(self, words: str, may_insist: bool = True) -> None:
        how = ", or insist (insist=True, --insist)" if may_insist else ""
        super().__init__(f"{words}; make it smaller{how}", "", f"{words}; make it smaller")  # a page has a button
        self.may_insist = may_insist


_served = False


def forbid_insisting() -> None:
    """Have nobody insist in this process from now on: it serves others."""
    global _served
    _served = True


def most_seconds() -> int | float | None:
    """Seconds that an experiment may take at most; None where a person may insist on more."""
    asked = limit("max_experiment_s")
    return MOST_SERVED_S if asked is None and _served else asked


def check_size(sizes: Sequence[Size], workers: int, insist: bool = False) -> None:
    """Raise TooMuch where the cases would take too long, or more memory than there is.

    To insist helps against time, but not where `max_experiment_s` is set or the process serves others; never against
    memory.
    """
    limited = most_seconds()
    if not sizes:
        return
    longest = max(size.seconds for size in sizes)
    seconds = max(sum(size.seconds for size in sizes) / workers, longest)
    most = MOST_S if limited is None else float(limited)
    at_once = sorted((size.megabytes for size in sizes), reverse=True)[:workers]
    free = free_megabytes()
    if free is not None and sum(at_once) > MOST_OF_MEMORY * free:
        words = f"about {in_megabytes(sum(at_once))} of memory, of which {in_megabytes(free)} are free"
        raise TooMuch(f"this experiment would take {words}", False)
    if seconds > most and not (insist and limited is None):
        words = f"about {in_time(seconds)} on {workers} {'core' if workers == 1 else 'cores'}"
        bound = f"more than {in_time(most)} has to be asked for"
        bound = bound if limited is None else f"{in_time(most)} is the most that is allowed here"
        raise TooMuch(f"this experiment would take {words}, and {bound}", limited is None)


def free_megabytes() -> float | None:
    """Memory that is free, by the kernel's own account; None where it gives none."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            found = dict(line.split(":", 1) for line in file)
        return int(found["MemAvailable"].split()[0]) / 1024
    except (OSError, KeyError, ValueError):
        try:
            return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES") / 1e6
        except (OSError, ValueError, AttributeError):
            return None


def in_time(seconds: float) -> str:
    """12 s, 5 minutes or 3 hours."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} minutes" if seconds < 5400 else f"{seconds / 3600:,.0f} hours"


def in_megabytes(size: float) -> str:
    """500 MB or 3 GB."""
    return f"{size:,.0f} MB" if size < 1500 else f"{size / 1024:,.0f} GB"
