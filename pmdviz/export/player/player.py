"""HTML: a player in one file, which needs no server and asks for nothing from anywhere."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from bokeh.embed import file_html
from bokeh.resources import INLINE, Resources

from pmdviz.export.film.film import Film, Scene
from pmdviz.export.options import FILM_OPTIONS, NO_TRACES, STAGE_OPTIONS, Look, shown_group
from pmdviz.export.player.payload import row_texts, stage_payload
from pmdviz.export.writer import MEGABYTE, Job, Subject, Writer
from pmdviz.files import script_json
from pmdviz.scenes import style
from pmdviz.scenes.inside import Inside, inside
from pmdviz.scenes.stage import LAYERS
from pmdviz.scenes.trace_columns import budget_drawn, usual_clock
from pmdviz.views import StageView, TracesView
from pmdviz.views.inside import pick_by_tap, script, stylesheet

PLOTS = Resources(mode="inline", components=["bokeh"])  # of BokehJS no more than figures need
FILM = "film-"  # how the names begin under which the script finds sources, note and legend
STATIC = Path(__file__).with_name("static")
BYTES_OF_A_DOT = 8.0  # in base64: two coordinates and a size
BYTES_OF_A_FRAME = 10_000.0  # the contours and the words
INSIDE_DOTS, BYTES_INSIDE = 150, 15_000.0  # particles of which a frame tells the terms, and what that takes


class Player:
    """A page that plays scenes: figures, the numbers that a script puts into them, and the script."""

    what, script = "run", "run.js"
    insides: Sequence[Inside] = ()
    ratio, least = 1.0, 0.0  # width over height of the main figure; px that it does not get narrower than

    def __init__(self, film: Subject, scenes: Iterable[Any]) -> None:
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
        css, js = _static("player.css"), _static(self.script) + _static("inside.js") + _static("player.js")
        if self.insides:
            css, js = css + stylesheet(), script() + js
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


def _static(name: str) -> str:
    return (STATIC / name).read_text(encoding="utf-8")


def _forecast(look: Look, frames: int, dots: int) -> float:
    inside = BYTES_INSIDE * look.inside
    return 1.5 * MEGABYTE + frames * (BYTES_OF_A_FRAME + BYTES_OF_A_DOT * dots + inside)


def _write(job: Job) -> None:
    job.path.write_text(job.film.player(job.scenes()).html(), encoding="utf-8")


HTML = Writer(
    ".html", "a player in one file, for any browser, without internet", (*STAGE_OPTIONS, "inside", *FILM_OPTIONS),
    _write,
    forecast=_forecast,
)  # fmt: skip
