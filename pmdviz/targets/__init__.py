"""Targets: the posteriors to be found; a file put here appears in every menu by itself."""

from __future__ import annotations

import importlib
import pkgutil

from pmdviz.errors import unknown
from pmdviz.targets.base import TARGETS, Target

for _module in pkgutil.walk_packages(__path__, f"{__name__}."):
    importlib.import_module(f"{__name__}.{_module.name.removeprefix(f'{__name__}.')}")


def find_target(name: str) -> type[Target]:
    """The class of the built-in target `name`. Raises InputError."""
    if not isinstance(name, str) or name not in TARGETS:
        raise unknown("target", name, TARGETS)
    return TARGETS[name]


def make_target(name: str, /, **options: object) -> Target:
    """The built-in target `name` with `options`. Raises InputError for an unknown name or a bad option."""
    return find_target(name)(**options)


__all__ = ["TARGETS", "Target", "find_target", "make_target"]
