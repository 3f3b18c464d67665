"""Annealed importance sampling: moves keep their density, pilots alone tune it, batches ruin it, failures say so."""

import numpy as np
import pytest

import pmdviz
from pmdviz.methods import METHODS
from pmdviz.methods.annealing import Rung, Walkers, settled, walked
from pmdviz.targets import make_target
from tests.support.engine import errors_from


def test_a_random_walk_leaves_a_tempered_density_as_it_is():
    """At β = 1/2 the likelihood counts as that of half the data."""
    target = make_target("gaussian", num_data=8, dim=1, sigma_x=2.0)
    half = 1 / (1 + 0.5 * 8 / 4.0)
    rng, mean = np.random.default_rng(3), half * 0.5 * target.data.sum() / 4.0
    points = mean + np.sqrt(half) * rng.standard_normal((4000, 1))
    blank = np.empty((0, 1))
    walkers = Walkers(points, blank, target.log_prior(points), target.log_likelihood(points, target.data), blank, blank)
    for _ in range(15):
        walkers, _, _ = walked(rng, walkers, Rung(target, target.data, 0.5, 1.0))
    z = (walkers.points[:, 0] - mean) / np.sqrt(half)
    assert abs(errors_from(z, 0)) < 4 and abs(errors_from(z**2, 1)) < 4


def test_pilots_alone_tune_the_step():
    method, target = METHODS["ais"], make_target("gaussian")
    knobs = method.Knobs.checked({"num_particles": 20})
    state = method.init(np.random.default_rng(0), target, knobs)
    assert len(state.walkers.points) == 52 and len(state.particles) == 20
    longer, shorter = (
        settled(state._replace(rung=1), state.walkers, np.r_[np.full(20, 1 - share), np.full(32, share)], 0.75, knobs)
        for share in (1.0, 0.0)
    )
    assert shorter.time_step < knobs.time_step < longer.time_step
    assert longer.time_steps[1] == knobs.time_step


def test_batches_ruin_the_evidence_and_more_temperatures_make_it_worse():
    """About T/(p + 1) (N/B - 1) nats are lost where each move forgets its start; less where it does not."""
    options, errors = {"num_data": 200, "dim": 1, "sigma_x": 1.0}, {}
    for batch, T in ((200, 100), (40, 100), (40, 300)):
        knobs = {"batch_size": batch, "num_temperatures": T, "num_particles": 100}
        final = pmdviz.run(
            target="gaussian", target_options=options, method="stochastic_ais", floor=False, **knobs
        ).final
        errors[batch, T] = final.metrics["log_z_error"]
        assert final.state.beta == 1
    assert abs(errors[200, 100]) < 0.5
    assert -100 < errors[40, 100] < -20 and errors[40, 300] < 2 * errors[40, 100]


def elsewhere(below, dim=1):
    """A q0 that is uniform on the unit cube; a density that is 0 but where the first coordinate is above `below`."""
    return pmdviz.custom_target(
        log_prior=lambda t: np.where(((t >= 0) & (t <= 1)).all(axis=1), 0.0, -np.inf),
        log_likelihood=lambda t, rows: np.where(t[:, 0] > below, -t[:, 0], -np.inf),
        sample_prior=lambda rng, n: rng.random((n, dim)),
        data=None, dim=dim, name="elsewhere", bounds=[(0.0, 3.0)] * dim,
    )  # fmt: skip


@pytest.mark.ci
def test_particles_of_weight_0_are_counted_and_log_z_is_right():
    """Half of q0 has density 0: Z = the integral of exp(-t) over [1/2, 1]; a random walk, without a gradient."""
    found = []
    for seed in range(30):
        run = pmdviz.run(
            target=elsewhere(0.5), method="ais", seed=seed, num_particles=40, num_temperatures=5, floor=False
        )
        assert 5 < run.final.info.zero_weight < 35
        found.append(np.exp(run.final.metrics["log_z"]))
    assert abs(errors_from(found, np.exp(-0.5) - np.exp(-1))) < 4


def test_without_gradients_walks_are_those_of_ais():
    """Bit for bit those of AIS on a target that has none; where there is one, it is not evaluated."""
    bare = make_target("gaussian", num_data=6)
    bare.declared = frozenset()
    states = []
    for name, target in (("ais", bare), ("gf_ais", bare), ("gf_ais", make_target("gaussian", num_data=6))):
        method, rng = METHODS[name], np.random.default_rng(0)
        walk = {"proposals": "walk"} if name == "gf_ais" else {}
        knobs = method.Knobs.checked({"num_particles": 20, "num_temperatures": 10, **walk})
        state = method.init(rng, target, knobs)
        while not method.ended(state, knobs, target):
            state, info = method.step(rng, state, target, target.data_rows, knobs)
            assert info.gradient_evaluations == 0 and 0 < info.density_evaluations <= 2 * 52 * 6
        states.append(state)
    for state in states[1:]:
        np.testing.assert_array_equal(state.walkers.points, states[0].walkers.points)
        np.testing.assert_array_equal(state.log_weights, states[0].log_weights)


def test_langevin_proposals_by_a_surrogate_are_metropolis_hastings():
    """In plain NumPy: the drift (0.88), and acceptance by p(θ') q(θ | θ') / (p(θ) q(θ' | θ)) with Gaussian q."""
    target, (n, pilots, step) = make_target("gaussian", num_data=6, dim=2), (40, 12, 0.9)
    points = target.exact.sample(np.random.default_rng(1), n)
    blank = np.empty((0, 2))
    log_l = target.log_likelihood(points, target.data)
    walkers = Walkers(points, np.zeros((n, 2)), target.log_prior(points), log_l, blank, blank)
    at, method = Rung(target, target.data, 0.7, step, pilots), METHODS["gf_ais"]
    unit, z = target.scale, np.random.default_rng(5).standard_normal((n, 2))

    def log_p(x):
        return target.log_prior(x) + 0.7 * target.log_likelihood(x, target.data)

    def drift(x, centres):
        apart = x[:, None] / unit - centres / unit
        between = (centres[:, None] - centres) / unit
        h = np.median(np.linalg.norm(between, axis=2)[np.triu_indices(len(centres), 1)]) ** 2
        h /= 2 * np.log(len(centres) + 1)
        masses = np.exp(log_p(centres) - log_p(centres).max()) * np.exp(-(apart**2).sum(axis=2) / h)
        return (masses[:, :, None] * -2 / h * apart).sum(axis=1) / masses.sum(axis=1)[:, None]

    def log_q(to, start, centres):
        return -0.5 * (((to - start) / unit - 0.5 * step**2 * drift(start, centres)) ** 2).sum(axis=1) / step**2

    log_u = np.random.default_rng(5)
    log_u.standard_normal((n, 2))
    log_u = np.log1p(-log_u.random(n))
    halves = {"pilots": ((0, 28, 28, 40), (28, 34, 34, 40), (34, 40, 28, 34)), "printed": ((0, 40, 0, 40),)}
    for proposals, groups in halves.items():
        wanted = points.copy()
        for a, b, c, d in groups:
            x, centres = points[a:b], points[c:d]
            new = x + unit * (0.5 * step**2 * drift(x, centres) + step * z[a:b])
            ratio = log_p(new) - log_p(x) + log_q(x, new, centres) - log_q(new, x, centres)
            wanted[a:b][log_u[a:b] < ratio] = new[log_u[a:b] < ratio]
        knobs = method.Knobs.checked({"proposals": proposals})
        moved = method.move(np.random.default_rng(5), walkers, at, knobs)
        np.testing.assert_allclose(moved.walkers.points, wanted, atol=1e-12)
        assert 0.3 < moved.accepted.mean() < 1
    alone = method.move(np.random.default_rng(5), walkers, at._replace(pilots=0), method.Knobs.checked({}))
    walk = walked(np.random.default_rng(5), walkers, at)
    np.testing.assert_array_equal(alone.walkers.points, walk.walkers.points)
