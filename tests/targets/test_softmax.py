"""Logistic regression with several classes."""

import numpy as np
import pytest

from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.targets import make_target


def test_density_gradient_and_predictions_are_those_of_the_formula():
    rng = np.random.default_rng(0)
    target = make_target("softmax", num_data=30, num_classes=4, num_inputs=3)
    theta, rows = target.sample_prior(rng, 5), target.data
    x = np.column_stack([np.ones(30), rows[:, :-1]])
    scores = np.einsum("mkf,nf->mnk", theta.reshape(5, 4, 4), x)
    each = scores[:, np.arange(30), rows[:, -1].astype(int)] - np.log(np.exp(scores).sum(axis=2))
    np.testing.assert_allclose(target.row_log_likelihood(theta, rows), each, rtol=1e-10)
    np.testing.assert_allclose(target.log_likelihood(theta, rows), each.sum(axis=1), rtol=1e-10)
    np.testing.assert_allclose(target.class_probabilities(theta, rows).sum(axis=2), 1.0)
    ends = [target.log_joint(theta + sign * 1e-5 * row, rows[:7]) for row in np.eye(16) for sign in (1, -1)]
    slopes = (np.array(ends[::2]) - np.array(ends[1::2])).T / 2e-5
    np.testing.assert_allclose(target.grad_log_joint(theta, rows[:7]), slopes, rtol=1e-5, atol=1e-5)
    far = np.full((1, 16), 1e4)
    far[0, :4] = -1e4
    assert np.isfinite(target.class_probabilities(far, rows)).all()


def test_two_classes_are_logistic_regression():
    """With w = w_1 - w_0: the likelihood is that of `logistic`."""
    rng = np.random.default_rng(1)
    target, other = make_target("softmax", num_classes=2), make_target("logistic")
    theta = target.sample_prior(rng, 6)
    rows = np.column_stack([np.ones(200), target.data])
    np.testing.assert_allclose(
        target.row_log_likelihood(theta, target.data), other.row_log_likelihood(theta[:, 3:] - theta[:, :3], rows)
    )


def test_simulated_classes_have_their_probabilities():
    target = make_target("softmax", num_data=1)
    theta = np.array([0.0, 0, 0, 1, 0, 0, -1, 0, 0])
    rows = target.simulate(np.random.default_rng(2), theta, 40_000)
    share = np.bincount(rows[:, -1].astype(int), minlength=3) / 40_000
    chances = np.exp([0.0, 1, -1]) / np.exp([0.0, 1, -1]).sum()
    assert (np.abs(share - chances) < 4 * np.sqrt(chances * (1 - chances) / 40_000)).all()


@pytest.mark.parametrize("method", ["pmd", "svgd", "sgld", "hmc"])
def test_methods_learn_it(method):
    """Half of the way from a guess among three to what the true weights would get, or more."""
    small = {"num_particles": 100} if method in ("pmd", "svgd") else {}
    frame = Session(Recipe("softmax", method, seed=0, budget=None, **small), metrics_every=10**9).advance(60)
    assert frame.metrics["accuracy"] > 0.6
    assert frame.metrics["log_loss"] < 0.8


@pytest.mark.ci
def test_digits_are_told_apart():
    target = make_target("softmax", data="digits", num_data=300)
    assert target.dim == 650
    options = {"data": "digits", "num_data": 300}
    recipe = Recipe("softmax", "psgld", target_options=options, seed=0, budget=None, a=0.1, batch_size=50)
    frame = Session(recipe, metrics_every=10**9).advance(100)
    assert frame.metrics["accuracy"] > 0.8
