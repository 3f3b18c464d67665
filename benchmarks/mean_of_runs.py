"""Figure 3 of the PMD paper: each method's density averaged over ten runs, and its TV beside the runs'."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from pmdviz.densities.grid import Grid
from pmdviz.engine.session import Session
from pmdviz.experiments.race import RaceRecipe

OPTIONS = {"seeds": 10}
FIGURE = Path("assets/mean-of-runs.png")
METHODS = "pmd,pmd:warm_start=true,smc,gibbs,sgld,svi,npv"
SIDE = 200  # cells


def run(options: Namespace) -> dict[str, Any]:
    """TV of single runs and of their mean by method; a whole bench also draws assets/mean-of-runs.png."""
    budget, seeds = (2_000, 2) if options.quick else (20_000, options.seeds)
    recipe = RaceRecipe.checked(METHODS, "mixture", None, budget, seeds)
    exact = recipe.target.exact
    grid = Grid(recipe.target.view_box, SIDE)
    p = np.exp(exact.log_density(grid.points)).reshape(grid.shape)
    means, figures = {"exact posterior": p}, {}
    for one in recipe.entrants:
        every = densities([recipe.of(one, seed) for seed in recipe.seeds], grid)
        means[one.title] = every.mean(axis=0)
        apart = [distance(q, p, grid.cell_volume) for q in (*every, means[one.title])]
        figures[one.title] = {"tv_of_runs": round(float(np.mean(apart[:-1])), 4), "tv_of_mean": round(apart[-1], 4)}
    if not options.quick:
        draw(means, grid)
    return figures


def densities(recipes: Iterable[Any], grid: Grid) -> np.ndarray:
    """The density of each run at its end, (runs, *grid.shape), per unit of theta; of a chain the better of two."""
    ends = []
    for recipe in recipes:
        session = Session(recipe, 10**9, memory_cap=0)
        while not session.done:
            session.advance(1)
        ends.append(session.frame.density.on_grid(grid))
    return np.array(ends)


def distance(q: np.ndarray, p: np.ndarray, cell: float) -> float:
    """Total variation; all mass of q outside the grid counts as misplaced."""
    return float(0.5 * (np.abs(q - p).sum() * cell + max(0.0, 1 - q.sum() * cell)))


def draw(means: dict[str, np.ndarray], grid: Grid) -> None:
    """A panel each, on one scale of colours."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.6, 5.2), layout="constrained")
    top = means["exact posterior"].max()
    (left, right), (low, high) = grid.box
    for axes, (title, q) in zip(figure.subplots(2, 4, sharex=True, sharey=True).flat, means.items(), strict=True):
        axes.imshow(
            q,
            origin="lower",
            extent=(left, right, low, high),
            vmin=0,
            vmax=top,
            cmap="Blues",
            aspect="auto",
            interpolation="nearest",
        )
        axes.set_title(title, fontsize=9)
    figure.supxlabel("θ₁", fontsize=9)
    figure.supylabel("θ₂", fontsize=9)
    figure.savefig(FIGURE, dpi=100, pil_kwargs={"optimize": True})
