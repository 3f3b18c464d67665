"""A person's own targets that a server offers in its menus: `pmdviz serve --target MODULE:OBJECT`.

The environment names them, so that every process of the server and every worker has them: each imports the modules
when it is first asked for one.
"""

from __future__ import annotations

import os
import pkgutil
import re
import sys
import threading
from collections.abc import Mapping, Sequence

from pmdviz.errors import InputError, shown, words_of
from pmdviz.targets.base import TARGETS, Target
from pmdviz.targets.custom import CustomTarget

VARIABLE = "PMDVIZ_TARGETS"  # environment variable: MODULE:OBJECT, several with spaces between them
PLACE = re.compile(r"(?P<module>[^\W\d]\w*(\.[^\W\d]\w*)*):(?P<object>[^\W\d]\w*(\.[^\W\d]\w*)*)")
_lock = threading.RLock()
_loading = False  # a module that is imported may ask for targets itself
_loaded: tuple[str, dict[str, CustomTarget]] = ("", {})


def offer(places: Sequence[str]) -> None:
    """Offer these targets in this process and those begun by it. Raises InputError for what is none."""
    for place in places:
        if not PLACE.fullmatch(place):
            raise InputError(f"--target must be MODULE:OBJECT, such as my_models:heights; given: {shown(place)}")
    if places:
        os.environ[VARIABLE] = " ".join(places)
    offered()


def offered() -> Mapping[str, CustomTarget]:
    """The targets that the environment names, by their own names. Raises InputError for what is none."""
    global _loaded, _loading
    named = os.environ.get(VARIABLE, "")
    if named == _loaded[0]:
        return _loaded[1]
    with _lock:
        if named != _loaded[0] and not _loading:
            _loading = True
            try:
                _loaded = named, _all_of(named.split())
            finally:
                _loading = False
        return {} if _loading else _loaded[1]


def choice_of(target: Target) -> str | Target:
    """What stands for a target in a menu: its name, or itself where no menu has it."""
    return target.name if target.name in TARGETS or offered().get(target.name) is target else target


def titles() -> dict[str, str]:
    """Title -> name of all targets that a menu has: the built-in ones, then those that are offered."""
    return {each.title: name for name, each in (TARGETS | offered()).items()}


def names() -> dict[str, str]:
    """Name -> title of those that are offered."""
    return {name: each.title for name, each in offered().items()}


def _all_of(places: Sequence[str]) -> dict[str, CustomTarget]:
    found: dict[str, CustomTarget] = {}
    for place in places:
        made = _made(place)
        if made.name in found:
            raise InputError(f"--target: two targets have the name {made.name!r}; give one of them another")
        found[made.name] = made
    return found


def _made(place: str) -> CustomTarget:
    """The target at a place, or what the function there gives."""
    if (here := os.getcwd()) not in sys.path:
        sys.path.append(here)  # last: nothing in the current folder takes the place of a library's
    try:
        found = pkgutil.resolve_name(place)
        found = found if isinstance(found, CustomTarget) or not callable(found) else found()
    except (Exception, SystemExit) as error:  # whatever a person's module does as it is imported
        raise InputError(f"--target {place} cannot be loaded: {type(error).__name__}: {words_of(error)}") from error
    if not isinstance(found, CustomTarget):
        words = f"--target {place} must be made with pmdviz.custom_target, or be a function that gives one"
        raise InputError(f"{words}; it is {shown(found)}")
    return found
