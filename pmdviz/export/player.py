"""HTML: a player in one file, which needs no server and asks for nothing from anywhere."""

from __future__ import annotations

import base64
import html
import zlib
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from bokeh.embed import file_html
from bokeh.resources import INLINE, Resources

from pmdviz.export.films import Film, RaceFilm, Scene
from pmdviz.export.options import FILM_OPTIONS, NO_TRACES, STAGE_OPTIONS, Look, shown_group, traced
from pmdviz.export.writers import MEGABYTE, Job, Writer
from pmdviz.files import script_json, static_text
from pmdviz.scenes import style
from pmdviz.scenes.columns import INK, StageColumns, Tiling
from pmdviz.scenes.inside import Inside, inside
from pmdviz.scenes.race import CLOCK_OF, RaceScene, places, tile_dots, tile_lines, tile_paths, tiles_legend
from pmdviz.scenes.stage import LAYERS, particles_label
from pmdviz.scenes.trace_columns import budget_drawn, usual_clock
from pmdviz.views import StageView, TracesView
from pmdviz.views.figures import inside_script, inside_stylesheet, pick_by_tap
from pmdviz.views.race_tiles import RaceTiles
from pmdviz.views.race_traces import SLOTS, RaceTraces

# A film as numbers for a page: columns as 16-bit numbers in one run, each array stored once.

GAP = 65_535  # stands for NaN
STEPS = 65_534


class Numbers:
    """Arrays put one behind the other; the same numbers are kept once."""

    def __init__(self) -> None:
        self._parts: list[np.ndarray] = []
        self._at: dict[bytes, int] = {}
        self._end = 0

    def put(self, values: np.ndarray) -> list[int]:
        """Start and length of an array of uint16 in the run."""
        raw = values.tobytes()
        if raw not in self._at:
            self._at[raw] = self._end
            self._parts.append(values)
            self._end += len(values)
        return [self._at[raw], len(values)]

    def text(self) -> str:
        """The run as base64 of all high bytes and then all low ones, deflated: neighbours have like high bytes."""
        whole = np.concatenate(self._parts) if self._parts else np.empty(0, np.uint16)
        planes = np.concatenate([whole >> 8, whole & 255]).astype(np.uint8)
        return base64.b64encode(zlib.compress(planes.tobytes(), 9)).decode()


def scale(arrays: Iterable[np.ndarray]) -> tuple[float, float]:
    """(low, step) with which all finite values are low + step * number, number in 0 .. 65,534."""
    ends = [(float(a.min()), float(a.max())) for a in (array[np.isfinite(array)] for array in arrays) if len(a)]
    low, high = (min(a for a, _ in ends), max(b for _, b in ends)) if ends else (0.0, 0.0)
    return low, (high - low) / STEPS or 1.0


def quantised(values: np.ndarray, low: float, step: float) -> np.ndarray:
    """uint16 numbers of `values`; NaN is `GAP`."""
    gaps = np.isnan(values)
    numbers = np.rint((np.where(gaps, low, values).astype(float) - low) / step).astype(np.uint16)
    numbers[gaps] = GAP
    return numbers


def _columns(
    dots: Mapping[str, np.ndarray], line: Mapping[str, np.ndarray], paths: Mapping[str, np.ndarray]
) -> dict[str, np.ndarray]:
    ways = paths if len(paths["x0"]) else {}
    return {"x": dots["x"], "y": dots["y"], "size": dots["size"], "line_x": line["x"], "line_y": line["y"], **ways}


AXES = {
    **{"x": "x", "line_x": "x", "y": "y", "line_y": "y", "size": "size", "other_x": "x", "other_y": "y"},
    **{"x0": "x", "y0": "y", "x1": "x", "y1": "y", "alpha": "alpha", "kind": "kind"},
}


def scales_of(columns: Iterable[Mapping[str, np.ndarray]]) -> dict[str, tuple[float, float]]:
    """One scale an axis for all columns."""
    every = list(columns)
    return {
        axis: scale(each[name] for each in every for name in each if AXES[name] == axis)
        for axis in dict.fromkeys(AXES.values())
    }


def put_all(
    numbers: Numbers, columns: Mapping[str, np.ndarray], scales: Mapping[str, tuple[float, float]]
) -> dict[str, list[int]]:
    """Where each of the columns stands in the run of numbers."""
    return {name: numbers.put(quantised(values, *scales[AXES[name]])) for name, values in columns.items()}


def race_payload(scenes: list[RaceScene], tiling: Tiling) -> dict[str, Any]:
    """The same for a race: each tile's columns by themselves, so that a tile that stands still is stored once."""
    columns, numbers = [_tiles(scene, tiling) for scene in scenes], Numbers()
    scales = scales_of(tile for tiles in columns for tile in tiles)
    frames = []
    for scene, tiles in zip(scenes, columns, strict=True):
        frames.append({"tiles": [put_all(numbers, tile, scales) for tile in tiles], "words": scene.words})
        images = [tile.columns.image for tile in scene.tiles if tile.columns.image is not None]
        if images:
            frames[-1]["images"] = [numbers.put(quantised(image.values.ravel(), 0.0, 1 / STEPS)) for image in images]
            frames[-1]["image_step"] = 1 / STEPS
    return {"frames": frames, "scales": scales, "numbers": numbers.text()}


def _tiles(scene: RaceScene, tiling: Tiling) -> list[dict[str, np.ndarray]]:
    tiles = [tile.columns for tile in scene.tiles]
    pairs = zip(tiles, places(scene.scene, scene.pair, scene.recipe.target, tiles, tiling), strict=True)
    return [
        _columns(
            tile_dots([tile.particles], [one]), tile_lines([tile.approximate], [one]), tile_paths([tile.paths], [one])
        )
        for tile, one in pairs
    ]


EXACT = ("values", "total", "row", "parent", "children")  # of a step from the inside: read as numbers, or add up
KEPT_BITS = np.uint32(0xFFFFF800)  # of a 32-bit float that is drawn: 12 of its fraction, a fiftieth of a pixel


def put_part(
    numbers: Numbers, scales: Mapping[str, tuple[float, float]], name: str, values: np.ndarray
) -> dict[str, list[float]]:
    """Where an array of a step from the inside stands in the run of numbers.

    Places are numbers of the stage's own scales, where they lie within them: its lines are then stored once. Others
    are 32-bit floats, the low halves of all and then the high ones.
    """
    if name in ("x", "y"):
        low, step = scales[name]
        if np.nanmin(values, initial=low) >= low and np.nanmax(values, initial=low) <= low + STEPS * step:
            return {"at": [*numbers.put(quantised(values, low, step)), low, step]}
    bits = np.asarray(values, "<f4").view("<u4")
    if name not in EXACT:
        bits = bits & KEPT_BITS
    return {"at": numbers.put(np.concatenate([bits & 0xFFFF, bits >> 16]).astype(np.uint16))}


def stage_payload(scenes: list[Scene], names: Mapping[str, str], insides: Sequence[Inside] = ()) -> dict[str, Any]:
    """`frames` (where each column stands, words, labels), `scales` of the columns and the run of `numbers`."""
    columns, numbers = [_stage_columns(scene.columns) for scene in scenes], Numbers()
    scales = scales_of(columns)
    frames = []
    for scene, each in zip(scenes, columns, strict=True):
        places = put_all(numbers, each, scales)
        drawn = scene.columns
        said = {"words": scene.words, "note": scene.note, "label": particles_label(drawn, names.get("particles", ""))}
        frames.append({**places, **said, "share": INK * drawn.num_particles / max(drawn.drawn, 1)})
        frames[-1]["largest"] = float(drawn.particles["size"].max(initial=0.0))
        if drawn.words.text:
            frames[-1]["text"] = drawn.words.text
        if insides:
            frames[-1]["inside"] = insides[len(frames) - 1].payload(partial(put_part, numbers, scales))
        if drawn.image is not None:
            frames[-1]["image"] = numbers.put(quantised(drawn.image.values.ravel(), 0.0, 1 / STEPS))
    pictured = {} if scenes[0].columns.image is None else {"image_step": 1 / STEPS}
    return {"frames": frames, "scales": scales, "numbers": numbers.text(), **pictured}


def _stage_columns(drawn: StageColumns) -> dict[str, np.ndarray]:
    others = {"other_x": drawn.others["x"], "other_y": drawn.others["y"]} if len(drawn.others["x"]) else {}
    weight, share = drawn.particles["weight"], INK * drawn.num_particles / max(drawn.drawn, 1)
    size = np.where(np.isnan(weight), drawn.particles["size"], np.sqrt(weight * share)).astype(np.float32)
    return _columns({**drawn.particles, "size": size}, drawn.approximate, drawn.paths) | others


def row_texts(columns: Mapping[str, np.ndarray]) -> dict[str, str]:
    """Columns as base64 of little-endian 32-bit floats."""
    return {name: base64.b64encode(np.asarray(c, "<f4").tobytes()).decode() for name, c in columns.items()}


PLOTS = Resources(mode="inline", components=["bokeh"])  # of BokehJS no more than figures need
FILM = "film-"  # how the names begin under which the script finds sources, note and legend
STATIC = Path(__file__).with_name("static")
BYTES_OF_A_DOT = 8.0  # in base64: two coordinates and a size
BYTES_OF_A_FRAME = 10_000.0  # the contours and the words
INSIDE_DOTS, BYTES_INSIDE = 150, 15_000.0  # particles of which a frame tells the terms, and what that takes


class Player:
    """A page that plays scenes: figures, the numbers that a script puts into them, and the script."""

    what = "run"  # and the part of the script that is its own
    insides: Sequence[Inside] = ()
    ratio, least = 1.0, 0.0  # width over height of the main figure; px that it does not get narrower than

    def __init__(self, film: Film | RaceFilm, scenes: Iterable[Any]) -> None:
        self.film, self.look = film, film.look
        self.scenes = [self.kept(scene) for scene in scenes]
        self.payload: dict[str, Any] = {}
        self.figures: list[Any] = []

    def kept(self, scene: Any) -> Any:
        """What is kept of a scene until the page is made."""
        return scene

    def named(self, model: Any, name: str) -> None:
        """Let the script find a model by a name."""
        model.name = f"{FILM}{name}"

    def legend(self) -> list[tuple[str, str, str]]:
        """Names, colours and kinds of line where the figures themselves have no legend."""
        return []

    def html(self) -> str:
        """The whole page."""
        film = {**self.payload, "fps": self.look.fps, "dark": self.look.dark}
        css, js = static_text(STATIC / "player.css"), static_text(STATIC / "player.js", self.what, "inside", "player")
        if self.insides:
            css, js = css + inside_stylesheet(), inside_script() + js
        return file_html(
            self.figures,
            resources=INLINE,
            title=f"pmdviz: {self.film.title}",
            template=(STATIC / "player.html").read_text(encoding="utf-8"),
            template_variables={
                **{"css": css, "js": js, "inside": bool(self.insides)},
                "bokeh": "\n".join(PLOTS.js_raw),
                "film": script_json(film),
                "words": html.escape(self.scenes[0].words),
                "python": html.escape(self.film.python()),
                "colours": style.theme(self.look.dark),
                "px": style.PRESENTER_PX if self.look.large_type else 15,
                "last": len(self.scenes) - 1,
                **{"what": self.what, "ratio": f"{self.ratio:.4f}", "least": self.least},
                **{"legend": self.legend(), "stage": self.figures[0].name},
                "traces": self.figures[1].name if len(self.figures) > 1 else "",
            },
            suppress_callback_warning=True,
        )


class Page(Player):
    """The page of a run: the stage and the traces."""

    def __init__(self, film: Film, scenes: Iterable[Scene]) -> None:
        self.insides: list[Inside] = []
        super().__init__(film, scenes)
        self.run = film.run
        drawn, _ = film.drawn
        words = drawn.words(film.run.final.method)
        self.payload = {**stage_payload(self.scenes, words, self.insides), "rows": {}, "marks": {}}
        self.stage = self._stage()
        self.figures = [self.stage.figure]
        if self.look.traces != NO_TRACES:
            self._add_traces(film.floors)

    def kept(self, scene: Scene) -> Scene:
        """The scene without its frames, which are large; what the panel shows of its step is worked out before."""
        if self.look.inside and scene.step is not None:
            before, after = scene.step
            self.insides.append(inside(before, after, *self.film.drawn, INSIDE_DOTS, scene.columns))
        return scene._replace(step=None)

    def _stage(self) -> StageView:
        view = StageView(self.run.target, *self.film.drawn)
        view.name_layers(self.run.final.method)
        view.draw(self.scenes[0].columns, self.scenes[0].note)
        view.set_theme(self.look.dark, self.look.large_type)
        view.toggle(self.look.layers)
        hidden = {name for name in LAYERS if name not in self.look.layers}
        view.legend.items = [i for i in view.legend.items if i.renderers[0].name not in hidden]
        if view.hover.tooltips:
            view.hover.tooltips = [tip for tip in view.hover.tooltips if "log_density" not in tip[1]]
        for name, source in view.sources.items():
            self.named(source, name)
        view.sources["particles"].remove("log_density")
        self.named(view.note, "note")
        self.named(view.legend, "legend")
        view.figure.update(sizing_mode="stretch_both")
        if self.insides:
            pick_by_tap(view.figure)
        return view

    def _add_traces(self, floors: dict[str, float | None]) -> None:
        group = shown_group(self.run.target, self.run.final.method, self.look.traces)
        view, last = TracesView(group, others=False), self.scenes[-1]
        recipe, budget = self.run.recipe, budget_drawn(self.run.final, self.run.recipe.budget)
        view.choose(group, self.look.clock or usual_clock(self.run.final.method, recipe.budget_unit))
        view.show(last.history, floors, sorted(last.marks), budget, recipe.budget_unit)
        view.set_theme(self.look.dark, self.look.large_type)
        self.named(view.source, "traces")
        self.named(view.marks, "marks")
        view.figure.update(sizing_mode="stretch_both")
        self.figures.append(view.figure)
        self.payload["rows"] = row_texts(view.source.data)
        self.payload["marks"] = {name: list(values) for name, values in view.marks.data.items()}
        self._count_rows(view.source.data["iteration"], [mark.iteration for mark in sorted(last.marks)[-500:]])

    def _count_rows(self, iterations: np.ndarray, marks: list[int]) -> None:
        """How many rows and marks each frame shows."""
        for scene, frame in zip(self.scenes, self.payload["frames"], strict=True):
            frame["rows"] = int(np.searchsorted(iterations, scene.iteration, side="right"))
            frame["marks"] = int(np.searchsorted(marks, scene.iteration, side="right"))


def _forecast(look: Look, frames: int, dots: int) -> float:
    inside = BYTES_INSIDE * look.inside
    return 1.5 * MEGABYTE + frames * (BYTES_OF_A_FRAME + BYTES_OF_A_DOT * dots + inside)


def _write(job: Job) -> None:
    page = RacePage if isinstance(job.film, RaceFilm) else Page
    job.path.write_text(page(job.film, job.scenes()).html(), encoding="utf-8")


HTML = Writer(
    ".html", "a player in one file, for any browser, without internet", (*STAGE_OPTIONS, "inside", *FILM_OPTIONS),
    _write,
    forecast=_forecast,
)  # fmt: skip


# The player of a race: its tiles in one figure, and one metric of all beside them.

WIDE_PX = 1_000.0  # the page's tiles in a window that is wide enough
LINES = {"exact": "solid", "approximate": "dashed", "particles": "dot", "paths": "solid"}
MIN_PX = 620.0  # narrower tiles would have words over one another


class RacePage(Player):
    """The page of a race."""

    what, least = "race", MIN_PX

    def __init__(self, film: RaceFilm, scenes: Iterable[RaceScene]) -> None:
        super().__init__(film, scenes)
        scenes = self.scenes
        self.tiling = Tiling.fitting(len(scenes[0].tiles), WIDE_PX)
        width, height = self.tiling.size
        self.ratio = width / height
        self.tiles = self._tiles()
        self.figures = [self.tiles.figure]
        self.payload = race_payload(scenes, self.tiling)
        for scene, frame in zip(scenes, self.payload["frames"], strict=True):
            frame |= self.tiles.said(scene.tiles)
        self.payload["rows"] = []
        if self.look.traces != NO_TRACES:
            self._add_traces()

    def legend(self) -> list[tuple[str, str, str]]:
        """The layers of the tiles."""
        scene = self.scenes[0].scene
        colours, words = dict(style.tile_layers(self.look.dark, 0, scene.shows_theta)), tiles_legend(scene)
        colours["paths"] = colours[style.PATH_COLOURS[0]]
        return [(words[name], colours[name], LINES[name]) for name in self.look.layers if name in words]

    def _tiles(self) -> RaceTiles:
        view, first = RaceTiles(), self.scenes[0]
        view.arrange(self.tiling)
        view.draw(first)
        view.say(first.tiles)
        view.set_theme(self.look.dark, self.look.large_type)
        for name, layers in view.layers.items():
            for layer in layers:
                layer.visible = name in self.look.layers
        for name, source in {**view.sources, "words": view.words}.items():
            self.named(source, name)
        view.figure.update(sizing_mode="stretch_both", styles={})
        return view

    def _add_traces(self) -> None:
        last = self.scenes[-1]
        recipe = last.recipe
        view, clock = RaceTraces([traced(recipe, self.look.traces)]), self.look.clock or CLOCK_OF[recipe.budget_unit]
        view.unit = recipe.budget_unit
        view.show([tile.trace for tile in last.tiles], last.floors, last.budget)
        view.choose(clock)
        view.set_theme(self.look.dark, self.look.large_type)
        (panel,) = view.panels.values()
        sources = view.sources[: len(last.tiles)]
        for k, source in enumerate(sources):
            self.named(source, f"traces-{k}")
        self.named(panel.sources["fronts"], "fronts")
        panel.figure.update(sizing_mode="stretch_both")
        self.figures.append(panel.figure)
        self.payload |= {"metric": SLOTS[0], "clock": clock}
        self.payload["rows"] = [row_texts(source.data) for source in sources]
        counted = CLOCK_OF[recipe.budget_unit]
        for scene, frame in zip(self.scenes, self.payload["frames"], strict=True):
            pairs = zip(sources, scene.tiles, strict=True)
            frame["rows"] = [_seen(source.data[counted], tile.trace[counted][-1]) for source, tile in pairs]


def _seen(spent: np.ndarray, now: float) -> int:
    """How many rows of a trace are there when `now` has been spent."""
    return int(np.searchsorted(spent, np.float32(now), side="right"))
