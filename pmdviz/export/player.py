"""HTML: a player in one file, which needs no server and asks for nothing from anywhere."""

from __future__ import annotations

import html
import json
from pathlib import Path
from typing import Any

import numpy as np
from bokeh.embed import file_html
from bokeh.resources import INLINE, Resources

from pmdviz.export.film import Film, Scene
from pmdviz.export.options import FILM_OPTIONS, NO_TRACES, STAGE_OPTIONS, Look
from pmdviz.export.payload import row_texts, stage_payload
from pmdviz.export.writer import MEGABYTE, Job, Writer
from pmdviz.views import StageView, TracesView, style

PLOTS = Resources(mode="inline", components=["bokeh"])  # of BokehJS no more than figures need
FILM = "film-"  # how the names begin under which the script finds sources, note and legend
STATIC = Path(__file__).with_name("static")
BYTES_OF_A_DOT = 8.0  # in base64: two coordinates and a size
BYTES_OF_A_FRAME = 10_000.0  # the contours and the words


class Page:
    """The figures of the player, and the numbers that its script puts into them."""

    def __init__(self, film: Film, scenes: list[Scene]) -> None:
        look = film.look
        self.film, self.scenes, self.look = film, scenes, look
        self.payload: dict[str, Any] = {**stage_payload(scenes), "fps": look.fps, "rows": {}, "marks": {}}
        self.stage = self._stage()
        self.figures = [self.stage.figure]
        if look.traces != NO_TRACES:
            self._add_traces()

    def _stage(self) -> StageView:
        view = StageView(self.film.run.target)
        view.draw(self.scenes[0].columns, self.scenes[0].note)
        view.dress(self.look.dark, self.look.large_type)
        view.toggle(self.look.layers)
        view.legend.items = [i for i in view.legend.items if i.renderers[0].name in self.look.layers]
        view.hover.tooltips = [tip for tip in view.hover.tooltips if "log_density" not in tip[1]]
        for name, source in view.sources.items():
            source.name = f"{FILM}{name}"
        view.sources["particles"].remove("log_density")
        view.note.name, view.legend.name = f"{FILM}note", f"{FILM}legend"
        view.figure.update(sizing_mode="stretch_both")
        return view

    def _add_traces(self) -> None:
        view, run, last = TracesView(), self.film.run, self.scenes[-1]
        view.choose(self.look.traces, self.look.clock)
        view.show(last.history, self.film.floors, sorted(last.marks), run.recipe.budget)
        view.dress(self.look.dark, self.look.large_type)
        view.source.name, view.marks.name = f"{FILM}traces", f"{FILM}marks"
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

    def html(self) -> str:
        """The whole page."""
        recipe = self.film.run.recipe
        return file_html(
            self.figures,
            resources=INLINE,
            title=f"pmdviz: {recipe.method} on {recipe.target}",
            template=(STATIC / "player.html").read_text(encoding="utf-8"),
            template_variables={
                **{"css": _static("player.css"), "js": _static("player.js"), "bokeh": "\n".join(PLOTS.js_raw)},
                "film": json.dumps(self.payload, separators=(",", ":"), allow_nan=False).replace("</", "<\\/"),
                "words": html.escape(self.scenes[0].words),
                "python": html.escape(self.film.run.to_python()),
                "colours": style.theme(self.look.dark),
                "px": style.PRESENTER_PX if self.look.large_type else 15,
                "last": len(self.scenes) - 1,
                "traces": len(self.figures) > 1,
            },
            suppress_callback_warning=True,
        )


def _static(name: str) -> str:
    return (STATIC / name).read_text(encoding="utf-8")


def _forecast(look: Look, frames: int, dots: int) -> float:
    return 1.5 * MEGABYTE + frames * (BYTES_OF_A_FRAME + BYTES_OF_A_DOT * dots)


def _write(job: Job) -> None:
    job.path.write_text(Page(job.film, list(job.scenes())).html(), encoding="utf-8")


HTML = Writer(
    ".html", "a player in one file, for any browser, without internet", (*STAGE_OPTIONS, *FILM_OPTIONS), _write,
    forecast=_forecast,
)  # fmt: skip
