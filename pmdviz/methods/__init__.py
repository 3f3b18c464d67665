"""Methods: the algorithms. One file each; a file put here appears in every menu by itself."""

from __future__ import annotations

import importlib
import pkgutil

from pmdviz.errors import unknown
from pmdviz.methods.base import METHODS, Leap, Method, StepInfo

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")


def find_method(name: str) -> Method:
    """The method of that name. Raises InputError."""
    if not isinstance(name, str) or name not in METHODS:
        raise unknown("method", name, METHODS)
    return METHODS[name]


__all__ = ["METHODS", "Leap", "Method", "StepInfo", "find_method"]
