"""A target of one's own judged by draws that a person trusts."""

import numpy as np
import pytest

import pmdviz
from pmdviz.engine.recipe.recipe import Recipe

DRAWS = np.random.default_rng(0).normal([1.0, 2.0, 3.0], [1.0, 2.0, 0.5], size=(5, 400, 3))


def made(**parts):
    plain = {
        "log_prior": lambda theta: -0.5 * (theta**2).sum(axis=1),
        "log_likelihood": lambda theta, rows: np.zeros(len(theta)) * len(rows),
        "sample_prior": lambda rng, m: rng.standard_normal((m, parts.get("dim", 3))),
    }
    return pmdviz.custom_target(**plain, **{"data": None, "dim": 3, "name": "mine", **parts})


def test_runs_are_judged_by_the_draws():
    target = made(reference_draws=DRAWS)
    found = target.reference()
    np.testing.assert_allclose(found.mean, DRAWS.mean(axis=(0, 1)))
    np.testing.assert_allclose(found.mean_error, DRAWS.mean(axis=1).std(axis=0, ddof=1) / np.sqrt(5))
    run = pmdviz.run(Recipe(target, "smc", budget=400, num_particles=200))
    assert run.final.metrics["mean_error"] > 0.5 and made().reference() is None


def test_draws_are_used_also_where_a_grid_would_do():
    parts = {"dim": 1, "reference_draws": DRAWS[:, :, :1]}
    assert made(**parts).exact is None and made(dim=1).exact is not None
    assert made(**parts).reference().mean[0] == pytest.approx(1, abs=0.1)


def test_caches_tell_targets_apart_by_their_draws_and_recipes_do_not():
    one, other = made(reference_draws=DRAWS), made(reference_draws=DRAWS + 1)
    assert one.key != other.key and one.key == made(reference_draws=DRAWS.copy()).key
    assert one.fingerprint == other.fingerprint == made().fingerprint


def test_the_draws_are_a_copy_that_nobody_writes_to():
    own = DRAWS.copy()
    target = made(reference_draws=own)
    own[:] = 0
    assert target.reference().mean[2] == pytest.approx(3, abs=0.1)
    with pytest.raises(ValueError, match="read-only"):
        target.judged_by[0] = 0
