"""A frame of a small run, which is not measured."""

from typing import Any

from pmdviz.engine.frame import Frame
from pmdviz.targets import TARGETS, stochastic_volatility
from tests.support.engine import advanced


def frame_of(target: str, method: str, steps: int, **parts: Any) -> Frame:
    """After so many steps of a method; `parts` are options of the target where it has such, else knobs."""
    options = {name: value for name, value in parts.items() if name in TARGETS[target].Options.specs()}
    knobs = {name: value for name, value in parts.items() if name not in options}
    return advanced(method, steps, target, options, **knobs).frame


def short_chains(monkeypatch: Any) -> None:
    """The reference draws of a hidden path come from few sweeps: for tests that compare with these draws alone."""
    for name in ("DRAWS", "BURN_IN", "SWEEPS"):
        monkeypatch.setattr(stochastic_volatility, name, 100)
