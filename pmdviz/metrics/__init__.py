"""How far an approximation is from the posterior, and how much its weights are to be trusted.

A file put here that makes a `Metric` has it appear in histories, traces, races, sweeps, tables and menus by itself.
"""

from __future__ import annotations

import importlib
import pkgutil

from pmdviz.metrics.base import METRICS, REGISTERED, Metric, applicable

for _module in pkgutil.walk_packages(__path__, f"{__name__}."):
    importlib.import_module(f"{__name__}.{_module.name.removeprefix(f'{__name__}.')}")
for _one in sorted(REGISTERED.values(), key=lambda one: (one.order, one.name)):
    REGISTERED[_one.name] = REGISTERED.pop(_one.name)

__all__ = ["METRICS", "Metric", "applicable"]
