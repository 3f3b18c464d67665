"""Parts of the experiments one by one: how often, how much, how likely, and what a picture's axes say."""

import numpy as np

from pmdviz.experiments.aggregation.experiment import Aggregation
from pmdviz.experiments.goodness_of_fit.drawn import kernel_picture
from pmdviz.experiments.goodness_of_fit.states import enumerated, inverse_weights
from pmdviz.targets import make_target


def test_cases_that_choose_among_numbers_of_components_cost_more():
    experiment = Aggregation()
    case = experiment.cases(experiment.Knobs.checked({"model": "gmm"}))[0]
    known, chosen = (experiment.size(case | {"count": count, "components": 1}) for count in ("known", "bic"))
    assert known.seconds < chosen.seconds and known.megabytes < chosen.megabytes


def test_inverse_weights_have_mean_one_and_the_ratios_of_the_probabilities():
    target = make_target("categorical")
    states, p = enumerated(target)
    weights = inverse_weights(target, states)
    np.testing.assert_allclose(weights, (1 / p) / (1 / p).mean(), rtol=1e-9)


def test_both_axes_of_a_kernel_matrix_are_the_points():
    drawn = kernel_picture("KSD", np.arange(9.0).reshape(3, 3), np.array([[2.0], [0.0], [1.0]]))
    assert drawn.x_label == drawn.y_label and "points" in drawn.x_label
    np.testing.assert_array_equal(drawn.values, [[0, 5, 3], [7, 0, 6], [1, 2, 0]])
