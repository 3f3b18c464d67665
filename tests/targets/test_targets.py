"""What every target promises, over the table of targets: a new one is tested by being there."""

import functools

import numpy as np
import pytest

from pmdviz.densities.density import Grid
from pmdviz.targets import TARGETS, make_target
from tests.kernels.naive import differences
from tests.support.tables import looped, refused

SETTINGS = {
    "mixture": [{}, {"num_data": 1}, {"num_data": 400, "sigma_x": 1.5, "p": 0.2, "data_seed": 3}],
    "gaussian": [{}, {"dim": 1, "num_data": 1}, {"prior_sd": 3.0, "sigma_x": 0.5, "theta": -2.0}],
    "bimodal1d": [{}, {"num_data": 1}, {"sigma_x": 1.0, "theta": 0.0}],
    "banana": [{}, {"bend": 0.0, "num_data": 7}, {"prior_sd": 1.5, "bend": 2.0, "data_seed": 2}],
    "linear": [{"dim": 1, "num_data": 1}, {"dim": 50, "num_data": 60, "correlation": 0.9}],
    "logistic": [{}, {"dim": 1, "num_data": 1}, {"dim": 20, "slope": 5.0}, {"dim": 2, "truth": "prior"}],
    "softmax": [{}, {"num_data": 1, "num_classes": 2, "num_inputs": 1}],
    "categorical": [{}, {"table": "three"}, {"table": "own", "weight_2": 0.0, "weight_4": 5.0}],
    "ising": [
        {"size": 2, "coupling": -0.5},
        {"size": 3, "field_sd": 0.4, "boundary": "open", "target_seed": 2},
        {"size": 6, "field_sd": 0.2},
    ],
    "bernoulli_rbm": [
        {"visible": 1, "hidden": 1},
        {"visible": 18, "hidden": 3, "weight_sd": 1.0},
        {"visible": 17, "hidden": 15, "weight_sd": 0.05, "bias_ratio": 20.0},
    ],
    "binary_net": [{"num_data": 40, "hidden": 3}, {"num_data": 1, "hidden": 1, "logit_scale": 0.5, "steepness": 5.0}],
    "topics": [
        {"num_data": 9, "beta": 5.0, "num_topics": 3, "side": 3, "length": 8},
        {"num_data": 4, "beta": 9.0, "num_topics": 1, "data": "model", "vocabulary": 2, "length": 2},
    ],
    "gmm": [
        {},
        {"dim": 1, "weights": "random", "variance": 0.4, "spread": 4.0},
        {"dim": 2, "num_components": 2, "arrangement": "line", "spread": 6.0, "q0_mean": -1.5},
        {"dim": 25, "spread": 1.0, "variance": 1.0},
        {"dim": 3, "num_components": 1, "spread": 0.0},
        {"dim": 3, "num_components": 2, "arrangement": "diagonal"},
    ],
    "formula": [
        {},
        {"density": "three_modes", "q0_mean": 1.0},
        {"density": "3 * log(maximum(x, 0)) - x"},
        {"density": "-cosh(x - 4) - square(y) / (1 + square(x))", "q0_sd": 1.0},
    ],
    "correlated_gaussian": [{}, {"dim": 1}, {"dim": 5, "correlation": -0.7, "q0_mean": 1.0}],
    "warped_gmm": [{}, {"curvature": -1.5, "variance": 0.1, "q0_mean": -1.0}],
    "decoder": [{}, {"target_seed": 5, "q0_mean": 1.0, "q0_sd": 2.0}],
    "eight_schools": [{}, {"coordinates": "non-centred", "q0_mean": 1.0}],
    "funnel": [{"sd": 1.0}, {"dim": 4, "sd": 0.5, "q0_mean": 1.0}],
    "gp_classification": [{"num_rows": 20}, {"num_rows": 8, "columns": 1, "free_scale": False, "prior_sd": 0.5}],
    "stochastic_volatility": [{"num_data": 6}, {"num_data": 1, "mean": -3.0}, {"num_data": 40, "persistence": -0.5}],
    "rbm": [{}, {"dim": 1, "num_hidden": 3}, {"dim": 2, "num_hidden": 2, "target_seed": 3}, {"dim": 20, "weight": 0.1}],
    "regression_net": [
        {"num_data": 30, "hidden": 3, "scale_shape": 5.0},  # weights with an sd
        {"num_data": 1, "scale_shape": 5.0, "hidden": 1, "layers": 2, "units": "tanh"},
        {"num_data": 20, "hidden": 2, "data": "simulated", "scale_shape": 8.0, "units": "tanh", "response": "binary"},
    ],
}
CASES = [(name, options) for name in TARGETS for options in SETTINGS.get(name, [{}])]


MADE = {}


def made(case):
    if str(case) not in MADE:
        MADE[str(case)] = make_target(case[0], **case[1])
    return MADE[str(case)]


def cases(fits):
    return lambda: [case for case in CASES if fits(made(case))]


EVERY = looped("case", CASES)
SMOOTH = looped("case", cases(lambda target: "gradient" in target.offers))
PLANAR = cases(lambda target: target.dim <= 2 and "reals" in target.offers)
ON_THE_LINE = looped("case", lambda: [case for case in PLANAR() if made(case).dim == 1 or case[0] == "gaussian"])
ON_A_GRID = looped("case", PLANAR)


# Settings by their places in SETTINGS, whose posterior is known by draws alone; to ask all of them takes a while.
BY_DRAWS = {
    "binary_net": (0, 1), "softmax": (0, 1), "regression_net": (0, 1, 2), "logistic": (0, 2), "topics": (0, 1),
    "bernoulli_rbm": (2,), "gp_classification": (0,), "stochastic_volatility": (0, 1, 2),
}  # fmt: skip
KNOWN_BY_DRAWS = [(name, SETTINGS[name][k]) for name, places in BY_DRAWS.items() for k in places if name in TARGETS]


def prior_draws(target, n=7, seed=0):
    return target.sample_prior(np.random.default_rng(seed), n)


@EVERY
def test_it_says_what_it_is(case):
    target = made(case)
    assert target.title and target.about and target.source
    assert len(target.parameter_names) == target.dim == len(target.view_box) == len(target.scale)
    assert target.num_data == (1 if target.data is None else target.options.num_data) == len(target.data_rows)
    assert prior_draws(target).shape == (7, target.dim)
    assert np.isfinite(target.data_rows).all()


@SMOOTH
def test_the_gradient_is_that_of_the_log_density(case):
    target = made(case)
    theta, data = prior_draws(target), target.data_rows.copy()
    before = theta.copy()
    theta = theta[np.isfinite(target.log_joint(theta))]  # a formula may be minus infinity
    for batch in (None, target.data_rows[: max(1, target.num_data // 3)]):
        expected = differences(lambda points, b=batch: target.log_joint(points, b), theta)
        np.testing.assert_allclose(target.grad_log_joint(theta, batch), expected, rtol=2e-5, atol=2e-5)
    assert {*map(tuple, theta)} <= {*map(tuple, before)} and np.array_equal(target.data_rows, data), "written to"


@looped("case", cases(lambda target: "relaxation" in target.offers))
def test_between_states_the_log_density_is_smooth_and_at_them_it_is_the_joint(case):
    target = made(case)
    states, batch = prior_draws(target), target.data_rows[: max(1, target.num_data // 3)]
    inside = "steepness" in target.Options.specs()  # what has steps inside is smoothed there too, and only near
    for rows in (None, batch):
        relaxed, joint = target.log_relaxed(states, rows), target.log_joint(states, rows)
        assert inside or np.allclose(relaxed, joint, rtol=1e-10, atol=0)
        low, high = min(target.space.values), max(target.space.values)
        points = np.random.default_rng(0).uniform(low, high, size=states.shape)
        expected = differences(lambda z, b=rows: target.log_relaxed(z, b), points)
        np.testing.assert_allclose(target.grad_log_relaxed(points, rows), expected, rtol=2e-5, atol=2e-5)


@EVERY
def test_the_log_likelihood_adds_up_over_rows_and_a_batch_in_the_joint_counts_as_all_of_them(case):
    target = made(case)
    theta, rows = prior_draws(target), target.data_rows
    whole, prior = target.log_likelihood(theta, rows), target.log_prior(theta)
    np.testing.assert_allclose(target.log_joint(theta), prior + whole, rtol=1e-12)
    size = max(1, len(rows) // 3)
    parts = [target.log_likelihood(theta, rows[k : k + size]) for k in range(0, len(rows), size)]
    np.testing.assert_allclose(sum(parts), whole, rtol=1e-10)
    np.testing.assert_allclose(target.log_joint(theta, rows[:size]), prior + len(rows) / size * parts[0], rtol=1e-12)
    singles = sum(target.log_likelihood(theta, rows[k : k + 1]) for k in range(size))
    np.testing.assert_allclose(singles, parts[0], rtol=1e-10, atol=1e-12)


@looped("case", cases(lambda target: "row_density" in target.offers))
def test_the_density_of_a_row_is_its_likelihood_and_integrates_to_one(case):
    target = made(case)
    theta = prior_draws(target)
    each = target.row_log_likelihood(theta, target.data)
    np.testing.assert_allclose(each.sum(axis=1), target.log_likelihood(theta, target.data), rtol=1e-10)
    if target.data[:1].size == 1:
        x = np.linspace(-60, 60, 4_001)
        density = np.exp(target.row_log_likelihood(theta, x.reshape(-1, *target.data.shape[1:])))
        np.testing.assert_allclose(np.trapezoid(density, x, axis=1), 1, rtol=1e-6)


@ON_A_GRID
def test_the_prior_integrates_to_one(case):
    target = made(case)
    reach = 9 * float(target.scale.max())
    grid = Grid(((-reach, reach),) * target.dim, 301)
    assert np.exp(target.log_prior(grid.points)).sum() * grid.cell_volume == pytest.approx(1, abs=1e-6)


@EVERY
def test_a_wrong_shape_of_theta_is_refused(case):
    target = made(case)
    for theta in (np.zeros((2, target.dim + 1)), np.zeros((2, 2, 2)), np.float64(0.0)):
        refused(rf"theta must have shape \(m, {target.dim}\)", target.log_prior, theta)


@looped("name", [name for name in TARGETS if "data_seed" in TARGETS[name].Options.specs()])
def test_the_data_come_from_the_data_seed_alone(name):
    few = {"num_data": 12} if "num_data" in TARGETS[name].Options.specs() else {}
    one, again, other = (make_target(name, data_seed=seed, **few).data for seed in (5, 5, 6))
    assert np.array_equal(one, again) and not np.array_equal(one, other)


@functools.cache
def quadrature(target):
    """Points, masses and log evidence of a plain sum of exp(log_joint) over a fine grid of the prior's bulk."""
    reach, planar = 8 * float(target.scale.max()), target.dim == 2
    fine = Grid(target.exact.box, 601 if planar else 20_001)
    wide = Grid(((-reach, reach),) * target.dim, 401 if planar else 20_001)
    values = target.log_joint(fine.points)
    mass, coarse = np.exp(values - values.max()), np.exp(target.log_joint(wide.points) - values.max())
    assert coarse.sum() * wide.cell_volume == pytest.approx(mass.sum() * fine.cell_volume, rel=0.02), "mass elsewhere"
    return fine.points, mass / mass.sum(), values.max() + np.log(mass.sum() * fine.cell_volume)


def agrees_with_quadrature(case):
    target = made(case)
    points, mass, log_evidence = quadrature(target)
    exact, sd = target.exact, np.sqrt(np.diag(target.exact.cov))
    mean = mass @ points
    assert target.exact is exact, "computed once"
    np.testing.assert_allclose(exact.mean / sd, mean / sd, atol=1e-6)
    cov = ((points - mean) * mass[:, None]).T @ (points - mean)
    np.testing.assert_allclose(exact.cov / np.outer(sd, sd), cov / np.outer(sd, sd), atol=2e-4)
    some = prior_draws(target, 50)
    np.testing.assert_allclose(exact.log_density(some), target.log_joint(some) - log_evidence, atol=1e-5)


def integrates_to_one(case):
    target = made(case)
    exact, grid = target.exact, Grid(target.exact.box, 801 if target.dim == 2 else 8001)
    values = exact.log_density(grid.points)
    assert np.exp(values).sum() * grid.cell_volume == pytest.approx(1, abs=1e-6)
    assert exact.on_grid(grid).shape == grid.shape and np.array_equal(exact.on_grid(grid).ravel(), values)
    assert exact.mass_in(exact.box) == pytest.approx(1, abs=1e-9)


@looped("check", [agrees_with_quadrature, integrates_to_one])
@ON_THE_LINE
def test_the_exact_posterior_is_that_of_quadrature_and_integrates_to_one(check, case):
    check(case)


@pytest.mark.nightly
@looped("check", [agrees_with_quadrature, integrates_to_one])
@ON_A_GRID
def test_so_it_does_in_the_plane(check, case):
    check(case)


@looped("case", [case for case in CASES if case not in KNOWN_BY_DRAWS])
def test_exact_draws_have_the_exact_moments(case):
    target, n = made(case), 4_000
    exact, draws = target.exact, target.exact.sample(np.random.default_rng(3), n)
    assert draws.shape == (n, target.dim)
    assert np.abs((draws.mean(axis=0) - exact.mean) / np.sqrt(np.diag(exact.cov) / n)).max() < 4.5
    centred = draws - exact.mean
    products, squares = centred.T @ centred / n, (centred**2).T @ centred**2 / n
    errors = np.sqrt(np.maximum(squares - products**2, 0.0) / n)
    assert (np.abs(products - exact.cov) < 4.5 * errors + 1e-9).all(), "a spin's square is always 1"


@EVERY
def test_the_view_box_holds_the_bulk_of_the_prior(case):
    target = made(case)
    draws = prior_draws(target, 4000)
    low, high = np.array(target.view_box).T
    assert ((draws > low) & (draws < high)).mean(axis=0).min() > 0.995
    assert np.abs(draws.std(axis=0) / target.scale - 1).max() < 0.06


MANY = [
    ("mixture", {"theta1": 1.03, "theta2": -1.77, "num_data": 20_000, "sigma_x": 0.2}, [(1.03, -1.77), (-0.74, 1.77)]),
    ("gaussian", {"num_data": 100_000, "sigma_x": 0.5}, None),
    ("bimodal1d", {"theta": 1.234, "num_data": 100_000, "sigma_x": 0.5}, [(1.234,), (-1.234,)]),
]


@pytest.mark.ci
@looped("name, options, modes", MANY)
def test_the_posterior_of_very_many_data_is_found(name, options, modes):
    """A box of the prior's size, and modes hundreds of times narrower at places that no grid knows of."""
    target = make_target(name, **options)
    exact, total = target.exact, 0.0
    assert exact.narrowest(target.scale) < 0.01
    sd = 4 * exact.narrowest(np.ones(target.dim))  # the wide direction of a mode is less than so much wider
    for centre in modes or [exact.mean]:
        grid = Grid(tuple((float(c - 9 * sd), float(c + 9 * sd)) for c in centre), 181)
        total += np.exp(exact.log_density(grid.points)).sum() * grid.cell_volume
    assert total == pytest.approx(1, abs=1e-3)
    draws = exact.sample(np.random.default_rng(0), 500)
    assert np.abs((draws.mean(axis=0) - exact.mean) / np.sqrt(np.diag(exact.cov) / 500)).max() < 4.5
    low, high = np.array(exact.box).T
    assert ((draws > low) & (draws < high)).all()
