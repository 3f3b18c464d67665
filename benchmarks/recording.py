"""Writes the recorded frames of the usual run, which a page plays before its kernels are compiled."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.polynomial import chebyshev

from pmdviz.densities.density import ShapedDensity
from pmdviz.engine.frame import Frame
from pmdviz.engine.session import Session
from pmdviz.lab.loop.recorded import FILE, PER_NAT
from pmdviz.metrics.perfect_draws import floor
from pmdviz.presets import PRESETS
from pmdviz.targets import Target

MOST_CLUSTERS = 4  # of a kernel's shape
DEGREE = 40  # of log p, in each coordinate


def frames() -> list[Frame]:
    """Every frame of the run that the page shows without arguments: the first preset's."""
    session = Session(next(iter(PRESETS.values())).recipe)
    found = [session.frame]
    while not session.done:
        found.append(session.advance(1))
    return found


def stored(run: list[Frame]) -> dict[str, np.ndarray]:
    """The arrays of the file."""
    drawn = [frame for frame in run if frame.info is None or frame.info.rejuvenated]
    levels = np.rint(np.array([frame.state.log_weights for frame in run]) * PER_NAT)
    shaped = [frame.density for frame in run if isinstance(frame.density, ShapedDensity)]  # all of them
    kernels = [_kernels(density) for density in shaped]
    exact = run[0].target.exact
    return {
        "about": np.frombuffer(json.dumps(_about(run), ensure_ascii=False).encode(), np.uint8),
        "particles": np.array([frame.particles for frame in drawn], np.float32),
        "parents": np.array([frame.info.parents for frame in drawn[1:]], np.int16),
        "set_at": np.array([frame.rejuvenations for frame in run], np.uint8),
        "levels": np.diff(levels, axis=0, prepend=0).astype(np.int16),
        "labels": np.array([density.labels for density in shaped], np.uint8),
        **{name: np.array([kernel[name] for kernel in kernels], np.float32) for name in kernels[0]},
        "side": np.array([frame.grid.grid.side for frame in run], np.int16),
        "metrics": np.array([[frame.metric(name) for name in run[0].traced_names] for frame in run]),
        "log_p": _series(run[0].target),
        "moments": np.vstack([exact.mean, exact.cov]),
    }


def _about(run: list[Frame]) -> dict[str, Any]:
    recipe = next(iter(PRESETS.values())).recipe
    infos = [frame.info for frame in run[1:]]
    steps = [{"words": i.words, "events": i.events, "scalars": dict(i.scalars), "cost": i.cost} for i in infos]
    return {
        "recipe": recipe.to_dict(),
        "metrics": run[0].traced_names,
        "floor": floor(run[0].target, run[0].num_draws, **run[0].drawn_as),
        "steps": steps,
        "states": [{name: v for name, v in frame.state._asdict().items() if np.isscalar(v)} for frame in run],
        "caveats": [frame.caveat for frame in run],
        "digests": [frame.digest for frame in run],
        "seconds": np.diff([frame.seconds for frame in run]).round(4).tolist(),
    }


def _kernels(density: ShapedDensity) -> dict[str, np.ndarray]:
    """Means and factors of the clusters of a shaped density, and how far its centres are drawn towards the means."""
    means, factors = np.zeros((MOST_CLUSTERS, 2)), np.zeros((MOST_CLUSTERS, 2, 2))
    factors[: len(density.factors)] = density.factors
    for c in range(len(density.factors)):
        particles, centres = density.particles[density.labels == c], density.centres[density.labels == c]
        pull = np.linalg.norm(np.std(centres, axis=0)) / np.linalg.norm(np.std(particles, axis=0))
        means[c] = (centres - pull * particles).mean(axis=0) / (1 - pull)
    return {"means": means, "factors": factors, "pull": np.asarray(pull)}


def _series(target: Target) -> np.ndarray:
    """Coefficients of log p over the view, from its values at the nodes of Chebyshev."""
    nodes = chebyshev.chebpts1(DEGREE + 1)
    x, y = ((low + high) / 2 + (high - low) / 2 * nodes for low, high in target.view_box)
    points = np.stack(np.meshgrid(x, y, indexing="ij"), axis=-1).reshape(-1, 2)
    inverse = np.linalg.inv(chebyshev.chebvander(nodes, DEGREE))
    return inverse @ target.exact.log_density(points).reshape(len(x), len(y)) @ inverse.T


if __name__ == "__main__":
    np.savez_compressed(FILE, **stored(frames()))
