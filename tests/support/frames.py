"""A frame of a small run, which is not measured."""

from typing import Any

from pmdviz.engine.frame import Frame
from pmdviz.engine.recipe.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.targets import TARGETS, stochastic_volatility


def frame_of(target: str, method: str, steps: int, **parts: Any) -> Frame:
    """After so many steps of a method; `parts` are options of the target where it has such, else knobs."""
    options = {name: value for name, value in parts.items() if name in TARGETS[target].Options.specs()}
    knobs = {name: value for name, value in parts.items() if name not in options}
    recipe = Recipe(target, method, target_options=options, budget=None, **knobs)
    return Session(recipe, metrics_every=10**9).advance(steps)


def short_chains(monkeypatch: Any) -> None:
    """The reference draws of a hidden path come from few sweeps: for tests that compare with these draws alone."""
    for name in ("DRAWS", "BURN_IN", "SWEEPS"):
        monkeypatch.setattr(stochastic_volatility, name, 100)
