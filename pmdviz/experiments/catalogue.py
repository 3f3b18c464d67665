"""All experiments of the package: every module of its folders is imported, so that a new file is there by itself."""

from __future__ import annotations

import importlib
import pkgutil

import pmdviz.experiments
from pmdviz.experiments.base import EXPERIMENTS

for _module in pkgutil.walk_packages(pmdviz.experiments.__path__, "pmdviz.experiments."):
    if _module.name != __name__:
        importlib.import_module(f"pmdviz.experiments.{_module.name.removeprefix('pmdviz.experiments.')}")

__all__ = ["EXPERIMENTS"]
