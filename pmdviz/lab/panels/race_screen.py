"""Everything one sees of a race, and how a scene gets onto it."""

from __future__ import annotations

import html
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import panel as pn
from bokeh.models import Div

from pmdviz.experiments.race import RaceRecipe
from pmdviz.lab import css
from pmdviz.lab.controls.buttons import small_button
from pmdviz.lab.controls.picture import PictureControls
from pmdviz.lab.controls.playback import PlaybackBar
from pmdviz.lab.loop.acknowledge import make_acknowledge
from pmdviz.lab.loop.frame_sender import FrameSender
from pmdviz.lab.loop.locked import handed
from pmdviz.lab.loop.pace import Throttle
from pmdviz.lab.panels.card import Card
from pmdviz.lab.panels.race_table import RaceTable, columns
from pmdviz.lab.panels.race_words import legend_html, status_fields, swatches, table_rows
from pmdviz.lab.panels.status import fields_html, waiting_fields
from pmdviz.methods import METHODS
from pmdviz.metrics import Metric
from pmdviz.scenes.race import RaceScene
from pmdviz.scenes.race_columns import CLOCK_OF, CLOCKS, clock_end
from pmdviz.scenes.race_difference import difference_of
from pmdviz.scenes.stage import Scene, SceneChoice
from pmdviz.scenes.tiling import Tiling
from pmdviz.views import figures
from pmdviz.views.race_difference import RaceDifference
from pmdviz.views.race_tiles import RaceTiles
from pmdviz.views.race_traces import SLOTS, RaceTraces

UNKNOWN_PX = 1000.0  # width of the tiles before the browser has said it
WORDS_S = 0.3  # traces, numbers and the table change so often while playing: nobody reads faster
DIFFERENCE = "difference"  # in the menu of what is drawn below
SEEDS = {"4 seeds": 4, "8 seeds": 8, "16 seeds": 16, "32 seeds": 32}


class RaceScreen:
    """Tiles, traces, table and status in one responsive layout."""

    def __init__(
        self,
        playback: PlaybackBar,
        cards: Sequence[Card],
        bands: Callable[[int], None],
        choose: Callable[[SceneChoice], None],
        shown: Sequence[Metric],
    ) -> None:
        self.picture = PictureControls(choose)
        self.tiles, self.traces, self.table = (
            RaceTiles(),
            RaceTraces(shown),
            RaceTable(margin=0, columns=columns(shown)),
        )
        self.playback = playback
        self.status = Div(
            text=fields_html(waiting_fields("Making the first picture of the race")),
            stylesheets=[css.STATUS],
            margin=0,
            sizing_mode="stretch_width",
            css_classes=["pmdviz-statusbar"],
        )
        self.legend = pn.pane.HTML("", margin=0, stylesheets=[css.TEXT, css.static("race_legend.css")])
        self.legend.css_classes = ["pmdviz-race-legend"]
        packed = [*self.tiles.moving, *self.traces.sources]
        self.ack = make_acknowledge(self.tiles.figure, True, packed, self.status, "race-acknowledge")
        self.sender = FrameSender(self.ack, packed, self.status)
        self.tiles.put = self.traces.put = self.sender.put
        self._pace, self.extra, self.width = Throttle(WORDS_S), "", UNKNOWN_PX
        self._scene: Scene | None = None
        self._last: RaceScene | None = None
        self.difference: RaceDifference | None = (
            None  # made when there are first two: every page would have to carry it
        )
        self._differs, self._look = False, (False, False)
        self._dark = False
        self.view = self._layout(cards, self._options(bands))
        self.set_theme(dark=False, presenter=False)

    def _options(self, bands: Callable[[int], None]) -> Any:
        look: dict[str, Any] = {"margin": 0, "stylesheets": [css.SELECT]}
        self.clock = pn.widgets.Select(
            label="Traces against", options={text: key for key, text in CLOCKS.items()}, width=240, **look
        )
        self.clock.param.watch(handed(lambda event: self._against(event.new)), "value")
        self.second = pn.widgets.Select(label="Lower trace", options={}, width=190, visible=False, **look)
        self.second.param.watch(handed(lambda event: self._choose_second(event.new)), "value")
        self.seeds = pn.widgets.Select(label="Bands over", options=SEEDS, value=8, width=120, **look)
        self.band_button = small_button("Bands")
        self.band_button.on_click(handed(lambda event: bands(self.seeds.value)))
        self.band_words = pn.pane.HTML("", margin=(4, 0), stylesheets=[css.TEXT], sizing_mode="stretch_width")
        row = pn.FlexBox(
            *self.picture.widgets,
            self.clock,
            self.second,
            self.seeds,
            self.band_button,
            gap="8px",
            margin=0,
            align_items="end",
            sizing_mode="stretch_width",
        )
        return pn.Column(row, self.band_words, margin=0, css_classes=["pmdviz-options"], sizing_mode="stretch_width")

    def _layout(self, cards: Sequence[Card], options: Any) -> Any:
        self.panes = {slot: _pane(None, f"pmdviz-race-{slot}") for slot in SLOTS}
        self._place_traces()
        panes = [_pane(self.tiles.figure, "pmdviz-race-tiles"), *self.panes.values()]
        table = pn.Column(self.table, css_classes=["pmdviz-race-table"], margin=0, sizing_mode="stretch_width")
        return pn.Column(
            *panes,
            self.legend,
            options,
            self.status,
            table,
            *(card.view for card in cards),
            stylesheets=[css.RACE],
            sizing_mode="stretch_width",
            margin=0,
            css_classes=["pmdviz-race"],
        )

    def _place_traces(self) -> None:
        """Put the figures of the traces in their places; with one metric the other place stays empty."""
        for slot, pane in self.panes.items():
            figure = self._figure_in(slot)
            if pane.object is not figure:  # Panel builds anew what is set again
                if figure is not None:
                    figure.css_classes = [f"pmdviz-race-{slot}"]
                pane.object = figure

    def _figure_in(self, slot: str) -> Any:
        if slot == SLOTS[-1] and self._differs and self.difference is not None:
            return self.difference.figure
        return self.traces.panels[slot].figure if slot in self.traces.panels else None

    def _offer_difference(self, scene: RaceScene) -> None:
        """Of two methods their difference is drawn, in the place of the second metric or, if wished, not."""
        shown, two = scene.recipe.shown, len(scene.tiles) == 2
        names = {f"difference of {shown[0].short or shown[0].title}": DIFFERENCE}
        names |= {metric.title: metric.name for metric in shown[1:]}
        if self.second.visible != two or (two and self.second.options != names):
            self.second.param.update(options=names if two else {}, value=DIFFERENCE if two else None, visible=two)

    def _choose_second(self, name: str | None) -> None:
        """The difference or the second metric."""
        self._differs = name == DIFFERENCE
        if self._differs and self.difference is None:
            self.difference = RaceDifference()
            self.difference.set_theme(*self._look)
        self._place_traces()
        self._show_difference()

    def _against(self, clock: str) -> None:
        self.traces.choose(clock)
        self._show_difference()

    def _show_difference(self) -> None:
        found = difference_of(self._last, self.traces.clock) if self._last is not None and self._differs else None
        if found is not None and self.difference is not None:
            ends = [float(tile.trace[self.traces.clock][-1]) for tile in self._last.tiles]
            end = clock_end(self.traces.clock, ends, self._last.budget, self._last.recipe.budget_unit)
            self.difference.show(found, self.traces.clock, end)

    def _measure(self, recipe: RaceRecipe) -> None:
        """Metrics and clock of another race, where they are others."""
        if self.traces.measure(recipe.shown):
            self._place_traces()
            self.table.columns = columns(recipe.shown)
        if self.traces.unit != recipe.budget_unit:
            self.traces.unit = recipe.budget_unit
            self.clock.value = CLOCK_OF[recipe.budget_unit]

    def _explain(self, scene: Scene | None) -> None:
        """The legend of the tiles."""
        self._scene = scene
        words = "" if scene is None else legend_html(scene, self._dark)
        if self.legend.object != words:
            self.legend.object = words

    def _offer(self, scene: RaceScene) -> None:
        """The pictures that there are of the target by every entrant."""
        methods = [METHODS[one.method] for one in scene.recipe.entrants]
        self.picture.show(scene.recipe.target, methods, scene.scene, scene.pair)

    def show(self, scene: RaceScene, playing: bool, summary: Mapping[str, Any]) -> None:
        """Draw a scene; words and traces while playing only a few times a second."""
        with self.sender.together():
            if len(scene.tiles) != self.tiles.tiling.number or self._narrower():
                self.tiles.arrange(Tiling.fitting(len(scene.tiles), self.width))
            self.tiles.draw(scene)
            self._measure(scene.recipe)
            self._last = scene
            self._offer(scene)
            self._offer_difference(scene)
            self._explain(scene.scene if scene.tiles else None)
            if self._pace.is_due(time.monotonic(), playing):
                self.tiles.say(scene.tiles)
                self.traces.show([tile.trace for tile in scene.tiles], scene.floors, scene.budget)
                self._show_difference()
                self.table.rows = table_rows(scene, summary)
            self.sender.say(status_fields(scene, self.extra, playing))
        ended = all(tile.ended and tile.ended != "the budget is used up" for tile in scene.tiles)
        self.playback.enable(True, scene.done, scene.iteration == 0, ended)

    def _narrower(self) -> bool:
        """Whether the figure has come to have another number of tiles a row, as on a phone that was turned."""
        return Tiling.fitting(self.tiles.tiling.number, self.width) != self.tiles.tiling

    def say_bands(self, words: str, share: float | None) -> None:
        """How far the bands are (share in [0, 1], None when they do not run), or what they are."""
        words = html.escape(words)
        bar = "" if share is None else f'<progress aria-label="bands" max="1" value="{share:.3f}"></progress> '
        said = f'<span role="status" class="pmdviz-bands">{bar}{words}</span>'
        label = "Bands" if share is None else "Cancel bands"
        if self.band_words.object != said:
            self.band_words.object = said
        if self.band_button.label != label:
            self.band_button.label = label

    def show_bands(self, histories: Sequence[Sequence[Mapping[str, Any]]]) -> None:
        """Bands over the seeds of each entrant; none for an empty list."""
        self.traces.show_bands(histories)

    def wait(self, words: str, share: float | None = None) -> None:
        """Say what is happening before there is a first picture."""
        self.sender.say(waiting_fields(words, share))

    def say(self, scene: RaceScene | None, words: str, playing: bool) -> None:
        """Put a line of words under the state."""
        self.extra = words
        self.sender.say(status_fields(scene, words, playing) if scene else waiting_fields(words))

    def dim(self, on: bool) -> None:
        """Fade the old picture while a new race is being made."""
        figures.dim(self.tiles.figure, on)

    def set_theme(self, dark: bool, presenter: bool) -> None:
        """Theme and size of the labels."""
        self.tiles.set_theme(dark, presenter)
        self.traces.set_theme(dark, presenter)
        self._look = dark, presenter
        if self.difference is not None:
            self.difference.set_theme(dark, presenter)
        self.table.swatches = swatches(dark)
        self._dark = dark
        self._explain(self._scene)
        classes = ["pmdviz-statusbar"] + (["pmdviz-large"] if presenter else [])
        if self.status.css_classes != classes:
            self.status.css_classes = classes


def _pane(figure: Any, name: str) -> Any:
    if figure is not None:
        figure.css_classes = [name]
    return pn.pane.Bokeh(figure, sizing_mode="stretch_width", margin=0)
