"""SVGD: the formula of its step, the mean that is exact, the variance that is too small by a known factor."""

from functools import partial

import numpy as np
import pytest

from pmdviz.kernels.clusters import median_distance
from pmdviz.methods import METHODS
from pmdviz.methods.stein import KERNELS, forces, kept_variance, squared_width
from pmdviz.methods.stein.svgd import temperature, tempered_scores
from pmdviz.targets import make_target
from tests.support.engine import advanced
from tests.support.tables import looped

SVGD = METHODS["svgd"]
LINE = {"dim": 1, "num_data": 20}  # posterior variance 1/6
run = partial(advanced, "svgd", batch_size=20)  # all data a step: a deterministic flow


@looped("rule", ["liu_wang", "thesis", "median", "local", "given"])
def test_the_width_is_what_its_rule_says(rule):
    rng, target = np.random.default_rng(0), make_target("gaussian")
    particles = rng.normal(size=(400, 2))
    knobs = SVGD.Knobs.checked({"length_scale_rule": rule, "median": "exact", "length_scale": 0.7})
    squared = median_distance(particles) ** 2
    expected = {
        "liu_wang": squared / np.log(401),
        "thesis": squared / np.log(401) / 2,
        "median": squared,
        "given": 0.49,
    }
    h = squared_width(particles, knobs, target)
    if rule == "local":  # on one Gaussian what liu_wang gives
        assert h == pytest.approx(expected["liu_wang"], rel=0.15)
    else:
        assert h == pytest.approx(expected[rule], rel=1e-12)


def test_two_particles_settle_where_the_formula_says():
    """On N(0, v) with h = med^2 / log 3 and med = 2a: force 0 at exp(4 a^2 / h) = 1 + 4 v / h: a^2 = v log(3) / 2."""
    session = run(600, num_particles=2, length_scale_rule="liu_wang", target_options=LINE, eta=20, n0=200)
    exact = session.target.exact
    half = 0.5 * np.ptp(session.frame.particles)
    assert half**2 == pytest.approx(exact.cov[0, 0] * np.log(3) / 2, rel=1e-3)
    assert session.frame.particles.mean() == pytest.approx(exact.mean[0], abs=1e-3)


# Nothing is hard here: N(0, I) from N(0, I).
ROUND = {"num_components": 1, "spread": 0.0, "variance": 1.0, "q0_sd": 1.0}


@pytest.mark.parametrize(
    ("rule", "dim", "low", "high"),
    [("thesis", 2, 0.8, 0.9), ("liu_wang", 5, 0.66, 0.75), ("thesis", 10, 0.0, 0.15), ("median", 10, 0.85, 1.0)],
)
def test_the_width_decides_how_much_of_the_variance_is_kept(rule, dim, low, high):
    """Fixed points, measured from three starts: 0.845, 0.711, 0.044, 0.902."""
    options = {**ROUND, "dim": dim}  # a target without data
    frame = run(300, "gmm", batch_size=1, target_options=options, num_particles=100, length_scale_rule=rule).frame
    ratio = frame.particles.var(axis=0).mean()
    assert low < ratio < high
    assert frame.caveat.startswith("variance about") == (ratio < 0.5)
    kept = kept_variance(frame.particles, frame.state.h)
    assert kept == pytest.approx(ratio, rel=0.03)


def at_rest(m, d, steps, pace=0.5):
    """Of m particles on N(0, I) under exp(-|x-y|^2 / med^2), in plain NumPy: where the Stein force is 0, (m, d)."""
    x = np.random.default_rng(0).standard_normal((m, d))
    for _ in range(steps):
        squared = (x**2).sum(axis=1)
        r = squared[:, None] + squared - 2 * x @ x.T
        h = np.median(r[np.triu_indices(m, 1)])
        k = np.exp(-r / h)
        near = k.sum(axis=1)
        x = x + pace / near.mean() * (2 / h * (x * near[:, None] - k @ x) - k @ x)
    return x, h


@looped("m, d, sd", [(100, 10, 0.950), (100, 100, 0.759), (50, 100, 0.534)])
def test_the_number_of_particles_for_each_dimension_decides_as_well_and_what_is_shown_is_theirs(m, d, sd):
    """Ba et al. 2021. A density that falls back on the prior's width would show 0.98 of the last two, or 1.91."""
    x, h = at_rest(m, d, 800)
    assert np.sqrt(x.var(axis=0).mean()) == pytest.approx(sd, abs=0.005)
    assert kept_variance(x, h) == pytest.approx(x.var(axis=0).mean(), rel=0.01)
    for q0_sd in (1.0, 2.0):
        knobs = {"num_particles": m, "length_scale_rule": "median", "bandwidth_rule": "shaped"}
        frame = run(50, "gmm", batch_size=1, target_options={**ROUND, "dim": d, "q0_sd": q0_sd}, **knobs).frame
        own = frame.particles.std(axis=0)
        shown = [frame.metric(name) for name in ("sd_ratio_min", "sd_ratio_max")]
        np.testing.assert_allclose(shown, [own.min(), own.max()], rtol=1e-6)
        assert frame.metric("mean_error") == pytest.approx(np.abs(frame.particles.mean(axis=0)).max())
        few = m < d + 2
        assert [frame.metric(name) is None for name in ("kl_moments", "marginal_tv")] == [few, few]
        assert bool(frame.no_density) == few and (frame.caveat != "") >= few
        assert not few or {*map(tuple, frame.draws)} <= {*map(tuple, frame.particles)}


@looped("rule", ["local", "covariance", "median", "shaped"])
@looped("method", ["pmd", "importance", "svgd", "hmc"])
def test_too_few_points_for_a_density_have_widths_of_their_own_and_no_distance(method, rule):
    knobs = {"burn_in": 0} if method == "hmc" else {"num_particles": 3, "bandwidth_rule": rule}
    frame = advanced(method, 2 if method == "hmc" else 3, "gaussian", {"num_data": 20}, **knobs).frame
    x, w = frame.particles, frame.weights
    centred = x - w @ x
    np.testing.assert_allclose(frame.density.cov, (centred * w[:, None]).T @ centred, atol=1e-12)
    assert [frame.metric(name) for name in ("tv", "kl_forward", "kl_reverse", "cross_entropy")] == [None] * 4
    assert "no density" in frame.no_density


def test_a_step_of_the_inverse_multiquadric_follows_its_force_and_so_do_its_arrows():
    target = make_target("mixture", num_data=50)
    knobs = SVGD.Knobs.checked({"num_particles": 30, "batch_size": 50, "kernel": "imq", "optimiser": "plain"})
    state = SVGD.init(np.random.default_rng(0), target, knobs)
    after, info = SVGD.step(np.random.default_rng(1), state, target, target.data, knobs)
    scores, h = target.grad_log_joint(state.particles), squared_width(state.particles, knobs, target)
    force = KERNELS["imq"].force(state.particles, scores, h)
    moved = (after.particles - state.particles) / (info.step_size * target.scale**2)
    np.testing.assert_allclose(moved, force, rtol=1e-9, atol=1e-9)
    assert info.step_size == pytest.approx(1 / 101) and not after.first.any() and not after.second.any()
    parts = info.paths()
    total = sum(lines[:, 1] - lines[:, 0] for lines in parts.values())
    np.testing.assert_allclose(total, force, rtol=1e-9, atol=1e-9)
    assert not np.allclose(parts["repulsion"], forces(state.particles, scores, h)["repulsion"])


def test_annealing_raises_the_power_of_the_likelihood_step_by_step():
    """The score is grad log prior + beta grad log L, by finite differences of log prior + beta log L."""
    options = {"annealing": "on", "num_temperatures": 4, "power": 2.0, "steps_per_temperature": 3}
    target, knobs = make_target("mixture", num_data=50), SVGD.Knobs.checked({"batch_size": 50, **options})
    betas = [temperature(t, knobs) for t in range(14)]
    np.testing.assert_allclose(betas, np.repeat([1 / 16, 1 / 4, 9 / 16, 1, 1], 3)[:14])
    assert temperature(0, SVGD.Knobs.checked({})) == 1
    theta, e, beta = np.random.default_rng(0).normal(size=(5, 2)), 1e-5, 0.3

    def log_density(points):
        return target.log_prior(points) + beta * target.log_likelihood(points, target.data)

    expected = [(log_density(theta + e * axis) - log_density(theta - e * axis)) / (2 * e) for axis in np.eye(2)]
    found = tempered_scores(target, theta, target.data, beta)
    np.testing.assert_allclose(found, np.transpose(expected), rtol=1e-6, atol=1e-5)
    np.testing.assert_array_equal(tempered_scores(target, theta, target.data, 1.0), target.grad_log_joint(theta))
    session = run(3, num_particles=50, annealing="on", num_temperatures=8)
    assert session.frame.caveat.startswith("β = 0.38: ") and "β = 0.375" in session.frame.info.words
    assert session.frame.info.scalars["temperature"] == 0.375
    assert session.advance(5).caveat == "" and session.frame.info.scalars["temperature"] == 1
