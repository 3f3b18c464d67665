"""Everything one sees of a lab, and how a snapshot gets onto it. No session is touched here."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import panel as pn
from bokeh.models import Div

from pmdviz.lab import css
from pmdviz.lab.controls.actions import Actions
from pmdviz.lab.controls.buttons import small_button
from pmdviz.lab.controls.picture import PictureControls
from pmdviz.lab.controls.playback import PlaybackBar
from pmdviz.lab.loop.acknowledge import make_acknowledge
from pmdviz.lab.loop.floor_work import FloorWork
from pmdviz.lab.loop.frame_sender import FrameSender
from pmdviz.lab.loop.locked import handed
from pmdviz.lab.loop.runner import Snapshot
from pmdviz.lab.panels.card import Card
from pmdviz.lab.panels.status import fields_html, status_fields, waiting_fields
from pmdviz.scenes.stage import LAYERS, Pair, Scene, SceneChoice
from pmdviz.scenes.trace_columns import CLOCK_OF, CLOCKS, GROUPS, Group, clocks_of, first_group
from pmdviz.targets import Target
from pmdviz.views import StageView, TracesView, figures

NOTE_S = 0.8  # a rejuvenation is said on the stage for so long, not for one frame of 30 ms
TRACES_S = 0.2  # a second figure costs the browser half as much again; the eye does not miss it
LAYER_WORDS = {"exact posterior": "exact", "approximation": "approximate", "particles": "particles"}


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
        keyboard: bool = False,
    ) -> None:
        self.stage, self.traces = StageView(target), TracesView()
        self.playback, self.floor = playback, floor
        self.status = Div(
            text=fields_html(waiting_fields("Starting")),
            stylesheets=[css.STATUS],
            margin=0,
            sizing_mode="stretch_width",
            css_classes=["pmdviz-statusbar"],
        )
        packed = [*(self.stage.sources[name] for name in ("particles", "approximate")), self.traces.source]
        self.stage_pane = _pane(self.stage.figure, "pmdviz-stage")
        self.traces_pane = _pane(self.traces.figure, "pmdviz-traces")
        self.ack = make_acknowledge(self.stage.figure, keyboard, packed, self.status)
        self.sender = FrameSender(self.ack, packed, self.status)
        self.stage.put = self.traces.put = self.sender.put
        self.actions = Actions(self.ack, self.stage.figure, last)
        self.picture = PictureControls(choose)
        self.view = pn.Column(
            self.stage_pane,
            self.traces_pane,
            self._layers(),
            self._options(),
            self.status,
            *(card.view for card in cards),
            stylesheets=[css.LAB],
            sizing_mode="stretch_width",
            margin=0,
            css_classes=["pmdviz-lab"],
        )
        self.extra = ""
        self._note, self._note_until, self._traced = "", 0.0, 0.0
        self._offered: tuple[Any, ...] = ()
        self.set_theme(dark=False, presenter=False)

    def _layers(self) -> Any:
        boxes = pn.widgets.CheckBoxGroup(
            options=LAYER_WORDS, value=list(LAYERS), inline=True, margin=0, css_classes=["pmdviz-boxes"]
        )
        boxes.param.watch(handed(lambda event: self.stage.toggle(event.new)), "value")
        fit = small_button("Fit posterior")
        fit.on_click(handed(lambda event: self.stage.fit()))
        return pn.Column(
            boxes, self.actions.row(fit), margin=0, css_classes=["pmdviz-layers"], sizing_mode="stretch_width"
        )

    def _options(self) -> Any:
        look: dict[str, Any] = {"margin": 0, "stylesheets": [css.SELECT]}
        group = self.group = pn.widgets.Select(label="Traces", options=_titles(GROUPS), width=150, **look)
        clock = self.clock = pn.widgets.Select(label="Against", options=_by_words(CLOCKS), width=190, **look)
        group.param.watch(handed(lambda event: self.traces.choose(group=event.new)), "value")
        clock.param.watch(handed(lambda event: self.traces.choose(clock=event.new)), "value")
        selects = pn.Row(*self.picture.widgets, group, clock, margin=0, styles={"gap": "4px 12px", "flex-wrap": "wrap"})
        return pn.Column(
            selects, self.actions.said, margin=0, css_classes=["pmdviz-options"], sizing_mode="stretch_width"
        )

    def show(self, snapshot: Snapshot, playing: bool) -> None:
        """Draw a snapshot."""
        with self.sender.together():
            self.follow(snapshot)
            self._offer(snapshot.frame)
            self.stage.draw(snapshot.columns, self._noted(snapshot, playing))
            self._trace(snapshot, playing)
            self.sender.say(status_fields(snapshot, self.extra, playing, self.floor.words))
        self.playback.enable(True, snapshot.done, snapshot.frame.iteration == 0, bool(snapshot.ended))
        self.dim(False)

    def follow(self, snapshot: Snapshot) -> None:
        """Take ranges and names from another target or scene; the same ranges keep the user's zoom."""
        target, seen = snapshot.frame.target, self.stage.target
        look = snapshot.scene, snapshot.pair
        same = look == (self.stage.scene, self.stage.pair)
        if not same or (target is not seen and _framed(target, *look) != _framed(seen, *look)):
            self.stage.look_at(target, *look)
        self.stage.target = target
        self.picture.show(target, [snapshot.frame.method], snapshot.scene, snapshot.pair)

    def _offer(self, frame: Any) -> None:
        """Offer the traces that can be had of the target and the method; what cannot be had is not in the menu."""
        pair = frame.target.key, frame.method.name, frame.budget_unit
        if pair != self._offered:
            self._offer_clocks(frame)
            self._offered = pair
            found = GROUPS.of(frame.target, frame.method)
            titles = _titles(found)
            if self.group.options != titles:
                chosen = self.group.value if self.group.value in found else first_group(found)
                self.group.param.update(options=titles, value=chosen)

    def _offer_clocks(self, frame: Any) -> None:
        """Those that the target has; another unit of the budget shows its own."""
        clocks, counted = _by_words(clocks_of(frame.target)), CLOCK_OF[frame.budget_unit]
        turned = self._offered[2:] != (frame.budget_unit,) or self.clock.value not in clocks.values()
        self.clock.param.update(options=clocks, value=counted if turned else self.clock.value)

    def _noted(self, snapshot: Snapshot, playing: bool) -> str:
        info, now = snapshot.frame.info, time.monotonic()
        if info is not None and info.rejuvenated:
            self._note, self._note_until = f"rejuvenated: {info.rejuvenated}", now + NOTE_S
        elif not playing or now > self._note_until:
            self._note = ""
        return self._note or snapshot.frame.caveat.partition(":")[0]

    def _trace(self, snapshot: Snapshot, playing: bool) -> None:
        """Every frame drawn so far; while playing a few times a second."""
        now = time.monotonic()
        if playing and now - self._traced < TRACES_S:
            return
        self._traced = now
        floors = {name: snapshot.metrics[name] for name in ("floor_tv", "floor_kl")}
        self.traces.show(snapshot.trace, floors, snapshot.marks, snapshot.recipe.budget, snapshot.recipe.budget_unit)

    def wait(self, words: str, share: float | None = None) -> None:
        """Say what is happening before there is a first frame."""
        self.sender.say(waiting_fields(words, share))

    def say(self, snapshot: Snapshot | None, words: str, playing: bool) -> None:
        """Put a line of words under the state."""
        self.extra = words
        self.sender.say(
            status_fields(snapshot, words, playing, self.floor.words) if snapshot else waiting_fields(words)
        )

    def dim(self, on: bool) -> None:
        """Fade the old picture while a new run is being made."""
        figures.dim(self.stage.figure, on)

    def set_theme(self, dark: bool, presenter: bool) -> None:
        """Theme and size of the labels."""
        for view in (self.stage, self.traces):
            view.set_theme(dark, presenter)
        classes = ["pmdviz-statusbar"] + (["pmdviz-large"] if presenter else [])
        if self.status.css_classes != classes:
            self.status.css_classes = classes


def _pane(figure: Any, name: str) -> Any:
    figure.css_classes = [name]  # on the figure: a Bokeh pane has no element of its own
    return pn.pane.Bokeh(figure, sizing_mode="stretch_width", margin=0)


def _by_words(clocks: Mapping[str, str]) -> dict[str, str]:
    """Words -> key, for a menu."""
    return {words: clock for clock, words in clocks.items()}


def _titles(groups: Mapping[str, Group]) -> dict[str, str]:
    """Title -> key, for a menu."""
    return {group.title: key for key, group in groups.items()}


def _framed(target: Target, scene: Scene, pair: Pair) -> tuple[Any, ...]:
    """What the axes say and hold."""
    return target.name, target.parameter_names, scene.axis_labels(target, pair), scene.ranges(target, pair, 1.0)
