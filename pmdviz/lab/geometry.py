"""The Geometry page: why a step multiplies instead of adding, and why the forward KL falls by at least γ."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import panel as pn
from bokeh.document import Document
from bokeh.models import ColumnDataSource, CustomJS

from pmdviz.knobs import Value, real_number
from pmdviz.lab import css
from pmdviz.lab.loop.frame_sender import make_acknowledge
from pmdviz.lab.loop.task import log_failure
from pmdviz.lab.page import Page
from pmdviz.lab.panel_internals import handed, locked
from pmdviz.lab.panels import widgets
from pmdviz.lab.panels.widgets import WIDE, KnobForm, PlaybackBar, text
from pmdviz.pictures import Picture
from pmdviz.scenes import geometry as scene
from pmdviz.scenes import style
from pmdviz.scenes.words import typeset
from pmdviz.views.drawing import PictureFigure
from pmdviz.views.figures import DRAG_JS

AROUND = {"left": 16, "right": 16, "bottom": 8, "top": 32}  # px; the triangle has no axes
CHART = {**style.BORDERS, "right": 20, "top": 32}
ASPECT = 1.115  # of the triangle's figure, borders and legend included: so its sides are equal
CHART_PX = 240  # px of the two charts
TIGHT = {"glyph_width": 18, "spacing": 8, "label_standoff": 3}  # px: a phone is narrow


Drawn = Callable[[scene.Geometry], Picture]


class GeometryView(PictureFigure):
    """The figure of one of the three pictures."""

    def __init__(self, name: str, picture: Drawn, borders: dict = CHART, **look: Any) -> None:
        self._of, self._borders = picture, borders
        first = picture(scene.Geometry(scene.GeometryKnobs()))
        super().__init__(f"geometry-{name}", first, css_classes=[f"pmdviz-geometry-{name}"], **look)
        self.legend.update(**TIGHT)

    def show(self, geometry: scene.Geometry) -> None:
        """Draw a setting."""
        self.draw_picture(self._of(geometry))

    def set_theme(self, dark: bool = False, presenter: bool = False) -> None:
        """Colours of a theme; the borders stay."""
        super().set_theme(dark, presenter)
        self.figure.update(**{f"min_border_{side}": px for side, px in self._borders.items()})


class TriangleView(GeometryView):
    """Distributions over three states as points of a triangle, with both paths."""

    def __init__(self) -> None:
        super().__init__("triangle", scene.triangle_picture, AROUND, aspect_ratio=ASPECT)
        self.figure.frame_align = False  # the charts' frames are in one column, this one has no axes
        self.figure.axis.visible = self.figure.grid.visible = False
        self.dragged = ColumnDataSource({"x": [], "y": []}, name="dragged")
        args = {"figure": self.figure, "start": self.sources["start"], "dragged": self.dragged}
        for event in ("panstart", "pan", "panend"):
            self.figure.js_on_event(event, CustomJS(args=args, code=DRAG_JS))

    def set_theme(self, dark: bool = False, presenter: bool = False) -> None:
        """Colours of a theme, without an outline."""
        super().set_theme(dark, presenter)
        self.figure.outline_line_color = None


# The question above the pictures and the captions below them.

QUESTION = "<h2>Which path stays off the edge? Predict, then move γ.</h2>"
FORMULA = '<p class="pmdviz-formula">{}</p>'
MIRROR, GRADIENT = "q_{t+1} ∝ q_t^{1−γ} p^γ", "q_{t+1} = projection of q_t − η log(q_t / p)"
MULTIPLY = (
    "p is the posterior, q₀ the start: the prior. A mirror step takes the share 1 − γ of log q and the share γ of "
    "log p: the share γ of the old log q is lost. Probabilities that were positive stay positive."
)
ADD = (
    "A gradient step adds. Where it would go below 0 it is cut off, and the result is projected onto the triangle. "
    "Here η makes its first step as long as the first mirror step, and then it stays the same. At an edge the slope is "
    "infinite; it is taken at a probability of 0.001."
)
BOUND = "KL(p‖q_{t+1}) = (1−γ) KL(p‖q_t) + log Z, log Z ≤ 0"
FALLS = (
    "So with all data each mirror step multiplies the forward KL by 1 − γ or less, although it is a step on the "
    "reverse KL, KL(q‖p)."
)
MISCONCEPTIONS = (
    "“A gradient step on probabilities is a step along the gradient.” Not at an edge: the projection turns it, and the "
    "next step may jump back.",
    "“The forward KL need not fall.” In exact mirror steps it must. In gradient steps it may rise, and it is infinite "
    "at an edge.",
)


def explanation() -> str:
    """The captions below the pictures, as HTML."""
    told = ("1. Multiply", MIRROR, MULTIPLY), ("2. Or add", GRADIENT, ADD), ("3. The forward KL falls", BOUND, FALLS)
    parts = {title: f"{FORMULA.format(typeset(formula))}<p>{words}</p>" for title, formula, words in told}
    parts["Often said, but wrong"] = f"<ul>{''.join(f'<li>{words}</li>' for words in MISCONCEPTIONS)}</ul>"
    sections = "".join(f"<section><h3>{title}</h3>{part}</section>" for title, part in parts.items())
    return f'<div class="captions">{sections}</div>'


def found(geometry: scene.Geometry) -> str:
    """What this setting shows, in numbers, as HTML."""
    formula, *said = scene.sentences(geometry)
    return FORMULA.format(formula) + "".join(f"<p>{words}</p>" for words in said)


BUTTONS = {**widgets.BUTTONS, "Back": "back"}
EVERY_S = 0.7  # between two steps while it plays


class GeometryPage(Page):
    """Three sliders, and what they do to both paths; a page of the app. It is computed again when a value changes."""

    keys: ClassVar[Mapping[str, str]] = {"space": "toggle", "right": "step", "left": "back", "R": "restart"}

    def __init__(self) -> None:
        charts = {"density": scene.density_picture, "kl": scene.kl_picture}
        triangle = TriangleView()
        self.views: dict[str, GeometryView] = {"triangle": triangle} | {
            name: GeometryView(name, picture, height=CHART_PX) for name, picture in charts.items()
        }
        self.knobs = scene.GeometryKnobs.defaults()
        self._usual = self.knobs.as_dict()
        self._moved: np.ndarray | None = None
        self._doc: Document | None = None
        self._playing: asyncio.Task | None = None
        self.playback = PlaybackBar(self._act, lambda pace: None, buttons=BUTTONS)
        self.foot = self.playback.view
        self.playback.speed.visible = False  # it has one pace
        self.ack = make_acknowledge(triangle.figure, name="geometry-acknowledge")
        self.ack.on_change("presses", handed(lambda attr, old, new: self._press(self.ack.key)))
        # The browser has built the figures: from the next frame on it tells of keys.
        ready = handed(lambda attr, old, new: self.ack.update(sent=self.ack.sent + 1))
        triangle.figure.on_change("inner_width", ready)
        triangle.dragged.on_change("data", handed(lambda attr, old, new: self._drag(new)))
        self._make_view()
        self._show()

    def _make_view(self) -> None:
        sheets = [css.TEXT, *(css.static("pages.css", name) for name in ("race_heading", "geometry_words"))]
        parts = {"question": QUESTION, "found": "", "captions": explanation()}
        words = {n: text(said, css_classes=[f"pmdviz-geometry-{n}"], stylesheets=sheets) for n, said in parts.items()}
        look = {"css_classes": ["pmdviz-geometry-settings"], "stylesheets": [css.static("pages.css", "geometry_form")]}
        self.form, self.found = KnobForm(self._turn, **look), words["found"]
        self.form.rebuild(scene.GeometryKnobs, self._usual)
        figures = [pn.pane.Bokeh(view.figure, **WIDE) for view in self.views.values()]
        look = {"css_classes": ["pmdviz-geometry"], "stylesheets": [css.static("pages.css", "geometry")]}
        self.view = pn.Column(words["question"], self.form, *figures, self.found, words["captions"], **look, **WIDE)

    # A page of the app

    def start(self, doc: Document | None = None) -> None:
        """Begin; the first picture is there already."""
        self._doc, self.ack.keyboard = doc, True

    def look(self, on: bool) -> None:
        """The page is to be seen, or no longer: then it does not play, and the keys are another's."""
        self.ack.keyboard = on
        if not on:
            self.pause()

    def set_theme(self, dark: bool) -> None:
        """Put on the light or the dark theme."""
        for view in self.views.values():
            view.set_theme(dark)

    def stop(self) -> None:
        """The page is closed."""
        self.pause()

    # Settings

    def _turn(self, name: str, value: Value) -> None:
        self.pause()
        self._change(**{name: value})

    def _drag(self, columns: Mapping[str, Sequence[float]]) -> None:
        """The start was dragged to a point of the triangle; other values are a forged message."""
        at = [real_number(next(iter(columns.get(axis, ())), None)) for axis in ("x", "y")]
        if None not in at:
            self._moved = scene.start_at(*np.clip(at, -2.0, 2.0))
            self._change(start=scene.MOVED)

    def _change(self, **values: Value) -> None:
        self.knobs = self.knobs.changed(values)
        self._show()

    def _show(self) -> None:
        """Draw the setting and say what it shows."""
        geometry = scene.Geometry(self.knobs, self._moved)
        for view in self.views.values():
            view.show(geometry)
        self.found.object = found(geometry)
        self.form.show(self.knobs, self._usual, {})
        self.playback.enable(ready=True, done=self.knobs.steps == scene.MOST_STEPS, at_start=self.knobs.steps == 0)

    # Step by step

    def _press(self, key: str) -> None:
        if key in self.keys:
            self._act(self.keys[key])

    def _act(self, name: str) -> None:
        playing, now = self._playing is not None, self.knobs.steps
        self.pause()
        if name != "toggle":
            self._go({"restart": 0, "back": now - 1, "step": now + 1}[name])
        elif not playing:
            self.play()

    def _go(self, steps: int) -> None:
        """To so many steps, if there are."""
        if 0 <= steps <= scene.MOST_STEPS and steps != self.knobs.steps:
            self._change(steps=steps)

    def play(self) -> None:
        """One step after the other until the last; after the last from the start."""
        if self.knobs.steps == scene.MOST_STEPS:
            self._go(0)
        self._playing = asyncio.get_running_loop().create_task(self._play())
        self._playing.add_done_callback(log_failure)
        self.playback.playing(True)

    async def _play(self) -> None:
        while self.knobs.steps < scene.MOST_STEPS:
            await asyncio.sleep(EVERY_S)
            await locked(self._go, self.knobs.steps + 1, doc=self._doc)
        self._playing = None  # so that it does not cancel itself
        await locked(self.pause, doc=self._doc)

    def pause(self) -> None:
        """Stand still."""
        task, self._playing = self._playing, None
        if task is not None and not task.done():
            task.cancel()
        self.playback.playing(False)
