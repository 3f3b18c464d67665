"""Targets: the posteriors to be found. One file each; a file put here appears in every menu by itself."""

from __future__ import annotations

import importlib
import pkgutil

from pmdviz.errors import unknown
from pmdviz.targets.base import TARGETS, Target

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")


def make_target(name: str, /, **options: object) -> Target:
    """The built-in target `name` with `options`. Raises InputError for an unknown name or a bad option."""
    if name not in TARGETS:
        raise unknown("target", name, TARGETS)
    return TARGETS[name](**options)


__all__ = ["TARGETS", "Target", "make_target"]
