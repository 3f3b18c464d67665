"""Bands over other seeds behind the traces: where the middle 80 % of them lie, and their median."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from bokeh.models import ColumnDataSource, GlyphRenderer
from bokeh.plotting import figure as Figure

from pmdviz.experiments.seeds import SHARE, SeedRuns

ALPHA, MEDIAN_ALPHA, MEDIAN_WIDTH = 0.2, 0.7, 1.2
BELOW_PX = 22  # the words below those on what is beyond the axis
EMPTY = {"x": np.empty(0), "low": np.empty(0), "middle": np.empty(0), "high": np.empty(0)}
Bands = Mapping[str, Mapping[str, np.ndarray]]  # by the column that each is of


class _Band(NamedTuple):
    source: ColumnDataSource
    area: GlyphRenderer
    median: GlyphRenderer


class SeedBands:
    """Bands of one figure, each made when it is first needed: a renderer does not change its axis."""

    def __init__(self, figure: Figure) -> None:
        self._figure = figure
        self._made: dict[bool, list[_Band]] = {True: [], False: []}  # by whether its axis is logarithmic
        self._key: GlyphRenderer | None = None
        self._seen: tuple[Any, ...] = ()
        self.words = ColumnDataSource({"x": [1.0], "y": [1.0], "text": [""]})
        where: dict[str, Any] = {"y_range_name": "edge", "text_align": "right", "text_baseline": "top"}
        self.said = figure.text("x", "y", "text", source=self.words, x_offset=-6, y_offset=BELOW_PX, **where)

    def say(self, words: str) -> None:
        """A few words in the upper right corner; "" for none."""
        if words != self.words.data["text"][0]:
            self.words.data = {**self.words.data, "text": [words]}

    def place(self, end: float) -> None:
        """Keep the words where the x axis ends."""
        if end != self.words.data["x"][0]:
            self.words.data = {**self.words.data, "x": [end]}

    @property
    def key(self) -> GlyphRenderer:
        """What stands for them in the legend, with nothing in the picture."""
        if self._key is None:
            nowhere = ColumnDataSource({"x": [np.nan], "y": [np.nan]})
            self._key = self._figure.varea("x", "y", "y", source=nowhere, fill_alpha=ALPHA)
        return self._key

    def show(self, bands: Bands, log: bool, span: tuple[float, float], colours: Mapping[str, str]) -> None:
        """Draw these, inside the span of the axis; others are emptied. Costs nothing where nothing has changed."""
        seen = {name: id(band) for name, band in bands.items()}, log, span, colours
        if seen == self._seen:
            return
        self._seen = seen
        for axis, made in self._made.items():
            drawn = [(colours[name], band) for name, band in bands.items()] if axis == log else []
            while len(made) < len(drawn):
                made.append(self._add(axis))
            for k, band in enumerate(made):
                self._fill(band, *(drawn[k] if k < len(drawn) else (None, EMPTY)), span)
        if bands:
            self.key.glyph.fill_color = next(iter(colours[name] for name in bands))

    def _fill(self, made: _Band, colour: str | None, band: Mapping[str, np.ndarray], span: tuple[float, float]) -> None:
        if len(band["x"]) or len(made.source.data["x"]):
            inside = {name: np.clip(band[name], *span) for name in ("low", "middle", "high")}
            made.source.data = {"x": band["x"], **inside}
        if colour is not None:
            made.area.glyph.fill_color = made.median.glyph.line_color = colour

    def _add(self, log: bool) -> _Band:
        source = ColumnDataSource(dict(EMPTY))
        look: dict[str, Any] = {"source": source, "level": "underlay", "y_range_name": "default" if log else "linear"}
        area = self._figure.varea("x", "low", "high", fill_alpha=ALPHA, **look)
        line = {"line_alpha": MEDIAN_ALPHA, "line_width": MEDIAN_WIDTH, "line_dash": "dotted"}
        return _Band(source, area, self._figure.line("x", "middle", **line, **look))


def bands_of(runs: SeedRuns | None, clock: str, names: Sequence[str]) -> dict[str, dict[str, np.ndarray]]:
    """The bands of those columns that the runs have, against a clock."""
    found = {name: runs.band(clock, name) for name in names} if runs is not None and runs.whole else {}
    return {name: band for name, band in found.items() if len(band["x"])}


def words(runs: SeedRuns) -> str:
    """For the legend: "middle 80 % of 16 seeds"."""
    return f"middle {SHARE:.0%} of {len(runs.whole)} seeds".replace("%", "\u00a0%")
