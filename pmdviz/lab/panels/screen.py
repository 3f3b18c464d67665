"""The whole screen of a lab, and how a snapshot gets onto it, without touching a session."""

from __future__ import annotations

import html
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic

import panel as pn
import param
from bokeh.models import CustomJS, Div, Plot
from panel.custom import JSComponent

from pmdviz.engine.frame import Frame
from pmdviz.files import Json
from pmdviz.lab import css
from pmdviz.lab.loop.frame_sender import FrameSender, make_acknowledge, write_words
from pmdviz.lab.loop.live import Throttle
from pmdviz.lab.loop.runner import Shown, Snapshot, glide_ms
from pmdviz.lab.panel_internals import handed
from pmdviz.lab.panels.lesson_places import NO_VEIL, Veil
from pmdviz.lab.panels.lesson_places import SECOND as LATER
from pmdviz.lab.panels.setup import PictureControls
from pmdviz.lab.panels.sharing import Actions
from pmdviz.lab.panels.status import status_fields, status_html, waiting_fields
from pmdviz.lab.panels.widgets import WIDE, Card, PlaybackBar, select, small_button, update
from pmdviz.methods import Method, MethodKnobs
from pmdviz.metrics import METRICS
from pmdviz.presets import PRESETS
from pmdviz.scenes import data_columns, style, trace_columns
from pmdviz.scenes import words as introduction
from pmdviz.scenes.columns import EMPTY_LINE, Source, StageColumns
from pmdviz.scenes.stage import LAYERS, LEGEND_ORDER
from pmdviz.scenes.trace_columns import GROUPS, columns_due
from pmdviz.scenes.words import INDEPENDENT_DRAWS, number
from pmdviz.targets import Target
from pmdviz.views import DataView, StageView, TracesView, figures
from pmdviz.views.drawing import PictureFigure

if TYPE_CHECKING:
    from pmdviz.lab.page import LivePage

# The words above the picture: the question, and a sentence.


class Heading(JSComponent):
    """The words above a lab, with the dialog that explains it and the tour."""

    title = param.String(default="")
    question = param.String(default="", doc="Of the preset, or of the teacher.")
    watch = param.String(default="", doc="What to look at, of the preset.")
    sentence = param.String(default="")
    told = param.Dict(default={}, doc="The words of the dialog that explains the method and the target.")
    opens = param.Integer(default=0, doc="Raised by the server to open that dialog.")

    _esm = css.DIALOG + css.static("page.js", "heading", "tour")
    _stylesheets = [css.static("lab.css", "heading")]

    def __init__(self, **params: Any) -> None:
        super().__init__(css_classes=["pmdviz-heading"], **WIDE, **params)
        self._shown: tuple[Method, MethodKnobs, Target, str] | None = None

    def explain(self) -> None:
        """Open the dialog that explains the method and the target."""
        self.opens += 1

    def show(self, method: Method, knobs: MethodKnobs, target: Target, preset: str = "") -> None:
        """The words on a method, its knobs and a target, with the question of a preset; nothing where they stay."""
        if (shown := (method, knobs, target, preset)) == self._shown:
            return
        self._shown = shown
        words, asked = introduction.sentence(method, knobs, target), PRESETS.get(preset)
        self.param.update(
            title=method.title,
            question=asked.question if asked else "",
            watch=f"Watch: {asked.watch}" if asked else "",
            sentence=f"{words} {introduction.PLAY}",
            told=introduction.explanation(method, target),
        )


# The distance to the posterior: a number that moves with each frame.


NO_NUMBER = '<div class="number"><span class="value"></span> <span class="floor"></span></div>'


def number_fields(snapshot: Snapshot, group: trace_columns.Group) -> dict[str, str]:
    """The first column of a group now, and the value of independent draws; "" for a number that was not computed."""
    frame, name = snapshot.frame, next(iter(group.metrics))
    value = None
    if name not in METRICS:  # a number of the step, which costs nothing
        value = frame.row(frozenset(METRICS)).get(name)
    elif name in columns_due(GROUPS[snapshot.traces]):
        value = frame.metric(name)
    floor = frame.floors.get(next(iter(group.floors), ""))
    beside = "" if floor is None else f"{INDEPENDENT_DRAWS} {number(floor)}"
    return {"value": "" if value is None else number(value), "floor": beside}


# The legend of the stage, which switches its layers.

GHOST = "ghost"  # of another run, which no scene draws
SAMPLES = {"exact": "line", "approximate": "dashes", "prior": "points", "paths": "line", "ghost": "ghost"}  # else a dot
COLOURS = {"paths": style.PATH_COLOURS[0], "others": "ink"}  # else the layer's own


class LayerSwitches:
    """A check box for each layer that the scene draws, which looks like the layer: for pointer, finger and keyboard.

    Each is a group of one, since Bokeh's lone check box has no label that a screen reader could read.
    `show` hears which layers are to be seen, and `colours` gives a theme's colours. A layer that another scene does not
    draw stays as it was. Options are a list, the words themselves: Panel takes the labels that a browser tells back for
    options, and the labels of a mapping would then be lost.
    """

    def __init__(self, show: Callable[[list[str]], None], colours: Callable[[bool], Mapping[str, str]]) -> None:
        self._show, self._colours = show, colours
        self._named: Mapping[str, str] = {}
        self.boxes = {name: self._box(name) for name in (*LEGEND_ORDER, GHOST)}
        self.view = pn.Row(*self.boxes.values(), css_classes=["pmdviz-legend"], margin=0, stylesheets=[css.LEGEND])
        self.key = pn.pane.HTML("", css_classes=["pmdviz-key"], stylesheets=[css.KEY], margin=0)  # over the stage

    def _turned(self) -> None:
        self._show([name for name in (*LAYERS, GHOST) if self.boxes[name].value])
        self._write_key()

    def _box(self, name: str) -> pn.widgets.CheckBoxGroup:
        look: dict[str, Json] = {"margin": 0, "css_classes": [_sample(name)], "stylesheets": [css.LAYER]}
        box = pn.widgets.CheckBoxGroup(options=[name], value=[name], inline=True, visible=False, **look)
        box.param.watch(handed(lambda event: self._turned()), "value")
        return box

    def name(self, words: Mapping[str, str]) -> None:
        """Take the words of a legend; a mark without one is not drawn."""
        if words == self._named:  # as in most frames
            return
        self._named = dict(words)
        for name, box in self.boxes.items():
            options = [words[name]] if name in words else box.options
            if (box.options, box.visible) != (options, name in words):
                box.param.update(options=options, value=options if box.value else [], visible=name in words)
        self._write_key()

    def _write_key(self) -> None:
        """The words and colours of the layers over the stage, with nothing to press."""
        words = ""
        for name, box in self.boxes.items():
            if box.visible and box.value:
                colour = box.styles.get("--colour", "#888")
                sample = f'<span class="{_sample(name)}" style="--colour:{colour}"><i></i>'
                words += f"{sample}{html.escape(box.options[0])}</span>"
        update(self.key, object=words)

    def set_theme(self, dark: bool, presenter: bool) -> None:
        """Colours and size of the letters."""
        colours, px = self._colours(dark), style.PRESENTER_PX if presenter else style.TEXT_PX
        for name, box in self.boxes.items():
            box.styles = {"--colour": colours[COLOURS.get(name, name)]}
        self.view.styles = self.key.styles = {"--text": style.theme(dark).text, "--px": f"{px}px"}
        self._write_key()


def _sample(name: str) -> str:
    """The class of the sample of a layer."""
    return f"sample-{SAMPLES.get(name, 'dot')}"


SECOND = "kl"  # the traces below the first ones
NUMBER_JS = css.static("page.js", "number")
NOTE_S = 0.8  # a rejuvenation is shown on the stage for so long, not for one frame of 30 ms
TRACES_S = 0.2  # a second figure costs the browser half as much again; the eye does not miss it
DATA = {"Data and predictions": "data"}  # title -> key, in addition to the traces'
IMAGE_S = 0.1  # an image behind the lines repaints the axes too


class LiveScreen(Generic[Shown]):
    """What the screens of a run and of a race have in common: the status, frames to the browser, a line of words."""

    view: pn.Column
    playback: PlaybackBar
    traces: Any  # the first and the second traces
    second: Any
    switches: LayerSwitches
    _tell: Callable[[Shown, bool], None]  # the status of a moment, and whether it plays
    _place: Callable[[float], int | None]  # on the time line, at a place on the axis of the traces; None before the run
    _visit: Callable[[int, bool], None] = staticmethod(lambda place, roughly: None)

    def __init__(self, page: LivePage) -> None:
        self.playback, self.floor, self.picture = page.playback, page.floor, PictureControls(page.look_at)
        self._look_at_traces = page.newest("look at traces", "traces")

    def _connect(
        self, starting: str, sheet: str, main: PictureFigure, packed: Sequence[Source], marks: Source | None, **ack: Any
    ) -> None:
        """Make the status, which says `starting`, and the sender of frames, with columns of the `packed` sources."""
        figure = main.figure
        self.status = Div(text=status_html(starting), stylesheets=[sheet], css_classes=["pmdviz-statusbar"], **WIDE)
        self.ack = make_acknowledge(figure, sources=packed, status=self.status, marks=marks, **ack)
        self.sender = FrameSender(self.ack, packed)
        self.extra, self._main, self._marks = "", figure, frozenset[str]()
        main.put = self.traces.put = self.second.put = self.sender.put
        for view in (self.traces, self.second):  # a click on these goes there
            view.figure.on_event("tap", handed(self._tapped))

    def on_visit(self, visit: Callable[[int, bool], None]) -> None:
        """Hear where a person goes: on the time line roughly while they drag, on the traces by a click."""
        ack, self._visit = self.ack, visit
        ack.on_change("places", handed(lambda attr, old, new: visit(ack.place, not ack.exactly)))

    def _tapped(self, event: Any) -> None:
        place = None if event.x is None else self._place(event.x)
        if place is not None:
            self._visit(place, False)

    def _choose_clock(self, clock: str) -> None:
        """Put all traces against another clock."""
        for view in (self.traces, self.second):
            view.choose(clock=clock)

    def wait(self, words: str) -> None:
        """Describe the work before the first picture."""
        self.sender.say(waiting_fields(words))

    def say(self, shown: Shown | None, words: str, playing: bool) -> None:
        """Put a line of words under the state."""
        self.extra = words
        if shown is None:
            self.wait(words)
        else:
            self._tell(shown, playing)

    def dim(self, on: bool) -> None:
        """Fade the old picture while a new one is being made."""
        figures.dim(self._main, on)

    def mark(self, name: str, on: bool) -> None:
        """Give the whole a class, or take it away: "pmdviz-with-sheet" makes room for a sheet on the right."""
        self._marks = self._marks - {name} | ({name} if on else set())
        update(self.view, css_classes=[self.view.css_classes[0], *sorted(self._marks)])

    def _dress(self, dark: bool, presenter: bool, *views: Any) -> None:
        """Theme and size of the labels of some views, the legend and the status."""
        self._look = dark, presenter
        for view in (self.traces, self.second, *views):
            if view is not None:
                view.set_theme(dark, presenter)
        self.switches.set_theme(dark, presenter)
        update(self.status, css_classes=["pmdviz-statusbar", *["pmdviz-large"] * presenter])


class Screen(LiveScreen[Snapshot]):
    """Stage, traces and status in one responsive layout."""

    def __init__(self, page: LivePage, target: Target, cards: Iterable[Card], keyboard: bool = False) -> None:
        super().__init__(page)
        self.stage = StageView(target, legend=False)  # the switches are its legend
        self.traces, self.second = TracesView(), TracesView(SECOND)
        self.second.figure.name = "second_traces"
        self.veil = NO_VEIL  # of a lesson
        self.data: DataView | None = None  # made when it is first chosen: every page would have to carry it
        self._look_at_data = page.newest("look at data", "with_data")
        self.on_data_view: Callable[[DataView], None] = lambda view: None  # hears when it is made
        self.on_data: Callable[[bool], None] = lambda on: None  # hears whether the data are shown
        self.on_words: Callable[[str], None] = lambda words: None  # hears the words of the status
        packed = [self.stage.sources[name] for name in ("particles", "approximate", "paths")]
        packed += [view.sources["traces"] for view in (self.traces, self.second)]  # the columns of the run
        self.number = Div(text=NO_NUMBER, stylesheets=[css.NUMBER], css_classes=["pmdviz-number"])
        self._place = self.traces.iteration_at
        self._connect("Starting", css.IN_TRANSPORT, self.stage, packed, self.traces.sources["marks"], keyboard=keyboard)
        write_words(self.ack, CustomJS(args={"a": self.ack, "number": self.number}, code=NUMBER_JS))
        self.actions = Actions(self.ack, self.stage.figure, lambda: page.last)
        self.switches = LayerSwitches(self.stage.toggle, lambda dark: style.theme(dark).layers)
        self.switches.name(self.stage.words)
        self.heading = Heading()
        self.verdict = pn.Column(css_classes=["pmdviz-verdict-room"], **WIDE)  # the page puts its verdict there
        stage = pane_of(self.stage.figure, "pmdviz-stage")
        parts = self.heading, stage, self.switches.key, *self._traces(), self.verdict, *(card.view for card in cards)
        self.view = pn.Column(*parts, stylesheets=[css.LAB], css_classes=["pmdviz-lab"], **WIDE)
        self.playback.room.append(pn.pane.Bokeh(self.status, **WIDE))
        self._note, self._note_until = "", 0.0
        self._image_pace, self._traces_pace = Throttle(IMAGE_S), Throttle(TRACES_S)
        self._offered: tuple[tuple, str, str, str] | None = None
        self._seen: tuple[Snapshot, bool] | None = None  # the last one shown, and whether it plays
        self._preset, self._counted = "", ""  # of the run that is shown
        self.wished: tuple[str, str] | None = None  # method, and the traces that its next run is to show
        self._due = columns_due(GROUPS[self.traces.group])  # what the run computes for the traces
        self.set_theme(dark=False, presenter=False)

    def _traces(self) -> list[pn.viewable.Viewable]:
        """The distance with its traces, and the second traces, whose titles are menus; and other choices."""
        title: dict[str, Json] = {"margin": 0, "sizing_mode": None, "width": 230, "stylesheets": [css.TITLE]}
        self.group = select("Traces", _titles(GROUPS), self._choose, css_classes=["pmdviz-title"], **title)
        self.below = select("Second traces", _titles(GROUPS), self.second.choose, value=SECOND, **title)
        clocks = {words: clock for clock, words in trace_columns.CLOCKS.items()}
        self.clock = select("x-axis", clocks, self._choose_clock)
        self.options = pn.Column(*self.picture.widgets, self.clock, css_classes=["pmdviz-options"], **WIDE)
        self.options.append(small_button("Reset view", self.stage.follow, margin=(4, 0)))
        look = {"stylesheets": [css.TRACES], **WIDE}
        top = pn.Row(self.group, pn.pane.Bokeh(self.number, **WIDE), css_classes=["pmdviz-distance"], **look)
        self.first = pn.Column(pane_of(self.traces.figure, "pmdviz-traces"), css_classes=["pmdviz-first"], **look)
        below = self.below, pane_of(self.second.figure, "pmdviz-traces")
        return [top, self.first, pn.Column(*below, css_classes=["pmdviz-second"], **look)]

    def show(self, snapshot: Snapshot, playing: bool, pause_s: float = 0.0) -> None:
        """Draw a snapshot; while it plays slowly the dots have until the next one, `pause_s` seconds from now."""
        self._seen = snapshot, playing
        with self.sender.together():
            self.follow(snapshot)
            self._offer(snapshot)
            columns = self.veil.columns(self._moving(snapshot, pause_s if playing else 0.0), snapshot.scene)
            with_image = self._image_pace.is_due(time.monotonic(), playing)
            self.stage.draw(columns, self._noted(snapshot, playing), with_image)
            self.stage.draw_below(GHOST, snapshot.ghost.approximate if snapshot.ghost else EMPTY_LINE)
            self._trace(snapshot, playing)
            self._show_data(snapshot)
            self._tell(snapshot, playing)
        at_start, ended = snapshot.frame.iteration == 0, bool(snapshot.ended)
        self.playback.tell(ready=True, done=snapshot.done, at_start=at_start, ended=ended)
        self.dim(False)

    def _moving(self, snapshot: Snapshot, pause_s: float) -> StageColumns:
        """The columns, with where the dots come from if their move is visible."""
        columns, rows, ms = snapshot.columns, snapshot.origins, glide_ms(pause_s)
        seen = ms > 0 and rows is not None and len(rows) == columns.drawn
        if not seen:
            self.land()
            return columns
        self.ack.glide = ms
        return columns._replace(particles={**columns.particles, "origin": rows})

    def land(self) -> None:
        """Have the dots that are under way be where the last frame has them."""
        if self.ack.glide:
            self.ack.glide = 0

    def follow(self, snapshot: Snapshot) -> None:
        """Take ranges and names from another target or scene; the same ranges keep the user's zoom."""
        target, seen = snapshot.frame.target, self.stage.target
        scene, pair = snapshot.scene, snapshot.pair

        def framed(one: Target) -> tuple:
            """What the axes say and hold."""
            return one.name, one.parameter_names, scene.axes(one, pair, 1.0)

        same = (scene, pair) == (self.stage.scene, self.stage.pair)
        if not same or (target is not seen and framed(target) != framed(seen)):
            self.stage.look_at(target, scene, pair, snapshot.frame.method)
        self.stage.target = target
        self.stage.name_layers(snapshot.frame.method)
        beside = {GHOST: snapshot.ghost.name} if snapshot.ghost else {}
        self.switches.name(self.veil.names({**self.stage.labels(snapshot.columns), **beside}))
        self.picture.show(target, [snapshot.frame.method], snapshot.scene, snapshot.pair)

    def _offer(self, snapshot: Snapshot) -> None:
        """Offer the traces available for the target and the method; unavailable traces are not in the menu."""
        frame, preset = snapshot.frame, snapshot.preset
        pair = frame.target.key, frame.method.name, frame.budget_unit, preset
        wished = None
        if self.wished is not None and self.wished[0] == frame.method.name:
            wished, self.wished = self.wished[1], None
        if pair != self._offered or wished is not None:
            self._offer_clocks(frame)
            turned = wished is not None or preset != self._preset
            self._offered, self._preset = pair, preset
            found = GROUPS.of(frame.target, frame.method)
            found = {key: group for key, group in found.items() if self.veil.offers(group.metrics)} or found
            with_data = data_columns.applies(frame.target) and "exact" not in self.veil.parts
            titles = _titles(found) | (DATA if with_data else {})
            usual = wished if wished is not None else PRESETS[preset].trace if preset in PRESETS else ""
            stays = not turned and self.group.value in titles.values()
            other = usual if usual in found else trace_columns.first_group(found)
            self.group.param.update(options=titles, value=self.group.value if stays else other)
            self._offer_second(found)

    def _offer_second(self, found: Mapping[str, trace_columns.Group]) -> None:
        """Other traces than the first ones, below them; the same as before where the target has them."""
        others = [key for key in (self.below.value, SECOND, trace_columns.first_group(found), *found) if key in found]
        alone = self.veil.parts & {"traces", LATER}  # in a lesson others might answer its next question
        chosen = None if alone else next((key for key in others if key != self.group.value), None)
        self.below.param.update(options=_titles(found), value=chosen, visible=chosen is not None)
        self.second.figure.css_classes = shown("pmdviz-traces", chosen is not None)

    def _choose(self, name: str) -> None:
        """Another axis of the traces, or the data in their place."""
        wanted = name in DATA.values()
        if wanted != self._with_data:
            self._look_at_data(wanted)
        if wanted and self.data is None:
            self.data = DataView()
            self.data.set_theme(*self._look)
            self.on_data_view(self.data)
            self.first.append(pane_of(self.data.figure, "pmdviz-traces"))
        if self.data is not None:
            self.data.figure.css_classes = shown("pmdviz-traces", wanted)
            self.traces.figure.css_classes = shown("pmdviz-traces", not (wanted or "traces" in self.veil.parts))
        if not wanted:
            self.traces.choose(group=name)
            self._ask()
            if self._seen is not None:
                self._tell(*self._seen)  # the number is of the chosen traces
        self.on_data(wanted)

    def _ask(self) -> None:
        """Have the traces that are shown computed, of a run that does not know yet which these are."""
        if not self._due.issuperset(GROUPS[self.traces.group].metrics):
            self._look_at_traces(self.traces.group)

    @property
    def _with_data(self) -> bool:
        """Whether the data are shown instead of the traces."""
        return self.data is not None and css.HIDDEN not in self.data.figure.css_classes

    def _show_data(self, snapshot: Snapshot) -> None:
        """The data as the last step saw them; a run that was begun meanwhile does not know yet that they are shown."""
        if self.data is not None and self._with_data:
            if snapshot.data is None:
                self._look_at_data(True)
            else:
                self.data.show(snapshot.data)

    def _offer_clocks(self, frame: Frame) -> None:
        """Those that the target has; a run that counts in another one shows that."""
        with_data = frame.target.data is not None  # else there are none to be visited
        clocks = {words: clock for clock, words in trace_columns.CLOCKS.items() if clock != "visited" or with_data}
        counted = frame.method.clock or trace_columns.CLOCK_OF[frame.budget_unit]
        turned = self._counted != counted or self.clock.value not in clocks.values()
        self._counted = counted
        self.clock.param.update(options=clocks, value=counted if turned else self.clock.value)

    def _noted(self, snapshot: Snapshot, playing: bool) -> str:
        info, now = snapshot.frame.info, time.monotonic()
        if info is not None and info.rejuvenated:
            self._note, self._note_until = f"new particles: {info.rejuvenated}", now + NOTE_S
        elif not playing or now > self._note_until:
            self._note = ""
        return self._note or self.veil.note(snapshot.frame.caveat.partition(":")[0])

    def _trace(self, snapshot: Snapshot, playing: bool) -> None:
        """Every frame drawn so far; while playing a few times per second."""
        self._due = columns_due(GROUPS[snapshot.traces])
        self._ask()
        if "traces" in self.veil.parts or not self._traces_pace.is_due(time.monotonic(), playing):
            return
        floors = snapshot.frame.floors if snapshot.frame.num_draws else {}
        budget = trace_columns.budget_drawn(snapshot.frame, snapshot.recipe.budget)
        unit, expected = snapshot.recipe.budget_unit, snapshot.frame.method.marks
        points, at, ghost = snapshot.points.of, snapshot.frame.iteration, snapshot.ghost
        here = at if at < snapshot.last else None
        standing = trace_columns.Standing(here, ghost and ghost.points.of, ghost.name if ghost else "")
        self.traces.show(points, floors, snapshot.marks, budget, unit, expected, standing)
        self.second.show(points, floors, (), budget, unit, (), standing)  # the marks are above it
        self._traces_pace.done(time.monotonic())

    def say(self, shown: Snapshot | None, words: str, playing: bool) -> None:
        """Put a line of words under the state."""
        super().say(shown, words, playing)
        self.on_words(words)

    def _tell(self, shown: Snapshot, playing: bool) -> None:
        """The status, and the number, as far as a lesson lets them be seen; the verdict alone is read out."""
        fields = self.veil.fields(status_fields(shown, self.extra, playing, self.floor.words), shown.frame)
        hidden = self.veil.parts & {"exact", "numbers"}
        numbers = {} if hidden else number_fields(shown, GROUPS[self.traces.group])
        self.sender.say({**fields, **numbers, "live": "off"})

    def hide(self, veil: Veil) -> None:
        """Show no more of the next pictures than a lesson lets be seen."""
        if veil.parts != self.veil.parts:
            self.veil, self._offered = veil, None
            self.traces.figure.css_classes = shown("pmdviz-traces", not ("traces" in veil.parts or self._with_data))

    def set_theme(self, dark: bool, presenter: bool) -> None:
        """Theme and size of the labels."""
        self._dress(dark, presenter, self.stage, self.data)
        self.ack.presenter = presenter
        update(self.heading, css_classes=["pmdviz-heading", *["pmdviz-large"] * presenter])
        self.mark("pmdviz-large", presenter)


def pane_of(figure: Plot, name: str) -> pn.pane.Bokeh:
    """A pane with a figure, which has the class `name`."""
    figure.css_classes = [name]  # on the figure: a Bokeh pane has no element of its own
    return pn.pane.Bokeh(figure, **WIDE)


def shown(name: str, on: bool) -> list[str]:
    """Classes of a figure that is there to be seen, or not."""
    return [name] if on else [name, css.HIDDEN]


def _titles(groups: Mapping[str, trace_columns.Group]) -> dict[str, str]:
    """Title -> key, for a menu."""
    return {group.title: key for key, group in groups.items()}
