"""A Langevin step of a run of coordinates, in one pass over the particles."""

from collections.abc import Callable, Iterator

import numpy as np

from pmdviz.kernels.checks import plain
from pmdviz.kernels.jit import fast_jit
from pmdviz.kernels.pool import run_blocks

ROWS_PER_BLOCK = 64


def langevin_step(points: np.ndarray, first: int, gradient: np.ndarray, normals: np.ndarray, steps: np.ndarray) -> None:
    """x += h/2 gradient + sqrt(h) normals of the coordinates from `first`, in place.

    points (m, d); gradient (m, k), normals (m, k) in single precision; steps h > 0 (k,), in the units of theta^2.
    """
    gradient, halves, roots = plain(gradient), 0.5 * steps, np.sqrt(steps)

    def work(a: int, b: int) -> None:
        _step(points[a:b], first, gradient[a:b], normals[a:b], halves, roots)

    run_blocks(work, len(points), ROWS_PER_BLOCK, float(gradient.size))


@fast_jit
def _step(points, first, gradient, normals, halves, roots):
    for i in range(points.shape[0]):
        x = points[i, first:]
        for k in range(halves.size):
            x[k] += halves[k] * gradient[i, k] + roots[k] * normals[i, k]


def warm_up_calls() -> Iterator[tuple[str, str, Callable[[], object]]]:
    """One call of the kernel."""
    part, normals = np.zeros((2, 1)), np.zeros((2, 1), np.float32)
    yield (
        "langevin_blocks",
        "Langevin steps of a block",
        lambda: langevin_step(np.zeros((2, 3)), 1, part, normals, np.ones(1)),
    )
