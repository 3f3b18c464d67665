"""What scenes share that draw something of their own over the posterior's picture."""

from __future__ import annotations

from pmdviz.scenes.stage.base import SCENES, Pair, Ranges, Scene
from pmdviz.targets import Target


class OverPosterior(Scene):
    """In the frame of the scene `posterior`, above two dimensions of a chosen pair of coordinates."""

    shows_theta = True

    def paired(self, target: Target) -> bool:
        """Above two dimensions."""
        return target.dim > 2

    def ranges(self, target: Target, pair: Pair, top: float) -> Ranges:
        """As the posterior's."""
        return SCENES["posterior"].ranges(target, pair, top)

    def axis_labels(self, target: Target, pair: Pair) -> tuple[str, str]:
        """As the posterior's."""
        return SCENES["posterior"].axis_labels(target, pair)
