"""What the views of all pictures of an experiment share: a figure, its axes, numbers on them, and words for it."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from bokeh.models import CustomJSHover, CustomJSTickFormatter, NoOverlap, Range1d
from bokeh.plotting import figure as Figure

from pmdviz.scenes import style
from pmdviz.scenes.chart_columns import Entry
from pmdviz.views import figures

HEIGHT, TOP = 380, 12  # px, of a figure and above its frame: the legend is no part of it
LINE = 44  # characters of an axis's words in a line
NUMBER_JS = """
const size = Math.abs(value)
if (size === 0 || !Number.isFinite(value)) return String(value)
if (size >= 1e-4 && size < 1e7)
  return Number(value.toPrecision(digits)).toLocaleString("en-US", {maximumFractionDigits: 8})
let power = Math.floor(Math.log10(size) + 1e-9)
const lead = Number((value / 10 ** power).toPrecision(3))
const small = String(power).replace("-", "⁻").replace(/[0-9]/g, (digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[digit])
return (lead === 1 ? "" : `${lead}·`) + `10${small}`
"""  # never 1e-05
TICK_JS = f"const value = tick, digits = 6\n{NUMBER_JS}"
HOVER_JS = f"const digits = 3\n{NUMBER_JS}"


class PictureView:
    """A figure that `show` brings up to date. Subclasses draw one kind of picture, and say what its legend is."""

    what: ClassVar[str] = ""  # the kind, in the words for those who cannot see it

    def __init__(self, x_log: bool = False, y_log: bool = False, **look: Any) -> None:
        scales = {"x_axis_type": "log" if x_log else "linear", "y_axis_type": "log" if y_log else "linear"}
        borders = {f"min_border_{side}": px for side, px in style.BORDERS.items()} | {"min_border_top": TOP}
        name = f"picture-{self.what.lower().replace(' ', '-')}"
        self.figure = Figure(**{
            "name": name, "x_range": Range1d(0, 1), "y_range": Range1d(0, 1), "sizing_mode": "stretch_width",
            "height": HEIGHT, "tools": [], "toolbar_location": None, "output_backend": "canvas",
            **scales, **borders, **look,
        })  # fmt: skip
        for axis in (self.figure.xaxis[0], self.figure.yaxis[0]):
            axis.update(formatter=CustomJSTickFormatter(code=TICK_JS), major_label_policy=NoOverlap())
        self.figure.toolbar.logo = None
        figures.describe_by_tag(self.figure)
        self.dark = False
        self.colours: Mapping[str, int] = {}  # numbers of those of series and groups, by their names

    def show(self, picture: Any) -> None:
        """Draw a picture; drawing twice changes nothing."""
        self.draw(picture)
        for axis, words in ((self.figure.xaxis[0], picture.x_label), (self.figure.yaxis[0], picture.y_label)):
            axis.axis_label = "\n".join(textwrap.wrap(words, LINE))
        self._tell(picture)

    def number(self, name: str, k: int) -> int:
        """The number of the colour of `name`, the k-th of this picture."""
        return self.colours.get(name, k)

    def _tell(self, picture: Any) -> None:
        """The words for those who cannot see it."""
        about = picture.title or f"{picture.y_label} against {picture.x_label}"
        names = ", ".join(entry.words for entry in self.legend(picture))
        tags = [f"{self.what}: {about}" + (f"; {names}" if names else "")]
        if self.figure.tags != tags:
            self.figure.tags = tags

    def draw(self, picture: Any) -> None:
        """Bring sources and ranges up to date."""
        raise NotImplementedError

    def legend(self, picture: Any) -> Sequence[Entry]:
        """What stands over the figure."""
        raise NotImplementedError

    def set_theme(self, dark: bool) -> None:
        """Colours of the light or the dark theme."""
        self.dark = dark
        top = self.figure.min_border_top
        figures.apply_theme(self.figure, dark)
        self.figure.min_border_top = top
        self.paint()

    def paint(self) -> None:
        """Put the theme's colours on what is drawn."""
        raise NotImplementedError


def number_hover() -> CustomJSHover:
    """Numbers of a tooltip with three digits."""
    return CustomJSHover(code=HOVER_JS)
