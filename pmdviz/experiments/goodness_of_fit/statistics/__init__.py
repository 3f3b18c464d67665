"""The tests. One file each; a file put here appears in every menu by itself."""

from __future__ import annotations

import importlib
import pkgutil

from pmdviz.experiments.goodness_of_fit.base import FIT_TESTS, FitTest

for _module in pkgutil.walk_packages(__path__, f"{__name__}."):
    importlib.import_module(f"{__name__}.{_module.name.removeprefix(f'{__name__}.')}")
for _name in sorted(FIT_TESTS):
    FIT_TESTS[_name] = FIT_TESTS.pop(_name)

__all__ = ["FIT_TESTS", "FitTest"]
