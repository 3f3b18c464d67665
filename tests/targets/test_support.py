"""Priors that end: the exact posterior keeps the mass at the edge, and runs go on past particles outside."""

import numpy as np
import pytest

import pmdviz

WIDE = {"bandwidth_rule": "isotropic", "bandwidth": 0.3}  # kernels that reach beyond the edge


def exponential(rate, dim=1):
    """Exp(1) priors whose posteriors are Exp(rate), by rate - 1 data that are all one."""
    return pmdviz.custom_target(
        log_prior=lambda theta: np.where((theta >= 0).all(axis=1), -theta.sum(axis=1), -np.inf),
        log_likelihood=lambda theta, batch: -theta.sum(axis=1) * batch.sum(),
        sample_prior=lambda rng, n: rng.exponential(size=(n, dim)),
        data=np.ones(rate - 1),
        dim=dim,
        name="edge",
    )


def coin():
    """Seven throws; the likelihood is not defined outside (0, 1)."""
    return pmdviz.custom_target(
        log_prior=lambda t: np.where(((t > 0) & (t < 1)).all(axis=1), 0.0, -np.inf),
        log_likelihood=lambda t, b: b.sum() * np.log(t[:, 0]) + (len(b) - b.sum()) * np.log1p(-t[:, 0]),
        sample_prior=lambda rng, n: rng.random((n, 1)),
        data=np.array([1.0, 0, 1, 1, 0, 1, 1]),
        dim=1,
        name="coin",
    )


@pytest.mark.parametrize("rate, dim", [(50, 1), (501, 1), (5001, 1), (501, 2)])
def test_the_mass_at_a_hard_edge_is_kept(rate, dim):
    exact, error = exponential(rate, dim).exact, {1: 0.01, 2: 0.1}[dim]  # a cell at the edge counts by its centre
    assert exact.log_z == pytest.approx(-dim * np.log(rate), abs=error)
    np.testing.assert_allclose(exact.mean * rate, 1.0, atol=error)


def test_a_likelihood_is_not_asked_outside_the_support():
    run = pmdviz.run(target=coin(), budget=700, num_particles=400, policy="always", floor=False, **WIDE)
    assert run.target.exact.mean[0] == pytest.approx(6 / 9, abs=1e-3)
    inside = (run.particles[:, 0] > 0) & (run.particles[:, 0] < 1)
    assert not inside.all() and run.weights[~inside].sum() == 0
    assert run.final.info.zero_weight == (~inside).sum()


def test_targets_states_and_exact_posteriors_are_closed_to_writing():
    run = pmdviz.run(target="mixture", budget=200, num_particles=50, floor=False)
    frame = run.final
    arrays = [run.target.data, run.target.exact.mean, frame.particles, frame.weights, frame.grid.log_p]
    arrays += [part for part in frame.state if isinstance(part, np.ndarray)]
    assert not any(array.flags.writeable for array in arrays)
