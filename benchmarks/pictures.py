"""Pictures of the README and the docs: the lab as it plays its first run, and the mean of ten runs by method."""

from __future__ import annotations

import io
from argparse import Namespace
from pathlib import Path
from typing import Any

import numpy as np

import pmdviz
from pmdviz.densities.density import Grid
from pmdviz.errors import InputError
from pmdviz.experiments.race import RaceRecipe
from tests.support.browser import await_picture, chromium, lab_server, open_page

FILM = Path("assets/lab.gif")
MEANS, METHODS = Path("assets/mean-of-runs.png"), "pmd,pmd:warm_start=true,smc,gibbs,sgld,svi,npv"
RUNS, BUDGET, SIDE = 10, 20_000, 200  # runs per method, observations per run, cells along each axis
FILM_SIZE, FILM_WIDTH, FILM_MS, LAST_MS, COLOURS = (1280, 800), 800, 120, 3000, 256


def run(options: Namespace) -> dict[str, Any]:
    """Write assets/lab.gif and assets/mean-of-runs.png; figures: frames and sizes."""
    try:
        from PIL import Image
    except ImportError as error:
        raise InputError("the pictures need Pillow: pip install 'pmdviz[bench]'") from error
    _draw(*_means())
    with lab_server() as (port, _), chromium() as browser:
        frames = [Image.open(io.BytesIO(shot)) for shot in _film(browser, port)]
    _write_gif(frames, Image)
    sizes = {path.name: {"kilobytes": round(path.stat().st_size / 1000)} for path in (FILM, MEANS)}
    return {**sizes, FILM.name: {"frames": len(frames), **sizes[FILM.name]}}


def _means() -> tuple[Grid, dict[str, np.ndarray]]:
    """A grid, and on it the exact posterior of `mixture` and the mean density of the runs of each method."""
    race = RaceRecipe.checked(METHODS, "mixture", None, BUDGET, RUNS)
    grid = Grid(race.target.view_box, SIDE)
    means = {"exact posterior": np.exp(race.target.exact.log_density(grid.points)).reshape(grid.shape)}
    for one in race.entrants:
        runs = (pmdviz.run(race.of(one, seed), metrics_every=BUDGET, floor=False) for seed in race.seeds)
        means[one.title] = np.mean([run.final.density.on_grid(grid) for run in runs], axis=0)
    return grid, means


def _draw(grid: Grid, means: dict[str, np.ndarray]) -> None:
    """A panel each, on one scale of colours."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.6, 5.2), layout="constrained")
    look = dict(origin="lower", extent=np.ravel(grid.box), vmin=0, vmax=means["exact posterior"].max(), aspect="auto")
    for axes, (title, q) in zip(figure.subplots(2, 4, sharex=True, sharey=True).flat, means.items(), strict=True):
        axes.imshow(q, cmap="Blues", interpolation="nearest", **look)
        axes.set_title(title, fontsize=9)
    figure.supxlabel("θ₁", fontsize=9)
    figure.supylabel("θ₂", fontsize=9)
    figure.savefig(MEANS, dpi=100, pil_kwargs={"optimize": True})


def _film(browser: Any, port: int) -> list[bytes]:
    """Screenshots of a whole run as it plays."""
    page = open_page(browser, port, FILM_SIZE)
    await_picture(page)
    page.wait_for_function("/independent draws [0-9]/.test(pmdviz.words())", timeout=60_000)
    shots = [page.screenshot()]
    page.get_by_role("button", name="Play", exact=True).click()
    while page.evaluate("pmdviz.iteration()") < 200 and len(shots) < 120:
        shots.append(page.screenshot())
    page.wait_for_timeout(800)
    shots.append(page.screenshot())
    page.close()
    return shots


def _write_gif(frames: list[Any], image: Any) -> None:
    """One palette for all frames, that of six of them side by side, against flicker."""
    height = round(FILM_WIDTH * FILM_SIZE[1] / FILM_SIZE[0])
    small = [frame.convert("RGB").resize((FILM_WIDTH, height), image.Resampling.LANCZOS) for frame in frames]
    some = small[:: max(1, len(small) // 6)]
    palette = image.fromarray(np.hstack([np.asarray(frame) for frame in some])).quantize(COLOURS)
    drawn = [frame.quantize(palette=palette, dither=image.Dither.NONE) for frame in small]
    durations = [FILM_MS] * (len(drawn) - 1) + [LAST_MS]
    drawn[0].save(FILM, save_all=True, append_images=drawn[1:], duration=durations, loop=0, optimize=True)
