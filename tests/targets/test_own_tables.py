"""A person's table for every target that has data: its form, what is computed of it, and what does not fit."""

import numpy as np
import pytest
from scipy import optimize, stats

from pmdviz.data.tables import hold
from pmdviz.densities.density import Grid
from pmdviz.targets import TARGETS, make_target
from pmdviz.targets.options import OUTCOMES
from tests.kernels.naive import differences
from tests.support.tables import looped, refused

ROWS = 64
WITH_TABLE = [name for name, made in TARGETS.items() if made.table is not None]
kept = []  # tables are held while somebody keeps them


def held_table(rows, name="own.csv"):
    rows = np.atleast_2d(np.asarray(rows, float))
    kept.append(hold(name, [f"c{k}" for k in range(rows.shape[1])], rows))
    return kept[-1].pin


def rows_that_fit(form, inputs, n=ROWS, seed=0):
    """Rows of whole numbers from 1 on, which any target takes, and an outcome of them."""
    x = np.random.default_rng(seed).integers(1, 9, (n, inputs)).astype(float)
    y = {"": x[:, :0], "number": x.sum(axis=1) / inputs, "class": x[:, 0] > 4, "classes": x[:, 0] % 3}[form.outcome]
    return np.column_stack([x, y])


def test_every_target_with_data_takes_a_table():
    for name, made in TARGETS.items():
        assert (made.table is not None) == ("data" in made.Options.specs()), name
        assert made.table is not None or made().data is None, name
    assert len(WITH_TABLE) >= 12 and {TARGETS[name].table.outcome for name in WITH_TABLE} == {*OUTCOMES}


@looped("name", WITH_TABLE)
def test_a_table_of_its_form_is_computed_with(name):
    form = TARGETS[name].table
    for inputs in {form.least, min(form.most, 3)}:
        rows = rows_that_fit(form, inputs)
        target = make_target(name, data=held_table(rows))
        assert target.tables == (kept[-1],) and target.options.data == kept[-1].pin
        theta = target.sample_prior(np.random.default_rng(1), 3) * (0.1 if "reals" in target.offers else 1)
        assert np.isfinite(target.log_joint(theta)).all()
        if "gradient" in target.offers:
            expected = differences(target.log_joint, theta)
            scale = np.abs(expected).max()
            np.testing.assert_allclose(target.grad_log_joint(theta) / scale, expected / scale, atol=2e-6)
        other = make_target(name, data=held_table(rows_that_fit(form, inputs, seed=1)))
        assert other.dim != target.dim or not np.array_equal(other.log_joint(theta), target.log_joint(theta))


def test_what_does_not_fit_is_said():
    two, tall = held_table(np.ones((5, 2))), held_table(170 + np.arange(9.0)[:, None])
    for name, options, words in [
        ("mixture", {"data": two}, "must have 1 column of numbers; they have 2 columns"),
        ("linear", {"data": tall}, r"must have 1 to 199 columns of numbers and one with the outcome \(a number\)"),
        ("linear", {"data": two, "dim": 8}, "dim must be 2 with data .* of 2 columns; got 8"),
        ("gaussian", {"data": two, "dim": 1}, "dim must be 2"),
        ("mixture", {"data": tall, "num_data": 10}, "num_data must be at most 9 with data"),
        ("sparse_gp", {"data": two, "num_data": 5}, "at most 4 with data .*, so that a row is held out"),
        ("banana", {"data": tall}, "the mean of data .* must lie between -10 and 10, .* it is 174: scale them"),
        ("mixture", {"data": "gone.csv#0123456789ab"}, "gone.csv"),
    ]:
        refused(words, make_target, name, **options)


def test_sizes_that_nobody_gives_are_those_of_the_table():
    pin = held_table(np.random.default_rng(0).standard_normal((30, 4)))
    assert make_target("gaussian", data=pin).data.shape == (30, 4)
    assert make_target("gaussian", data=pin, num_data=7).data.shape == (7, 4)
    line = make_target("linear", data=pin, num_data=20)
    assert line.data.shape == (20, 5) and line.test_data.shape == (10, 5) and (line.data[:, 0] == 1).all()
    assert make_target("linear", data=pin).test_data is None
    classes = held_table(rows_that_fit(TARGETS["logistic"].table, 1, n=40))
    assert make_target("logistic", data=classes).options.as_dict()["dim"] == 2
    assert make_target("logistic", data=classes).num_data == 39
    few = make_target("gp_classification", data=held_table(rows_that_fit(TARGETS["logistic"].table, 4, n=40)))
    assert (few.options.num_rows, few.options.columns) == (40, 2)


def test_the_posterior_of_a_line_through_a_table_is_conjugate():
    rng = np.random.default_rng(0)
    x = rng.normal(40, 5, 60)
    y = 3 + 2 * x + rng.standard_normal(60)
    target = make_target("linear", data=held_table(np.column_stack([x, y])), prior_sd=20.0)
    features = np.column_stack([np.ones(60), x])
    cov = np.linalg.inv(np.eye(2) / 400 + features.T @ features)
    np.testing.assert_allclose(target.exact.mean, cov @ features.T @ y, rtol=1e-9)
    np.testing.assert_allclose(target.exact.cov, cov, rtol=1e-8)
    marginal = stats.multivariate_normal(np.zeros(60), np.eye(60) + 400 * features @ features.T)
    assert target.exact.log_z == pytest.approx(marginal.logpdf(y), rel=1e-7)
    simulated = target.simulate(rng, np.array([1.0, 2.0]), 50)
    assert {*simulated[:, 1]} <= {*x} and abs((simulated[:, 2] - 1 - 2 * simulated[:, 1]).mean()) < 0.6


def data_of(name, rng):
    if name == "mixture":
        return (np.where(rng.random(40) < 0.4, 100, 140) + rng.standard_normal(40))[:, None]
    if name == "logistic":
        x = rng.normal(size=401)
        return np.column_stack([x, x > 0.2 * rng.normal(size=401)])
    return rng.normal(*{"bimodal1d": (400, 3), "banana": (9, 2)}[name], (30, 1))


FAR = {
    "mixture": ({"prior_sd": 10.0, "sigma_x": 1.5, "p": 0.4}, [(100, 40), (140, -40)]),
    "bimodal1d": ({"prior_sd": 1.0}, [(20,), (-20,)]),
    "banana": ({"prior_sd": 0.25}, [(0.5, 2.9), (0.5, -2.9)]),
    "logistic": ({"prior_sd": 0.1, "dim": 2, "num_data": 400}, [(0.0, 0.9)]),
}


@pytest.mark.parametrize("name", FAR)
def test_the_exact_posterior_follows_data_far_from_the_prior(name):
    """Against a sum over a fine grid about each mode, found by ascent from where it must be about."""
    options, starts = FAR[name]
    target = make_target(name, data=held_table(data_of(name, np.random.default_rng(2))), **options)
    masses, means = [], []
    for start in starts:
        found = optimize.minimize(lambda theta: -target.log_joint(theta[None])[0], start, method="Nelder-Mead").x
        curvature = -differences(lambda theta: target.grad_log_joint(theta).T, found[None], 1e-3)[:, 0]
        sd = np.sqrt(np.diag(np.linalg.inv(curvature)))
        reach = 9 if name != "banana" else 12
        grid = Grid(tuple((c - reach * s, c + reach * s) for c, s in zip(found, sd, strict=True)), 101)
        values = target.log_joint(grid.points)
        mass = np.exp(values - values.max())
        masses.append(np.log(mass.sum() * grid.cell_volume) + values.max())
        means.append(mass @ grid.points / mass.sum())
    log_z = np.logaddexp.reduce(masses)
    assert target.exact.log_z == pytest.approx(log_z, abs=2e-3)
    mean = np.exp(np.array(masses) - log_z) @ np.array(means)
    np.testing.assert_allclose(target.exact.mean, mean, atol=0.01 * np.sqrt(np.diag(target.exact.cov)).max())
    assert np.abs(target.exact.mean).max() > 7 * target.prior_sd or len(starts) > 1


@looped("name", ["banana", "bimodal1d", "gaussian", "mixture"])
def test_a_handle_where_it_is_changes_nothing(name):
    for options in ({}, {"data_seed": 3} | ({"theta": 0.5} if name in ("gaussian", "bimodal1d") else {"theta1": -0.3})):
        target = make_target(name, **options)
        for handle in target.handles():
            same = {**target.options.as_dict(), **handle.moved(*handle.at)}
            again = TARGETS[name].Options.checked(same).as_dict()
            for one, value in target.options.as_dict().items():
                assert again[one] == (value if isinstance(value, str) else pytest.approx(value, rel=1e-12)), one
