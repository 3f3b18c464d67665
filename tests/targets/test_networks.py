"""Binary nets: the target against its formula, the data that it learns from, and ensembles judged by held-out rows."""

import tracemalloc

import numpy as np
import pytest
from scipy import stats
from sklearn.datasets import load_digits

from pmdviz.densities.density import Points
from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.errors import InputWarning
from pmdviz.targets import make_target
from pmdviz.targets.rows import GAP, curve, mean_outcome
from tests.support.tables import looped, refused


def test_the_data_are_the_digits_between_minus_one_and_one():
    target, (images, labels) = make_target("binary_net"), load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(images))
    rows = np.concatenate([target.data, target.test_data])
    np.testing.assert_allclose(rows[:, :-1], images[order] / 8 - 1)
    np.testing.assert_array_equal(rows[:, -1], labels[order])
    assert len(target.data) == 1300 and len(target.test_data) == 497 and target.dim == (64 + 10) * 32


def test_a_table_is_scaled_by_its_columns_and_classes_count_from_zero(tmp_path):
    rng = np.random.default_rng(1)
    table = np.column_stack([5 + 3 * rng.random(30), np.full(30, 7.0), rng.choice([2.0, 5.0, 9.0], 30)])
    np.savetxt(tmp_path / "t.csv", table, delimiter=",")
    with pytest.warns(InputWarning, match="Left out: 'column 2'"):  # which does not vary
        target = make_target("binary_net", data=str(tmp_path / "t.csv"), num_data=20, hidden=2)
    assert target.data[:, 0].min() == -1 and target.data[:, 0].max() == 1 and target.data.shape == (20, 2)
    assert set(target.data[:, -1]) == {0.0, 1.0, 2.0} and target.image_shape is None


def test_the_relaxation_ends_at_the_nets():
    target, steep = (make_target("binary_net", num_data=60, hidden=6, data_seed=3, steepness=s) for s in (2.0, 1000.0))
    theta, batch = target.sample_prior(np.random.default_rng(0), 2), target.data[:15]
    far = [np.abs(each.log_relaxed(theta, batch) - each.log_joint(theta, batch)).max() for each in (target, steep)]
    ties = (np.abs(batch[:, :-1] @ np.swapaxes(steep.first_layer(theta), 1, 2)) < 1e-9).sum()  # there tanh is 0
    assert far[1] < 0.1 * far[0] or ties
    np.testing.assert_allclose(target.class_probabilities(theta, target.data).sum(axis=2), 1)
    refused("theta must be one of -1, 1", target.grad_straight_through, 0.5 * theta)


def test_an_ensemble_is_judged_by_its_mean_and_by_each_net_and_misclassification_is_the_rest():
    session = Session(Recipe("binary_net", "straight_through", target_options={"num_data": 200}, num_particles=3))
    frame = session.advance(15)
    chances = frame.target.class_probabilities(frame.particles, frame.target.test_data)
    classes = frame.target.test_data[:, -1]
    assert isinstance(frame.density, Points)
    assert frame.metrics["accuracy"] == pytest.approx((chances.mean(axis=0).argmax(axis=1) == classes).mean())
    assert frame.metrics["single_accuracy"] == pytest.approx((chances.argmax(axis=2) == classes).mean())
    own = chances.mean(axis=0)[np.arange(len(classes)), classes.astype(int)]
    assert frame.metrics["log_loss"] == pytest.approx(-np.log(own).mean())
    assert frame.metrics["accuracy"] > frame.metrics["single_accuracy"]
    frame = Session(Recipe("logistic", "hmc", budget=None)).advance(5)
    assert frame.metrics["misclassification"] == pytest.approx(1 - frame.metrics["accuracy"])


def of_model(theta, target, rows):
    """log p(y | x, theta) of every row, written out for one hidden layer of tanh: (m, n)."""
    rows, hidden, found = (rows - target.centre) / target.unit, target.options.hidden, []
    x, y = rows[:, :-1], rows[:, -1]
    cut = x.shape[1] * hidden
    for point in theta:
        units = np.tanh(x @ point[:cut].reshape(-1, hidden) + point[cut : cut + hidden])
        eta = units @ point[cut + hidden : cut + 2 * hidden] + point[cut + 2 * hidden]
        if target.predicts == "class":
            found.append(np.log(np.where(y == 1, 1 / (1 + np.exp(-eta)), 1 / (1 + np.exp(eta)))))
        else:  # of y as it came
            found.append(stats.norm.logpdf(y, eta, np.exp(0.5 * point[-1])) - np.log(target.unit[-1]))
    return np.stack(found)


@pytest.mark.parametrize("options", [{}, {"data": "simulated", "layers": 1, "units": "tanh", "response": "binary"}])
def test_rows_have_the_density_of_the_formula(options):
    target = make_target("regression_net", num_data=40, hidden=3, **options)
    theta = target.sample_prior(np.random.default_rng(0), 4)
    found = target.row_log_likelihood(theta, target.data)
    np.testing.assert_allclose(found, of_model(theta, target, target.data), rtol=1e-9)


def test_a_weight_is_student_t_a_priori_and_the_noise_inverse_gamma():
    target = make_target("regression_net", hidden=2, scale_shape=1.5, scale_rate=0.3)
    theta = target.sample_prior(np.random.default_rng(0), 3)
    scale = np.sqrt(0.3 / 1.5)
    expected = stats.t.logpdf(theta[:, :-1], 3.0, scale=scale).sum(axis=1)
    expected += stats.invgamma.logpdf(np.exp(theta[:, -1]), 1.0, scale=0.01) + theta[:, -1]
    np.testing.assert_allclose(target.log_prior(theta), expected)
    draws = target.sample_prior(np.random.default_rng(1), 4000)
    assert stats.kstest(draws[:, 0], stats.t(3.0, scale=scale).cdf).pvalue > 0.01
    assert stats.kstest(np.exp(draws[:, -1]), stats.invgamma(1.0, scale=0.01).cdf).pvalue > 0.01


def test_the_gradient_of_weights_is_of_a_batch_scaled_to_all_data_and_scores_are_of_mean_rows():
    target = make_target("regression_net", num_data=40, hidden=3)
    weights, batch = target.first_weights(np.random.default_rng(0), 2), target.data[:10]
    found, misfit = target.weight_gradient(weights, batch, 2.5)
    theta = target.with_noise(weights, np.full(2, 1 / 2.5))
    joint = target.grad_log_joint(theta, batch) - target.grad_log_prior(theta)
    np.testing.assert_allclose(found, joint[:, :-1])
    residual = (batch[:, -1] - target.row_mean(theta, batch)) / target.unit[-1]
    np.testing.assert_allclose(misfit, 4 * (residual**2).sum(axis=1))
    binary = make_target("regression_net", num_data=40, hidden=3, response="binary")
    weights, rows = target.first_weights(np.random.default_rng(0), 1), target.validation_data
    each = target.row_log_likelihood(target.with_noise(weights, np.array([0.3])), rows)
    assert target.validation_score(weights[0], 0.3) == pytest.approx(-each.mean())
    y, share = rows[:, -1], binary.validation_data[:, -1].mean()
    assert target.flat_score == pytest.approx(-stats.norm.logpdf(y, y.mean(), y.std()).mean())
    assert binary.flat_score == pytest.approx(stats.entropy([share, 1 - share]))


def test_the_rows_are_three_parts_and_follow_their_functions():
    target = make_target("regression_net", num_data=500, data_seed=3)
    assert [len(part) for part in (target.data, target.validation_data, target.test_data)] == [500, 200, 200]
    x, y = target.data.T
    assert not ((x > GAP[0]) & (x < GAP[1])).any() and x.min() < -1.9 and x.max() > 1.9
    assert (y - curve(x[:, None])).std() == pytest.approx(0.15, abs=0.02)
    simulated = make_target("regression_net", data="simulated", num_data=4000)
    x, y = simulated.data[:, :-1], simulated.data[:, -1]
    assert (y - mean_outcome(x)).var() == pytest.approx(1, abs=0.07)
    assert np.corrcoef(x.T)[0, :3] == pytest.approx([1, 0.5, 0.25], abs=0.06)
    x = np.arange(1.0, 21.0)[None] / 10  # the published mean of an outcome, term by term
    expected = 5 + 1 + 10 / 1.04 + 5 * 0.12 + 0.8 + 5 * 0.16 + 2.5 + 1.2 + 10 / 1.49 + 5 * 0.72 + 5 * 0.81 + 5
    assert mean_outcome(x)[0] == pytest.approx(expected)


def test_scores_say_over_what_they_are_means():
    options = {"num_data": 60, "hidden": 4}
    session = Session(Recipe("regression_net", "psgld", target_options=options, budget=None, burn_in=0.0))
    frame = session.advance(50)
    target, theta, rows = frame.target, frame.particles, frame.target.test_data
    each, variance = target.row_log_likelihood(theta, rows), target.noise_variance(theta).mean()
    at_mean = target.row_log_likelihood(theta.mean(axis=0, keepdims=True), rows)
    mse = ((rows[:, -1] - target.row_mean(theta, rows).mean(axis=0)) ** 2).mean()
    expected = {"expected_log_loss": -each.mean(), "pps": -at_mean.mean(), "rmse": np.sqrt(mse)}
    expected |= {"nlpd": -np.log(np.exp(each).mean(axis=0)).mean()}
    expected |= {"pps_seed": 0.5 * np.log(variance) + 0.5 * mse / variance}
    assert {name: frame.metrics[name] for name in expected} == pytest.approx(expected)
    assert frame.metrics["expected_log_loss"] > frame.metrics["nlpd"]


@looped("method, knobs", [("pmfvb_nn", {}), ("psgld", {}), ("gaussian_vb", {"shape": "diagonal"})])
def test_large_nets_are_measured_without_a_matrix_of_their_weights(method, knobs):
    options = {"num_data": 30, "hidden": 100, "layers": 2, "data": "simulated"}
    tracemalloc.start()
    session = Session(Recipe("regression_net", method, target_options=options, budget=None, **knobs))
    assert session.advance(2).target.dim == 12_302
    assert tracemalloc.get_traced_memory()[1] < 2e8, "a matrix of the weights is 1.2 GB"
    tracemalloc.stop()
