"""What a stage can show: scenes; a file put here appears in lab, race and exports by itself."""

from __future__ import annotations

import importlib
import pkgutil

from pmdviz.scenes.stage.base import (
    DRAWN,
    LAYERS,
    LEGEND_ORDER,
    SCENES,
    Pair,
    Scene,
    SceneChoice,
    applicable_scenes,
    particles_label,
    square,
)

for _module in pkgutil.walk_packages(__path__, f"{__name__}."):
    importlib.import_module(f"{__name__}.{_module.name.removeprefix(f'{__name__}.')}")

__all__ = [
    "DRAWN",
    "LAYERS",
    "LEGEND_ORDER",
    "SCENES",
    "Pair",
    "Scene",
    "SceneChoice",
    "applicable_scenes",
    "particles_label",
    "square",
]
