"""The last two pictures: a mode that some seeds lose, and what dimension does."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pmdviz.engine.frame import Frame
from pmdviz.engine.recipe import Recipe
from pmdviz.essay.drawing import POINT, Axis, Found, Layer, Panel, Picture, found, marker, static
from pmdviz.essay.particles import dots, frames_at, stage
from pmdviz.experiments.dimension import EXACT, Dimension
from pmdviz.experiments.running import EXPERIMENTS
from pmdviz.metrics.modes import modes

SEEDS = [*range(8)]
LOST = 0.02  # mass of a mode below which nothing comes back
DIMS = [1, 2, 3, 5, 10, 20]
SHOWN = {
    "pmd_weights": ("weights alone", "approximate"),
    "pmd": ("with new particles", "particles"),
    EXACT: ("as many independent draws", "exact"),
}
RUNS, PARTICLES, NUM_DATA = 3, 500, 500


def lost_recipe(seed: int) -> Recipe:
    """Large first steps on small batches."""
    return Recipe("mixture", seed=seed, budget=4000, eta=1.0, n0=10.0, batch_size=20, step_limit=0.0)


def mode_masses(frame: Frame) -> tuple[float, float]:
    """Of the mode that q has least of: its mass in q, and exactly."""
    found = modes(frame.target)
    return min(zip(found.masses_of(frame.density), map(float, found.masses), strict=True))


def lost() -> Found:
    """The same settings with eight seeds: the ESS and three distances."""
    frames = [frames_at(lost_recipe(seed), [10**9])[0] for seed in SEEDS]
    ess, tv = [frame.metrics["ess"] for frame in frames], [frame.tv for frame in frames]
    mass, exact = zip(*map(mode_masses, frames), strict=True)
    m, n, batch = len(frames[0].particles), frames[0].num_data, frames[0].knobs.batch_size
    rows = {
        "seed": SEEDS,
        "tv": tv,
        "ess": ess,
        "share": [100 * each / m for each in ess],
        "forward": [frame.metrics["kl_forward"] for frame in frames],
        "reverse": [frame.metrics["kl_reverse"] for frame in frames],
        "mass": mass,
        "exact": exact,
    }
    fixed = {"runs": len(SEEDS), "m": m, "lost": sum(each < LOST for each in mass), "threshold": LOST}
    picture = stage(frames[0], Layer("particles", "particles", [dots(frame, 300) for frame in frames], "dots"))
    panels = picture, compared({"ESS / m": np.array(ess) / m, "TV": np.array(tv)})
    return found(panels, rows, batch=batch, num_data=n, times=n / batch, **fixed)


def compared(shares: dict[str, np.ndarray]) -> Panel:
    """The panel of ESS and TV against the seed."""
    size = np.full(len(SEEDS), POINT)
    layers = [
        Layer(name, colour, static(x=SEEDS, y=y, size=size), "points")
        for colour, (name, y) in zip(("first_path", "approximate"), shares.items(), strict=True)
    ]
    axes = Axis("seed of the run", -0.5, len(SEEDS) - 0.5), Axis("share", 0.0, 1.0)
    return Panel("Healthy by ESS, wrong by TV", *axes, [*layers, marker(SEEDS, 0.0, 1.0)])


def means(rows: Sequence[dict[str, float]], column: str) -> list[float]:
    """For each d the mean over the runs."""
    return [float(np.mean([row[column] for row in rows if row["d"] == d])) for d in DIMS]


def rows_of(entrant: str) -> list[dict[str, float]]:
    """The rows of the experiment `dimension` for one entrant at every d."""
    experiment = EXPERIMENTS[Dimension.name]
    shared = {"family": "linear", "num_particles": PARTICLES, "num_data": NUM_DATA, "visited": None, "entrant": entrant}
    return [row for d in DIMS for seed in range(RUNS) for row in experiment.run({**shared, "dim": d, "seed": seed})]


def dimension() -> Found:
    """Linear regression with more and more features, at a fixed number of particles."""
    measured = {entrant: rows_of(entrant) for entrant in SHOWN}
    errors = {entrant: means(rows, "mean_error") for entrant, rows in measured.items()}
    ess = {entrant: means(measured[entrant], "ess") for entrant in ("pmd_weights", "pmd")}
    panels = (
        against_dimension("Error of the mean", Axis("posterior sds", 0.003, 100.0, log=True), errors, named=True),
        against_dimension("Effective sample size", Axis("ESS", 1.0, 600.0, log=True), ess, named=False),
    )
    rows = {"d": DIMS, "weights": errors["pmd_weights"], "pmd": errors["pmd"], "exact": errors[EXACT]}
    last = {"last": DIMS[-1], "last_pmd": errors["pmd"][-1], "last_exact": errors[EXACT][-1]}
    return found(panels, {**rows, "ess": ess["pmd_weights"]}, m=PARTICLES, runs=RUNS, num_data=NUM_DATA, **last)


def against_dimension(title: str, up: Axis, lines: dict[str, list[float]], named: bool) -> Panel:
    """A panel with d along its axis."""
    layers = [Layer(SHOWN[name][0] if named else "", SHOWN[name][1], static(x=DIMS, y=y)) for name, y in lines.items()]
    across = Axis("dimension d", DIMS[0], DIMS[-1], log=True)
    return Panel(title, across, up, [*layers, marker(DIMS, up.low, up.high)])


def dimension_recipe() -> Recipe:
    """Ten features, weights alone."""
    options = {"dim": 10, "num_data": NUM_DATA, "correlation": 0.0}
    return Recipe("linear", target_options=options, num_particles=PARTICLES, policy="never", step_limit=0.0)


PICTURES = (
    Picture(
        "lost", "Eight runs that differ by their seed alone", "Seed of the run", SEEDS, "g", 3,
        "ESS {lost.share:.0f} percent, TV {lost.tv:.3f}, mass of the lighter mode {lost.mass:.3f}",
        lambda: lost_recipe(3), lost,
    ),
    Picture(
        "dimension", "More and more dimensions", "Dimension d", DIMS, "g", 3,
        "error {dimension.weights:.2f} sds from weights alone, {dimension.pmd:.2f} with new particles",
        dimension_recipe, dimension,
    ),
)  # fmt: skip
