"""Everything one sees of a lab, and how a snapshot gets onto it. No session is touched here."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import panel as pn
import param
from bokeh.models import Div
from panel.custom import JSComponent

from pmdviz.lab import css
from pmdviz.lab.controls.setup import PictureControls
from pmdviz.lab.controls.sharing import Actions
from pmdviz.lab.controls.widgets import WIDE, PlaybackBar, select, small_button, text
from pmdviz.lab.loop.frame_sender import FrameSender, make_acknowledge
from pmdviz.lab.loop.live import Throttle
from pmdviz.lab.loop.locked import handed
from pmdviz.lab.loop.runner import Snapshot, glide_ms
from pmdviz.lab.loop.work import FloorWork
from pmdviz.lab.panels.cards import Card
from pmdviz.lab.panels.lesson_places import NO_VEIL, Veil
from pmdviz.lab.panels.status import NO_PAST, fields_html, status_fields, waiting_fields
from pmdviz.presets import PRESETS
from pmdviz.scenes import data_columns, style
from pmdviz.scenes import words as introduction
from pmdviz.scenes.columns import EMPTY_LINE, StageColumns
from pmdviz.scenes.stage import LAYERS, LEGEND_ORDER, Pair, Scene, SceneChoice
from pmdviz.scenes.trace_columns import (
    CLOCKS,
    GROUPS,
    Group,
    Standing,
    budget_drawn,
    clocks_of,
    columns_due,
    first_group,
    usual_clock,
)
from pmdviz.scenes.words import row as glossary_row
from pmdviz.targets import Target
from pmdviz.views import DataView, StageView, TracesView, figures
from pmdviz.views.stage import LinesBelow

# What stands above the picture: title, question and one sentence; what it is, the tour, the exports.


class Heading(JSComponent):
    """The words above a lab; `tour` says whether the page has all the parts that the buttons lead to."""

    title = param.String(default="")
    question = param.String(default="", doc="Of the preset, or of the teacher.")
    watch = param.String(default="", doc="What to look at, of the preset.")
    sentence = param.String(default="")
    told = param.Dict(default={}, doc='What "What is this?" opens.')
    tour = param.Boolean(default=False)
    essay = param.String(default="", doc="Where the essay is served; nowhere by default.")

    _esm = css.MAKE + css.static("page.js", "heading", "tour")
    _stylesheets = [css.static("lab.css", "heading")]

    def __init__(self, **params: Any) -> None:
        super().__init__(css_classes=["pmdviz-heading"], **WIDE, **params)
        self._shown: tuple[Any, ...] = ()

    def show(self, method: Any, knobs: Any, target: Any, preset: str = "") -> None:
        """The words on a method, its knobs and a target, with the question of a preset; nothing where they stay."""
        shown = method, knobs, target, preset
        if len(self._shown) and all(a is b or a == b for a, b in zip(shown, self._shown, strict=True)):
            return
        self._shown = shown
        told = introduction.explanation(method, target)
        words, asked = introduction.sentence(method, knobs, target), PRESETS.get(preset)
        self.param.update(
            title=method.title,
            question=asked.question if asked else "",
            watch=f"Watch: {asked.watch}" if asked else "",
            sentence=f"{words} {introduction.PLAY}",
            told={**told._asdict(), "sentences": list(told.sentences)},
        )


# The legend of the stage, which switches its layers.

GHOST = "ghost"  # of another run, which no scene knows of
SAMPLES = {"exact": "line", "approximate": "dashes", "prior": "points", "paths": "line", "ghost": "ghost"}  # else a dot
COLOURS = {"paths": style.PATH_COLOURS[0], "others": "ink"}  # else the layer's own


class LayerSwitches:
    """A check box for each layer that the scene draws, which looks like the layer: for pointer, finger and keyboard.

    Each is a group of one, since Bokeh's lone check box has no label that a screen reader would know of.
    `show` hears which layers are to be seen. A layer that another scene does not draw stays as it was. Options are a
    list, the words themselves: Panel takes the labels that a browser tells back for options, and those of a mapping
    would then be lost.
    """

    def __init__(self, show: Callable[[list[str]], None]) -> None:
        self._show = show
        self.boxes = {name: self._box(name) for name in (*LEGEND_ORDER, GHOST)}
        self.view = pn.Row(*self.boxes.values(), css_classes=["pmdviz-legend"], margin=0, stylesheets=[css.LEGEND])
        for box in self.boxes.values():
            box.param.watch(handed(lambda event: show(self.seen)), "value")

    def _box(self, name: str) -> Any:
        sample = f"sample-{SAMPLES.get(name, 'dot')}"
        look: dict[str, Any] = {"margin": 0, "css_classes": [sample], "stylesheets": [css.LAYER]}
        return pn.widgets.CheckBoxGroup(options=[name], value=[name], inline=True, visible=False, **look)

    @property
    def seen(self) -> list[str]:
        """The layers that are to be seen."""
        return [name for name in LAYERS if self.boxes[name].value]

    def name(self, words: Mapping[str, str]) -> None:
        """Take the words of a legend; what has none is not drawn."""
        for name, box in self.boxes.items():
            options = [words[name]] if name in words else box.options
            if (box.options, box.visible) != (options, name in words):
                box.param.update(options=options, value=options if box.value else [], visible=name in words)

    def set_theme(self, dark: bool, presenter: bool) -> None:
        """Colours and size of the letters."""
        colours = style.theme(dark)
        px = style.PRESENTER_PX if presenter else style.TEXT_PX
        self.view.styles = {"--text": colours.text, "--px": f"{px}px"}
        for name, box in self.boxes.items():
            box.styles = {"--colour": colours.layers[COLOURS.get(name, name)]}


NOTE_S = 0.8  # a rejuvenation is said on the stage for so long, not for one frame of 30 ms
TRACES_S = 0.2  # a second figure costs the browser half as much again; the eye does not miss it
DATA = {"Data and predictions": "data"}  # title -> key, beside those of the traces
IMAGE_S = 0.1  # an image behind the lines repaints the axes too


class Screen:
    """Stage, traces and status in one responsive layout."""

    def __init__(
        self,
        target: Any,
        playback: PlaybackBar,
        cards: Iterable[Card],
        floor: FloorWork,
        last: Callable[[], Snapshot | None],
        choose: Callable[[SceneChoice], None],
        look_at_data: Callable[[bool], None],
        look_at_traces: Callable[[str], None],
        keyboard: bool = False,
    ) -> None:
        self.stage, self.traces = StageView(target, legend=False), TracesView()  # the switches are its legend
        self.ghost = LinesBelow(self.stage.figure, "ghost", "ghost")
        self.veil = NO_VEIL  # of a lesson
        self.data: DataView | None = None  # made when it is first chosen: every page would have to carry it
        self._look_at_data, self._look_at_traces = look_at_data, look_at_traces
        self.on_data_view: Callable[[DataView], None] = lambda view: None  # hears when it is made
        self.on_data: Callable[[bool], None] = lambda on: None  # hears whether the data are shown
        self.playback, self.floor = playback, floor
        starting = fields_html(waiting_fields("Starting") | NO_PAST)
        self.status = Div(text=starting, stylesheets=[css.STATUS], css_classes=["pmdviz-statusbar"], **WIDE)
        packed = [*(self.stage.sources[name] for name in ("particles", "approximate", "paths")), self.traces.source]
        self.stage_pane = _pane(self.stage.figure, "pmdviz-stage")
        self.traces_pane = _pane(self.traces.figure, "pmdviz-traces")
        self.ack = make_acknowledge(self.stage.figure, keyboard, packed, self.status, marks=self.traces.marks)
        self.sender = FrameSender(self.ack, packed, self.status, fields_html)
        self.stage.put = self.traces.put = self.sender.put
        self.actions = Actions(self.ack, self.stage.figure, last)
        self.picture = PictureControls(choose)
        self.switches = LayerSwitches(self._toggle)
        self.switches.name(self.stage.words)
        self.heading = Heading(tour=keyboard)
        above = self.heading, self.stage_pane, self.switches.view, self.traces_pane
        below = self._buttons(), self._options(), self.status, *(card.view for card in cards)
        self.view = pn.Column(*above, *below, stylesheets=[css.LAB], css_classes=["pmdviz-lab"], **WIDE)
        self.extra = ""
        self._note, self._note_until = "", 0.0
        self._image_pace, self._traces_pace = Throttle(IMAGE_S), Throttle(TRACES_S)
        self._offered: tuple[Any, ...] = ()
        self._preset, self._counted = "", ""  # of the run that is shown
        self._wished: tuple[str, str] | None = None  # method, and the traces that its next run is to show
        self._due = columns_due(GROUPS[self.traces.group])  # what the run computes for the traces
        self.set_theme(dark=False, presenter=False)

    def _buttons(self) -> Any:
        buttons = self.actions.row(small_button("Fit posterior", self.stage.fit))
        return pn.Column(buttons, text(glossary_row()), css_classes=["pmdviz-layers"], **WIDE)

    def _options(self) -> Any:
        look: dict[str, Any] = {"margin": 0, "sizing_mode": None}
        self.group = select("Traces", _titles(GROUPS), self._choose, width=150, **look)
        self.clock = select("Against", _by_words(CLOCKS), lambda new: self.traces.choose(clock=new), width=190, **look)
        menus = *self.picture.widgets, self.group, self.clock
        selects = pn.Row(*menus, margin=0, styles={"gap": "4px 12px", "flex-wrap": "wrap"})
        self.options = pn.Column(selects, self.actions.said, css_classes=["pmdviz-options"], **WIDE)
        return self.options

    def on_visit(self, visit: Callable[[int, bool], None]) -> None:
        """Hear where a person goes: on the time line roughly while they drag, on the traces by a click."""
        ack = self.ack
        ack.on_change("places", handed(lambda attr, old, new: visit(ack.place, not ack.exactly)))

        def tapped(event: Any) -> None:
            iteration = None if event.x is None else self.traces.iteration_at(event.x)
            if iteration is not None:
                visit(iteration, False)

        self.traces.figure.on_event("tap", handed(tapped))

    def _toggle(self, layers: list[str]) -> None:
        self.stage.toggle(layers)
        self.ghost.line.visible = bool(self.switches.boxes[GHOST].value)

    def show(self, snapshot: Snapshot, playing: bool, pause_s: float = 0.0) -> None:
        """Draw a snapshot; while it plays slowly the dots have until the next one, `pause_s` seconds from now."""
        with self.sender.together():
            self.follow(snapshot)
            self._offer(snapshot)
            columns = self.veil.columns(self._moving(snapshot, pause_s if playing else 0.0), snapshot.scene)
            with_image = self._image_pace.is_due(time.monotonic(), playing)
            self.stage.draw(columns, self._noted(snapshot, playing), with_image)
            self.ghost.show(snapshot.ghost.approximate if snapshot.ghost else EMPTY_LINE)
            self._trace(snapshot, playing)
            self._show_data(snapshot)
            self._say(snapshot, self.extra, playing)
        self.playback.enable(True, snapshot.done, snapshot.frame.iteration == 0, bool(snapshot.ended))
        self.dim(False)

    def _moving(self, snapshot: Snapshot, pause_s: float) -> StageColumns:
        """The columns, with where the dots come from if one can see them move."""
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
        look = snapshot.scene, snapshot.pair
        same = look == (self.stage.scene, self.stage.pair)
        if not same or (target is not seen and _framed(target, *look) != _framed(seen, *look)):
            self.stage.look_at(target, *look, snapshot.frame.method)
        self.stage.target = target
        self.stage.name_layers(snapshot.frame.method)
        beside = {GHOST: snapshot.ghost.name} if snapshot.ghost else {}
        self.switches.name({**self.stage.labels(snapshot.columns), **beside})
        self.picture.show(target, [snapshot.frame.method], snapshot.scene, snapshot.pair)

    def wish(self, method: str, trace: str) -> None:
        """Have these traces shown of the next run of this method; the usual ones where it has none of that key."""
        self._wished = method, trace

    def _granted(self, method: str) -> str | None:
        """The traces wished for of this method, once; None where there is no wish."""
        if self._wished is None or self._wished[0] != method:
            return None
        trace, self._wished = self._wished[1], None
        return trace

    def _offer(self, snapshot: Snapshot) -> None:
        """Offer the traces available for the target and the method; what is unavailable is not in the menu."""
        frame, preset = snapshot.frame, snapshot.preset
        pair = frame.target.key, frame.method.name, frame.budget_unit, preset
        wished = self._granted(frame.method.name)
        if pair != self._offered or wished is not None:
            self._offer_clocks(frame)
            turned = wished is not None or preset != self._preset
            self._offered, self._preset = pair, preset
            found = GROUPS.of(frame.target, frame.method)
            found = {key: group for key, group in found.items() if self.veil.offers(group.metrics)} or found
            titles = _titles(found) | (
                DATA if data_columns.applies(frame.target) and "exact" not in self.veil.parts else {}
            )
            usual = wished if wished is not None else PRESETS[preset].trace if preset in PRESETS else ""
            stays = not turned and self.group.value in titles.values()
            other = usual if usual in found else first_group(found)
            self.group.param.update(options=titles, value=self.group.value if stays else other)

    def _choose(self, name: str) -> None:
        """Another axis of the traces, or the data in their place."""
        wanted = name in DATA.values()
        if wanted != self._with_data:
            self._look_at_data(wanted)
        if wanted and self.data is None:
            self.data = DataView()
            self.data.set_theme(*self._look)
            self.on_data_view(self.data)
            self.view.append(_pane(self.data.figure, "pmdviz-traces"))
        if self.data is not None:
            self.data.figure.css_classes = _shown("pmdviz-traces", wanted)
            self.traces.figure.css_classes = _shown("pmdviz-traces", not (wanted or self.veil.hides_traces))
        if not wanted:
            self.traces.choose(group=name)
            self._ask()
        self.on_data(wanted)

    def _ask(self) -> None:
        """Have the traces that are shown computed, of a run that does not know yet which these are."""
        if not self._due.issuperset(GROUPS[self.traces.group].metrics):
            self._look_at_traces(self.traces.group)

    @property
    def _with_data(self) -> bool:
        """Whether the data are shown in place of the traces."""
        return self.data is not None and css.HIDDEN not in self.data.figure.css_classes

    def _show_data(self, snapshot: Snapshot) -> None:
        """The data as the last step saw them; a run that was begun meanwhile does not know yet that they are shown."""
        if self.data is not None and self._with_data:
            if snapshot.data is None:
                self._look_at_data(True)
            else:
                self.data.show(snapshot.data)

    def _offer_clocks(self, frame: Any) -> None:
        """Those that the target has; a run that counts in another one shows that."""
        clocks, counted = _by_words(clocks_of(frame.target)), usual_clock(frame.method, frame.budget_unit)
        turned = self._counted != counted or self.clock.value not in clocks.values()
        self._counted = counted
        self.clock.param.update(options=clocks, value=counted if turned else self.clock.value)

    def _noted(self, snapshot: Snapshot, playing: bool) -> str:
        info, now = snapshot.frame.info, time.monotonic()
        if info is not None and info.rejuvenated:
            self._note, self._note_until = f"new particles: {info.rejuvenated}", now + NOTE_S
        elif not playing or now > self._note_until:
            self._note = ""
        return self._note or snapshot.frame.caveat.partition(":")[0]

    def _trace(self, snapshot: Snapshot, playing: bool) -> None:
        """Every frame drawn so far; while playing a few times a second."""
        self._due = columns_due(GROUPS[snapshot.traces])
        self._ask()
        if self.veil.hides_traces or not self._traces_pace.is_due(time.monotonic(), playing):
            return
        floors = snapshot.frame.floors
        budget = budget_drawn(snapshot.frame, snapshot.recipe.budget)
        unit, expected = snapshot.recipe.budget_unit, snapshot.frame.method.marks
        self.traces.show(snapshot.points.of, floors, snapshot.marks, budget, unit, expected, _standing(snapshot))

    def wait(self, words: str, share: float | None = None) -> None:
        """Say what is happening before there is a first frame."""
        self.sender.say(waiting_fields(words, share) | NO_PAST)

    def say(self, snapshot: Snapshot | None, words: str, playing: bool) -> None:
        """Put a line of words under the state."""
        self.extra = words
        if snapshot:
            self._say(snapshot, words, playing)
        else:
            self.sender.say(waiting_fields(words) | NO_PAST)

    def _say(self, snapshot: Snapshot, words: str, playing: bool) -> None:
        fields = status_fields(snapshot, words, playing, self.floor.words)
        self.sender.say(self.veil.fields(fields, snapshot.frame))

    def hide(self, veil: Veil) -> None:
        """Show no more of the next pictures than a lesson lets be seen."""
        if veil.parts == self.veil.parts:
            return
        self.veil, self._offered = veil, ()
        self.traces.figure.css_classes = _shown("pmdviz-traces", not (veil.hides_traces or self._with_data))

    def dim(self, on: bool) -> None:
        """Fade the old picture while a new run is being made."""
        figures.dim(self.stage.figure, on)

    def set_theme(self, dark: bool, presenter: bool) -> None:
        """Theme and size of the labels."""
        self._look = dark, presenter
        for view in (self.stage, self.traces, self.data):
            if view is not None:
                view.set_theme(dark, presenter)
        self.ghost.set_theme(dark)
        self.ack.presenter = presenter
        self.switches.set_theme(dark, presenter)
        large = ["pmdviz-large"] if presenter else []
        parts = {"pmdviz-statusbar": self.status, "pmdviz-heading": self.heading, "pmdviz-lab": self.view}
        for name, part in parts.items():
            if part.css_classes != [name, *large]:
                part.css_classes = [name, *large]


def _standing(snapshot: Snapshot) -> Standing:
    """Where one stands in the run so far, and the run beside it."""
    at, ghost = snapshot.frame.iteration, snapshot.ghost
    return Standing(at if at < snapshot.last else None, ghost and ghost.points.of, ghost.name if ghost else "")


def _pane(figure: Any, name: str) -> Any:
    figure.css_classes = [name]  # on the figure: a Bokeh pane has no element of its own
    return pn.pane.Bokeh(figure, **WIDE)


def _shown(name: str, on: bool) -> list[str]:
    """Classes of a figure that is there to be seen, or not."""
    return [name] if on else [name, css.HIDDEN]


def _by_words(clocks: Mapping[str, str]) -> dict[str, str]:
    """Words -> key, for a menu."""
    return {words: clock for clock, words in clocks.items()}


def _titles(groups: Mapping[str, Group]) -> dict[str, str]:
    """Title -> key, for a menu."""
    return {group.title: key for key, group in groups.items()}


def _framed(target: Target, scene: Scene, pair: Pair) -> tuple[Any, ...]:
    """What the axes say and hold."""
    return target.name, target.parameter_names, scene.axis_labels(target, pair), scene.ranges(target, pair, 1.0)
