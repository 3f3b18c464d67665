"""Binary nets: the target against its formula, the data that it learns from, and ensembles judged by held-out rows."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from pmdviz.densities.density import Points
from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.errors import InputError, InputWarning
from pmdviz.targets import make_target


@pytest.fixture(scope="module")
def target():
    return make_target("binary_net", num_data=60, hidden=6, data_seed=3)


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
    assert np.isfinite(target.log_joint(target.sample_prior(rng, 3))).all()


def test_log_joint_is_that_of_fair_signs_and_the_rows_classes(target):
    theta = target.sample_prior(np.random.default_rng(0), 4)
    each = target.row_log_likelihood(theta, target.data)
    np.testing.assert_allclose(target.log_joint(theta), each.sum(axis=1) - target.dim * np.log(2))
    np.testing.assert_allclose(target.class_probabilities(theta, target.data).sum(axis=2), 1)


def test_the_relaxation_has_the_gradient_of_its_value_and_ends_at_the_nets(target):
    theta, batch = target.sample_prior(np.random.default_rng(0), 2), target.data[:15]
    inside, direction = 0.4 * theta, np.random.default_rng(1).standard_normal(target.dim)
    ahead, behind = (target.log_relaxed(inside + e * direction, batch) for e in (1e-5, -1e-5))
    slope = target.grad_log_relaxed(inside, batch) @ direction
    np.testing.assert_allclose(slope, (ahead - behind) / 2e-5, rtol=1e-6)
    steep = make_target("binary_net", num_data=60, hidden=6, data_seed=3, steepness=1000.0)
    far = [np.abs(each.log_relaxed(theta, batch) - each.log_joint(theta, batch)).max() for each in (target, steep)]
    ties = (np.abs(batch[:, :-1] @ np.swapaxes(steep.first_layer(theta), 1, 2)) < 1e-9).sum()  # there tanh is 0
    assert far[1] < 0.1 * far[0] or ties


def test_the_straight_through_gradient_is_no_gradient_of_the_relaxation(target):
    theta = target.sample_prior(np.random.default_rng(0), 2)
    through, relaxed = target.grad_straight_through(theta), target.grad_log_relaxed(theta)
    assert through.shape == relaxed.shape and not np.allclose(through, relaxed)
    with pytest.raises(InputError, match="theta must be one of -1, 1"):
        target.grad_straight_through(0.5 * theta)


def test_an_ensemble_is_judged_by_its_mean_probabilities_and_by_each_net():
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
