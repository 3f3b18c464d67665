"""What is claimed of SVGD as runs and one number each: the variance that a kernel width keeps, modes, and mixtures.

Also the force of other libraries at the same particles, for an outside opinion on ours: where blackjax, optax and
numpyro are installed, `python -m benchmarks.helpers.svgd_rows` prints by how much it differs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from benchmarks.helpers.contest import needed
from benchmarks.helpers.peers import one_thread_jax
from pmdviz.engine.recipe import Recipe
from pmdviz.engine.run import Run
from pmdviz.kernels.clusters import median_distance
from pmdviz.kernels.stein_forces import stein_force
from pmdviz.metrics.modes import modes

M, ITERATIONS = 100, 1000
# rule -> d -> variance ratio of 100 particles on N(0, I) after 1,000 steps of Adam(.05), measured independently
E1 = {
    "thesis": {1: 0.945, 2: 0.846, 5: 0.335, 10: 0.046, 25: 0.003},
    "liu_wang": {1: 0.962, 2: 0.918, 5: 0.705, 10: 0.432, 25: 0.157},
    "median": {1: 0.994, 2: 0.978, 5: 0.942, 10: 0.908, 25: 0.864},
}
ROUND = {"num_components": 1, "spread": 0.0, "variance": 1.0, "q0_sd": 1.0}
FAR = {"num_components": 2, "arrangement": "line", "spread": 6.0, "variance": 1.0}


class Row(NamedTuple):
    """A recipe, to be run on fresh seeds, and the number that is looked at."""

    name: str
    recipe: Recipe
    statistic: Callable[[Run], float]
    wanted: float | None = None  # where it was measured elsewhere


def variance_ratio(run: Run) -> float:
    """The particles' mean variance over the target's, without any smoothing kernel."""
    return float(run.final.particles.var(axis=0).mean() / np.diag(run.target.reference().cov).mean())


def lightest_mode(run: Run) -> float:
    """The mass of q in the mode where it has least."""
    return min(modes(run.target).masses_of(run.final.density))


def total_variation(run: Run) -> float:
    """TV to the exact density."""
    return float(run.final.metrics["tv"])


def recipe_of(options: dict[str, Any], iterations: int = ITERATIONS, **knobs: Any) -> Recipe:
    """100 particles on `gmm`; the budget counts evaluations."""
    knobs = {"num_particles": M, "batch_size": 1, **knobs}
    return Recipe("gmm", "svgd", target_options=options, budget=iterations * knobs["num_particles"], **knobs)


def svgd_rows() -> Iterator[Row]:
    """All of them."""
    for rule, ratios in E1.items():
        for dim, wanted in ratios.items():
            recipe = recipe_of({**ROUND, "dim": dim}, length_scale_rule=rule, median="exact")
            yield Row(f"E1: N(0, I), {rule}, d = {dim}", recipe, variance_ratio, wanted)
    for dim in (10, 25):
        recipe = recipe_of({**ROUND, "dim": dim}, length_scale_rule="thesis", kernel="imq")
        yield Row(f"N(0, I), IMQ, thesis, d = {dim}", recipe, variance_ratio)
    for rule in ("thesis", "liu_wang", "median", "local"):
        yield Row(f"ten Gaussians in the plane, {rule}", recipe_of({}, 400, length_scale_rule=rule), total_variation)
    for annealing, words in (("off", "plain"), ("on", "annealed")):
        far = recipe_of({**FAR, "q0_mean": -4.0, "q0_sd": 2.0}, 400, annealing=annealing)
        yield Row(f"two far modes from one side, {words}", far, lightest_mode)
        wide = {"annealing": annealing, "num_temperatures": 200, "length_scale_rule": "median"}
        some = recipe_of({**FAR, "q0_mean": -3.0, "q0_sd": 3.0}, 400, **wide)
        yield Row(f"two far modes, a sixth on the other side, {words}", some, lightest_mode)


def outside_opinions(m: int = 60, dim: int = 3) -> dict[str, float]:
    """Largest difference between our force and another library's at the same particles, scores and h.

    h is that library's own: med^2 / log(m), where ours has m + 1; numpyro's median is over all pairs (i, j), those with
    i = j too. Relative to the largest component. ImportError where one is not installed.
    """
    rng = np.random.default_rng(0)
    x = rng.standard_normal((m, dim))
    h = median_distance(x) ** 2 / np.log(m)
    with_itself = np.median(np.sqrt(((x[:, None] - x) ** 2).sum(axis=-1))) ** 2 / np.log(m)
    found = {"blackjax": (_blackjax_force(x, h), h), "numpyro": (_numpyro_force(x), with_itself)}
    return {name: _apart(force, stein_force(x, -x, own)) for name, (force, own) in found.items()}


def _apart(theirs: np.ndarray, ours: np.ndarray) -> float:
    return float(np.abs(theirs - ours).max() / np.abs(ours).max())


def _blackjax_force(x: np.ndarray, h: float) -> np.ndarray:
    """A step of size 1 of its svgd on N(0, I)."""
    blackjax, optax = needed("blackjax", "optax")
    jax = one_thread_jax()
    svgd = blackjax.svgd(jax.grad(lambda theta: -0.5 * (theta**2).sum()), optax.sgd(1.0))
    state = svgd.init(jax.numpy.asarray(x), {"length_scale": h})
    return np.asarray(svgd.step(state).particles) - x


def _numpyro_force(x: np.ndarray) -> np.ndarray:
    """By its RBF kernel, whose width is its own, and the formula's two terms."""
    (kernels,) = needed("numpyro.contrib.einstein.stein_kernels")
    jax = one_thread_jax()
    points = jax.numpy.asarray(x)
    kernel = kernels.RBFKernel().compute(jax.random.PRNGKey(0), points, {}, None)

    def summand(other: Any, at: Any) -> Any:
        return -other * kernel(other, at) + jax.grad(kernel)(other, at)

    each = jax.vmap(lambda at: jax.vmap(lambda other: summand(other, at))(points).mean(axis=0))
    return np.asarray(each(points))


if __name__ == "__main__":
    print(outside_opinions())
