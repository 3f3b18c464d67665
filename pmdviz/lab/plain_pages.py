"""Pages without a run: the lessons, the methods, both of which open in the lab, and the geometry of a step."""

from __future__ import annotations

import html
import secrets
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
import panel as pn
import param
from bokeh.models import ColumnDataSource, CustomJS
from panel.io.callbacks import PeriodicCallback

from pmdviz.engine.recipe import Recipe
from pmdviz.files import Json
from pmdviz.knobs import Value, real_number
from pmdviz.lab import css
from pmdviz.lab.loop import limits
from pmdviz.lab.loop.frame_sender import make_acknowledge
from pmdviz.lab.page import Page
from pmdviz.lab.panel_internals import handed
from pmdviz.lab.panels import widgets
from pmdviz.lab.panels.widgets import WIDE, Component, KnobForm, PlaybackBar, text
from pmdviz.lessons.lesson import Lesson
from pmdviz.lessons.progress import FORMAT
from pmdviz.lessons.reading import DEMOS, LESSONS, demo_link, practice_named
from pmdviz.methods import METHODS, Method, by_family, usual_target
from pmdviz.methods.step import COLUMNS
from pmdviz.pictures import Picture
from pmdviz.scenes import geometry as scene
from pmdviz.scenes import style
from pmdviz.scenes.trace_columns import GROUPS
from pmdviz.scenes.words import marked, typeset
from pmdviz.views.drawing import PictureFigure
from pmdviz.views.figures import DRAG_JS

SENTENCE = '<div class="pmdviz-heading" role="heading" aria-level="2">{}</div><p>{}</p>'


class PlainPage(Page):
    """A page with a heading and a sentence above a component; `name` is its class in style sheets."""

    def __init__(self, heading: str, sentence: str, component: Component, name: str) -> None:
        words = SENTENCE.format(html.escape(heading), marked(html.escape(sentence)))
        above = text(words, stylesheets=[css.TEXT, css.static("pages.css", "above")])
        self.view = pn.Column(above, component, css_classes=[name], **WIDE)
        self.foot = pn.Row(margin=0)  # nothing plays here


# Cards of the lessons by topic, of the tuning challenges and of the practice.

LESSONS_FIRST = "Predict what a run will do, then watch it"
HOW = (
    "A wrong prediction teaches as much as a right one. After a lesson your own run comes back. "
    "Your progress is saved in this browser only."
)
CHALLENGES = "Challenges: reach a goal within a budget"
PRACTICE = Lesson(
    "practice",
    "Keep or rerun?",
    "Judge twelve runs as you would in practice: without the exact posterior, on new cases each time.",
    "",
    (),
    minutes=30,
    topic="Practice",
    sketch="M10 22l10 12L40 6M58 8l26 26M84 8L58 34",
)


class LessonsList(Component):
    """The cards. The browser reads from its own storage how far a person is; the server does not learn it."""

    lessons = param.List(default=[], doc="Name, title, question, minutes, names of steps, topic and sketch of each.")
    demos = param.List(default=[], doc="Title, question and link of each; a link opens it in presenter mode.")
    format = param.Integer(default=FORMAT, doc="Of what the browser keeps.")
    looks = param.Integer(default=0, doc="Raised by the server: the page came into sight.")

    _esm = css.MAKE + css.static("lists.js", "lessons")
    _stylesheets = [css.component("pages.css", "lessons")]


class LessonsPage(PlainPage):
    """The list of the lessons; a page of the app."""

    def __init__(self) -> None:
        ordered = sorted(LESSONS.values(), key=lambda each: each.is_challenge)
        rows = [_lesson_row(each) for each in [*ordered, PRACTICE]]
        demos = [[demo.title, demo.question, demo_link(name)] for name, demo in DEMOS.items()]
        self.list = LessonsList(self._hear, lessons=rows, demos=demos)
        super().__init__(LESSONS_FIRST, HOW, self.list, "pmdviz-lessons")

    def _hear(self, message: Mapping[str, Json]) -> None:
        """Open a lesson in the lab; an unknown name is ignored."""
        name = message.get("lesson")
        name = f"practice-{secrets.randbelow(10**6)}" if name == PRACTICE.name else name
        lesson = (LESSONS.get(name) or practice_named(name)) if isinstance(name, str) else None
        if lesson is not None and self.on_open is not None:
            self.on_open("lab", lesson)

    def look(self, on: bool) -> None:
        """The browser reads the progress again when the page comes into sight."""
        if on:
            self.list.looks += 1


def _lesson_row(lesson: Lesson) -> list[Json]:
    topic = CHALLENGES if lesson.is_challenge else lesson.topic
    return [lesson.name, lesson.title, lesson.question, lesson.minutes, [*lesson.places], topic, lesson.sketch]


# What a method hands to the lab: itself, with the part of it that is to be seen.

UPDATES = {"weights": "reweight", "move": "move", "ratio": "move"}  # kind of an update -> the column that it shows
WEIGHTS = ("reweight", "resample")  # columns that the ESS and the ancestors show
TOLD = {  # term of "adapt" -> the number of a step that shows it
    "step size": "step_size",
    "kernel width": "length_scale",
    "temperatures": "temperature",
    "proposal": "components",
    "surrogate": "surrogate_ess",
    "stopping": "moving_ess",
    "preconditioner": "typical_move",
}


class Opening(NamedTuple):
    """A method that is to be run on the target that it is usually shown on."""

    method: str
    trace: str = ""  # key of the traces that show the lesson's metric; "" for the usual ones
    inside: bool = False  # whether the card "Inside this step" shows it

    def recipe(self) -> Recipe:
        """All at the defaults; for a worker thread, as some targets take a second."""
        return limits.fitted(Recipe(usual_target(self.method), self.method))


def opening(method: Method, column: str = "") -> Opening:
    """The run of a method with what shows a column of its grammar; "" for the method alone."""
    inside = method.update is not None and UPDATES[method.update.kind] == column
    return Opening(method.name, _trace(method, column), inside)


def _trace(method: Method, column: str) -> str:
    """The key of the traces with the column of a history that shows this one."""
    name = "ess" if column in WEIGHTS else ""
    if column == "adapt":
        names = {scalar.name for scalar in method.scalars}
        name = next((TOLD[term] for term in method.grammar["adapt"].terms if TOLD[term] in names), "")
    return next((key for key, group in GROUPS.items() if name in group.metrics), "")


# What every method does in a step, in terms that they share; a cell runs its method in the lab.

METHODS_FIRST = "What does each method do in one step?"
READ_IT = (
    "Read a row from left to right. Press a cell to run that method in the Lab and see that part. "
    "Choose in the head of a column to keep the methods that have it."
)
TAU_M = "τ\N{NO-BREAK SPACE}m"


class MethodsTable(Component):
    """The table; filters are the browser's own affair, and it says which cell was pressed."""

    columns = param.List(default=[], doc="Name, title, meaning and terms of each column; a term with its meaning.")
    families = param.List(default=[], doc="Title, and the rows: name, title and cells of each method.")

    _esm = css.MAKE + css.static("lists.js", "methods")
    _stylesheets = [css.static("pages.css", "methods")]


class MethodsPage(PlainPage):
    """The table of all methods; a page of the app."""

    def __init__(self) -> None:
        columns = [[name, name.title(), one.about, [*map(list, one.terms.items())]] for name, one in COLUMNS.items()]
        families = [[title, [_method_row(method) for method in methods]] for title, methods in by_family().items()]
        self.table = MethodsTable(self._hear, columns=columns, families=families)
        super().__init__(METHODS_FIRST, READ_IT, self.table, "pmdviz-methods")

    def _hear(self, message: Mapping[str, Json]) -> None:
        """A method's name and a column's, "" for the method itself; anything else is what a browser made up."""
        method, column = message.get("method"), message.get("column")
        if isinstance(method, str) and isinstance(column, str) and method in METHODS and column in ("", *COLUMNS):
            self.pick(method, column)

    def pick(self, method: str, column: str) -> None:
        """Run a method, with what shows a column of its grammar."""
        if self.on_open is not None:
            self.on_open("lab", opening(METHODS[method], column))


def _method_row(method: Method) -> list[Json]:
    """Name, title, and of each cell the terms and the remark."""
    cells = [[list(cell.terms), cell.remark.replace("τ m", TAU_M)] for cell in method.grammar.values()]
    return [method.name, method.title, cells]


# The Geometry page: why a step multiplies instead of adding, and why the forward KL falls by at least γ.

AROUND = {"left": 16, "right": 16, "bottom": 8, "top": 32}  # px; the triangle has no axes
CHART = {**style.BORDERS, "right": 20, "top": 32}
ASPECT = 1.115  # of the triangle's figure, borders and legend included: so its sides are equal
CHART_PX = 240  # px of the two charts
TIGHT = {"glyph_width": 18, "spacing": 8, "label_standoff": 3}  # px: a phone is narrow


Drawn = Callable[[scene.Geometry], Picture]


class GeometryView(PictureFigure):
    """The figure of one of the three pictures."""

    def __init__(self, name: str, picture: Drawn, borders: dict = CHART, **look: Any) -> None:
        self._of, first = picture, picture(scene.Geometry(scene.GeometryKnobs()))
        super().__init__(f"geometry-{name}", first, css_classes=[f"pmdviz-geometry-{name}"], borders=borders, **look)
        self.legend.update(**TIGHT)

    def show(self, geometry: scene.Geometry) -> None:
        """Draw a setting."""
        self.draw_picture(self._of(geometry))


class TriangleView(GeometryView):
    """Distributions over three states as points of a triangle, with both paths."""

    def __init__(self) -> None:
        # The charts' frames are in one column, this one has no axes.
        super().__init__("triangle", scene.triangle_picture, AROUND, aspect_ratio=ASPECT, frame_align=False)
        self.dragged = ColumnDataSource({"x": [], "y": []}, name="dragged")
        args = {"figure": self.figure, "start": self.sources["start"], "dragged": self.dragged}
        for event in ("panstart", "pan", "panend"):
            self.figure.js_on_event(event, CustomJS(args=args, code=DRAG_JS))


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
    said = scene.mirror_words(geometry), scene.gradient_words(geometry)
    return FORMULA.format(scene.formula(geometry)) + "".join(f"<p>{words}</p>" for words in said)


BUTTONS = {**widgets.BUTTONS, "Back": "back"}
EVERY_MS = 700  # between two steps while it plays


class GeometryPage(Page):
    """Three sliders, and what they do to both paths; a page of the app. It is computed again when a value changes."""

    keys: ClassVar[Mapping[str, str]] = {"space": "toggle", "right": "step", "left": "back", "R": "restart"}

    def __init__(self) -> None:
        charts = {"density": scene.density_picture, "kl": scene.kl_picture}
        triangle = TriangleView()
        views = {name: GeometryView(name, picture, height=CHART_PX) for name, picture in charts.items()}
        self.views: dict[str, GeometryView] = {"triangle": triangle, **views}
        self.knobs = scene.GeometryKnobs.defaults()
        self._usual = self.knobs.as_dict()
        self._moved: np.ndarray | None = None
        self._playing: PeriodicCallback | None = None
        self.playback = PlaybackBar(self._act, lambda pace: None, buttons=BUTTONS)
        self.foot = self.playback.view
        self.playback.speed.visible = False  # it has one pace
        self.ack = make_acknowledge(triangle.figure, name="geometry-acknowledge")
        self.ack.on_change("presses", handed(lambda attr, old, new: self._press(self.ack.key)))
        # The browser has built the figures: from the next frame on it tells of keys.
        triangle.figure.on_change("inner_width", handed(lambda attr, old, new: self.ack.update(sent=self.ack.sent + 1)))
        triangle.dragged.on_change("data", handed(lambda attr, old, new: self._drag(new)))
        self._make_view()
        self._show()

    def _make_view(self) -> None:
        sheets = [css.TEXT, *(css.static("pages.css", name) for name in ("race_heading", "geometry_words"))]
        parts = {"question": QUESTION, "found": "", "captions": explanation()}
        words = {n: text(said, css_classes=[f"pmdviz-geometry-{n}"], stylesheets=sheets) for n, said in parts.items()}
        look = {"css_classes": ["pmdviz-geometry-settings"], "stylesheets": [css.static("pages.css", "geometry_form")]}
        self.form, self.found = KnobForm(self._turn, **look), words["found"]
        figures = [pn.pane.Bokeh(view.figure, **WIDE) for view in self.views.values()]
        look = {"css_classes": ["pmdviz-geometry"], "stylesheets": [css.static("pages.css", "geometry")]}
        self.view = pn.Column(words["question"], self.form, *figures, self.found, words["captions"], **look, **WIDE)

    # A page of the app

    def look(self, on: bool) -> None:
        """The page is to be seen, or no longer: then it does not play, and the keys are another's."""
        super().look(on)
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
        self.form.show(self.knobs, self._usual)
        self.playback.tell(ready=True, done=self.knobs.steps == scene.MOST_STEPS, at_start=self.knobs.steps == 0)

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
        self._playing = pn.state.add_periodic_callback(self._tick, period=EVERY_MS)
        self.playback.tell(playing=True)

    def _tick(self) -> None:
        self._go(self.knobs.steps + 1)
        if self.knobs.steps == scene.MOST_STEPS:
            self.pause()

    def pause(self) -> None:
        """Stand still."""
        playing, self._playing = self._playing, None
        if playing is not None:
            playing.stop()
        self.playback.tell(playing=False)
