"""Methods: the algorithms, in the folder of their family; a file put there appears in every menu."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from pmdviz.errors import unknown
from pmdviz.methods.base import METHODS, Method
from pmdviz.methods.step import StepBlock, StepInfo
from pmdviz.targets import TARGETS, Target, make_target

for _module in pkgutil.walk_packages(__path__, f"{__name__}."):
    importlib.import_module(f"{__name__}.{_module.name.removeprefix(f'{__name__}.')}")
for _name in sorted(METHODS):  # in menus by name, whatever folder they stand in
    METHODS[_name] = METHODS.pop(_name)


def find_method(name: str) -> Method:
    """The method of that name. Raises InputError."""
    if not isinstance(name, str) or name not in METHODS:
        raise unknown("method", name, METHODS)
    return METHODS[name]


def usual_target(name: str) -> str:
    """The built-in target that method `name` is shown on: the mixture, or else the first one that it fits."""
    return next(each for each in ("mixture", *TARGETS) if not METHODS[name].missing_in(_at_its_defaults(each)))


@cache
def _at_its_defaults(target: str) -> Target:
    """Made once: some take a second, and whoever lists the methods asks for each of them."""
    return make_target(target)


__all__ = ["METHODS", "StepBlock", "Method", "StepInfo", "find_method", "usual_target"]
