"""The public functions, as a person meets them."""

import os
import subprocess
import sys

import numpy as np
import pytest

import pmdviz
from tests.support.tables import refused

SMALL = {"target": "gaussian", "num_particles": 50, "budget": 200}


@pytest.mark.ci
def test_a_run_without_the_compiler_is_the_same():
    """`NUMBA_DISABLE_JIT=1`, as one debugs kernels; in one dimension the plain loops end within seconds."""
    small = {"target": "bimodal1d", "num_particles": 20, "budget": 200, "floor": False}
    code = f"import pmdviz; print(*pmdviz.run(**{small}).particles.ravel())"
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    plain = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, timeout=300)
    assert plain.returncode == 0, plain.stderr
    found = [float(word) for word in plain.stdout.split()]
    np.testing.assert_allclose(found, pmdviz.run(**small).particles.ravel(), rtol=1e-6)


def test_a_run_can_be_read_and_measures_as_often_as_asked():
    run = pmdviz.run(**SMALL)
    assert run.particles.shape == (50, 2) and run.weights.sum() == pytest.approx(1)
    assert run.log_density(np.zeros((3, 2))).shape == (3,)
    np.testing.assert_allclose(run.sample(4000).mean(axis=0), run.mean(), atol=0.1)
    np.testing.assert_allclose(np.cov(run.sample(4000).T), run.cov(), atol=0.1)
    assert run.sample(3).tolist() == run.sample(3, seed=0).tolist() != run.sample(3, seed=1).tolist()
    assert run.frames[-1].metrics["tv"] == run.history["tv"][-1]
    assert run.frames[-1].metrics["floor_tv"] > 0
    keys = {"tv", "kl_forward", "kl_reverse", "cross_entropy", "ess", "mass_outside", "floor_kl", "floor_tv_se"}
    assert pmdviz.run(**SMALL, floor=False).final.metrics.keys() >= keys
    assert run.final.visited == 200
    assert f"TV {run.final.metrics['tv']:.3g}" in repr(run) and "gaussian" in repr(run)
    seen = []
    run = pmdviz.run(
        **SMALL, batch_size=10, metrics_every=4, progress=lambda session: seen.append(session.frame.iteration)
    )
    assert run.history["iteration"].tolist() == [0, 4, 8, 12, 16, 20] and seen == [*range(1, 21)]


def test_what_cannot_be_run_drawn_or_looked_up_is_refused():
    for parts, words in [
        ({"budget": None}, "run needs a budget"),
        ({"num_particle": 5}, "did you mean 'num_particles'"),
        ({"recipe": "mixture"}, "unknown preset 'mixture'"),
        ({"metrics_every": 0}, "metrics_every must be"),
        ({"progress": 3}, "progress must be a function or None; got 3"),
    ]:
        refused(words, pmdviz.run, **parts)
    for besides in ({"eta": 1}, {"seed": 5}, {"target": "bimodal1d"}, {"budget": 7}, {"method": "x"}):
        refused("already holds all of the run; leave out ", pmdviz.run, pmdviz.Recipe(**SMALL), **besides)
    recipe = pmdviz.Recipe(**SMALL)
    refused("a file needs a path .*; got 3", pmdviz.sweep, recipe, {"num_particles": [5]}, seeds=1, path=3)
    refused("progress must be a function", pmdviz.sweep, recipe, {"num_particles": [5]}, seeds=1, progress=3)
    refused("progress must be a function or None; got 3", pmdviz.race, "pmd", "gaussian", progress=3)
    run = pmdviz.run(**SMALL, floor=False)
    for n in (0, 1.5, True, 10_000_001):
        refused("n must be a whole number at least 1 and at most 10,000,000", run.sample, n)
    refused("seed must be a whole number", run.sample, 3, seed=-1)
    for points, words in [
        (np.zeros((3, 1)), r"theta must have shape \(m, 2\)"),
        ([[0.0, 0.0], [np.nan, 0.0]], r"points must be finite; got \[nan, 0.0\]"),
        ("a", r"theta must be real numbers of shape \(m, 2\); got 'a'"),
        ([[1], [2, 3]], "theta must be real numbers"),
        (None, "theta must have shape"),
    ]:
        refused(words, run.log_density, points)
