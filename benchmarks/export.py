"""Taking a run and a race home: seconds and sizes of GIF, MP4 and HTML player, and how fast a browser plays that."""

from __future__ import annotations

import os
import resource
import sys
import tempfile
import time
from argparse import Namespace
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from pmdviz import api
from pmdviz.engine.run import Run
from pmdviz.experiments.race import RaceResult, race
from pmdviz.export import WRITERS
from pmdviz.export.films import Film
from pmdviz.export.options import Look
from pmdviz.export.writers import Job, picture_of
from pmdviz.lab.controls.race_setup import DEFAULT_ENTRANTS
from tests.support.browser import chromium

FRAMES, PARTICLES, REPEATS = 100, 1_500, 3
FASTEST = 60  # frames per second that the player is asked for
VIEW = {"width": 1280, "height": 720}

# A frame counts when the player says another one and the stage's pixels changed with it.
PLAY_JS = """
async () => {
  const shown = document.getElementById("shown"), play = document.getElementById("play")
  const canvases = [...document.querySelectorAll("#stage, .tiles canvas")]
  const {width, height} = canvases[0], whole = new OffscreenCanvas(width * canvases.length, height)
  const g = whole.getContext("2d", {willReadFrequently: true})
  const picture = () => {
    canvases.forEach((canvas, k) => g.drawImage(canvas, width * k, 0))
    const pixels = new Uint32Array(g.getImageData(0, 0, whole.width, height).data.buffer)
    let hash = 0
    for (const pixel of pixels) hash = (Math.imul(hash, 31) + pixel) | 0  // all of them: late frames differ little
    return hash
  }
  let said = shown.textContent, seen = picture(), frames = 0
  const start = performance.now()
  play.click()
  await new Promise((done) => {
    const look = () => {
      if (shown.textContent !== said) {
        const now = picture()
        if (now !== seen) { frames += 1; said = shown.textContent; seen = now }
      }
      if (play.textContent === "Play") done(); else requestAnimationFrame(look)
    }
    requestAnimationFrame(look)
  })
  return {frames, seconds: (performance.now() - start) / 1000}
}
"""


@dataclass(frozen=True)
class DrawnJob(Job):
    """A job whose frames were drawn before: what is left is the encoder's own time."""

    drawn: list[np.ndarray] = field(default_factory=list)

    def pictures(self) -> Iterator[np.ndarray]:
        """The frames."""
        yield from self.drawn


def run(options: Namespace) -> dict[str, Any]:
    """100 frames of 960 x 540 at m = 1500, each figure the median of three; `--quick`: 10 frames, once."""
    frames, repeats = (10, 1) if options.quick else (FRAMES, REPEATS)
    made = api.run(num_particles=PARTICLES, budget=100 * (frames + 1))
    figures: dict[str, Any] = {"frames": frames, "particles": PARTICLES, "size": "960x540"}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        figures |= _taken(made, frames, folder, repeats)
        figures["parts"] = _parts(made, frames, folder, repeats)
        raced = race(DEFAULT_ENTRANTS, budget=100 * (frames + 1))
        entrants = [one.label for one in raced.entrants]
        figures["race"] = {"entrants": entrants, **_taken(raced, frames, folder, repeats)}
    figures["peak_memory_megabytes"] = round(_peak_memory())
    figures["load_after"] = [round(x, 2) for x in os.getloadavg()]
    return figures


def _taken(made: Run | RaceResult, frames: int, folder: Path, repeats: int) -> dict[str, Any]:
    """Each kind of film: its seconds, its size, and how fast the player plays."""
    figures: dict[str, Any] = {}
    for suffix in (".gif", ".mp4", ".html"):
        path = folder / f"film{suffix}"
        taken = _median(lambda path=path: made.export(path, frames=frames), repeats)
        figures[suffix[1:]] = {**taken, "megabytes": round(path.stat().st_size / 1e6, 3)}
    figures["gif"] |= _counted(folder / "film.gif")
    figures["player"] = _played(made, frames, folder / "fast.html", repeats)
    return figures


def _median(act: Callable[[], Any], repeats: int) -> dict[str, float]:
    """Median wall and CPU seconds of `act`, children (an encoder) counted in the CPU's."""
    taken = []
    for _ in range(repeats):
        wall, spent = time.perf_counter(), _cpu()
        act()
        taken.append((time.perf_counter() - wall, _cpu() - spent))
    wall_s, cpu_s = np.median(taken, axis=0)
    return {"seconds": round(float(wall_s), 2), "cpu_seconds": round(float(cpu_s), 2)}


def _cpu() -> float:
    parts = os.times()
    return parts.user + parts.system + parts.children_user + parts.children_system


def _counted(path: Path) -> dict[str, int]:
    """Frames of an animation, and how many of them differ, as Pillow counts them."""
    from PIL import Image, ImageSequence

    with Image.open(path) as image:
        pictures = [frame.convert("RGB").tobytes() for frame in ImageSequence.Iterator(image)]
    return {"frames": len(pictures), "different": len(set(pictures))}


def _parts(made: Run, frames: int, folder: Path, repeats: int) -> dict[str, Any]:
    """Where the time goes: the replay, the drawing, and each encoder with the frames drawn before (its ceiling)."""
    look = Look.checked({"frames": frames})
    film = Film(made, look)
    job = Job(film, folder / "part", lambda done, total: None)
    scenes = list(job.scenes())
    picture = picture_of(film, scenes[0])
    drawn = [picture.draw(scene).copy() for scene in scenes]
    found = {
        "replay_and_columns": _median(lambda: list(job.scenes()), repeats),
        "drawing": _median(lambda: [picture.draw(scene) for scene in scenes], repeats),
    }
    for suffix in (".gif", ".mp4"):
        ready = DrawnJob(film, folder / f"ready{suffix}", job.progress, drawn)
        found[f"encoding_{suffix[1:]}"] = _median(lambda ready=ready, s=suffix: WRITERS[s].write(ready), repeats)
    return found


def _played(made: Run | RaceResult, frames: int, path: Path, repeats: int) -> dict[str, Any]:
    """The player in a headless Chromium without a GPU, asked for 60 frames per second."""
    made.export(path, frames=frames, fps=FASTEST)
    with chromium() as browser:
        page = browser.new_page(viewport=VIEW)
        page.goto(path.as_uri())
        page.wait_for_function("document.getElementById('shown')?.textContent.startsWith('1 of')", timeout=60_000)
        rounds = [page.evaluate(PLAY_JS) for _ in range(repeats)]
    rates = sorted(each["frames"] / each["seconds"] for each in rounds)
    return {"frames_per_second": round(rates[len(rates) // 2], 1), "frames_seen": rounds[-1]["frames"], "view": VIEW}


def _peak_memory() -> float:
    """Megabytes that this process held at most."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1e6 if sys.platform == "darwin" else peak / 1e3
