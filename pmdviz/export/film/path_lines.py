"""The paths of a method in a film: segments of one artist, each of its own colour and opacity."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgba_array

from pmdviz.scenes.style import PATH_COLOURS, Theme


class PathLines:
    """What the page's segments are on it."""

    def __init__(self, axes: Axes, colours: Theme, width: float, zorder: float) -> None:
        self._inks = to_rgba_array([colours.layers[name] for name in PATH_COLOURS])
        self.artist = LineCollection([], linewidths=width, zorder=zorder)
        axes.add_collection(self.artist, autolim=False)

    def show(self, paths: Mapping[str, np.ndarray]) -> None:
        """Take the columns of a scene."""
        ends = np.stack([paths[name] for name in ("x0", "y0", "x1", "y1")], axis=1)
        self.artist.set_segments(ends.reshape(-1, 2, 2))
        colours = self._inks[paths["kind"].astype(int)]
        colours[:, 3] = paths["alpha"]
        self.artist.set_color(colours)
