"""The regression of unseen sign: its likelihood, its gradient, and the draws by which runs are judged."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import logsumexp
from scipy.stats import norm

from pmdviz.experiments.dimension.two_regressions import TwoRegressions, grad_log_likelihood, log_likelihood


def test_the_likelihood_is_that_of_two_normals():
    rng = np.random.default_rng(0)
    rows, w = 3 * rng.standard_normal((7, 4)), rng.standard_normal((5, 3))
    f = w @ rows[:, :3].T
    each = [norm.logpdf(rows[:, 3], sign * f) for sign in (1, -1)]
    naive = (logsumexp(each, axis=0) - np.log(2)).sum(axis=1)
    np.testing.assert_allclose(log_likelihood(w, rows), naive, rtol=1e-12)
    assert np.isfinite(log_likelihood(1e4 * w, rows)).all()


def test_its_gradient_is_the_slope():
    rng = np.random.default_rng(1)
    rows, w, h = rng.standard_normal((6, 4)), rng.standard_normal((4, 3)), 1e-6
    slopes = [(log_likelihood(w + h * e, rows) - log_likelihood(w - h * e, rows)) / (2 * h) for e in np.eye(3)]
    np.testing.assert_allclose(grad_log_likelihood(w, rows), np.stack(slopes, axis=1), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("seed", [0, 3])
def test_reference_draws_have_the_moments_of_the_posterior(seed):
    target = TwoRegressions(1, 60, seed)
    peak = target.log_joint(np.array([[target.true_weights[0]]]))[0]

    def moment(power):
        return quad(lambda w: w**power * np.exp(target.log_joint(np.array([[w]]))[0] - peak), 0, 6, limit=400)[0]

    reference, mean_square = target.reference(), moment(2) / moment(0)
    spread = np.sqrt(moment(4) / moment(0) - mean_square**2)
    assert reference.mean == pytest.approx(0, abs=1e-12) and (reference.mean_error < 1e-12).all()
    error = spread / np.sqrt(len(reference.draws) / 2 / 10)  # as if only each tenth sweep were a new draw
    assert abs(reference.cov[0, 0] - mean_square) < 4 * error


def test_the_data_come_from_the_model_and_its_seed():
    one, two, other = TwoRegressions(3, 4000, 5), TwoRegressions(3, 4000, 5), TwoRegressions(3, 4000, 6)
    assert (one.data == two.data).all() and (one.data != other.data).any()
    x, y = one.data[:, :3], one.data[:, 3]
    assert (y**2 - (x @ one.true_weights) ** 2).mean() == pytest.approx(1, abs=0.2)  # the noise's variance
    assert (y * (x @ one.true_weights)).mean() == pytest.approx(0, abs=0.4)  # the signs
