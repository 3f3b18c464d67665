"""Probabilistic PCA of a digit: the decoder against scikit-learn's, posterior and evidence against SciPy's Gaussian."""

import numpy as np
import pytest
from scipy import stats
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

from pmdviz.targets import make_target

IMAGES = load_digits().data / 16


@pytest.mark.parametrize("k", [1, 5, 20])
def test_the_decoder_is_that_of_scikit_learn(k):
    """Whose covariance is divided by n - 1."""
    decoder, pca = make_target("ppca", dim=k).decoder, PCA(k).fit(IMAGES[:-500])
    smaller = (len(IMAGES) - 501) / (len(IMAGES) - 500)
    np.testing.assert_allclose(decoder.noise_sd**2, smaller * pca.noise_variance_, rtol=1e-6)
    found = decoder.weights @ decoder.weights.T + decoder.noise_sd**2 * np.eye(64)
    np.testing.assert_allclose(found, smaller * pca.get_covariance(), atol=1e-8)


@pytest.mark.parametrize("options", [{}, {"image": 7, "dim": 20}, {"image": 499, "dim": 2, "num_data": 10}], ids=str)
def test_posterior_and_evidence_are_those_of_the_joint_gaussian(options):
    target = make_target("ppca", **options)
    o, decoder, seen = target.options, target.decoder, target.observed
    w, x = decoder.weights[seen], IMAGES[-500:][o.image][seen]
    marginal = w @ w.T + decoder.noise_sd**2 * np.eye(len(seen))
    assert len(set(seen)) == o.num_data == target.num_data
    assert target.exact.log_z == pytest.approx(stats.multivariate_normal(decoder.mean[seen], marginal).logpdf(x))
    gain = np.linalg.solve(marginal, w).T
    np.testing.assert_allclose(target.exact.mean, gain @ (x - decoder.mean[seen]), atol=1e-10)
    np.testing.assert_allclose(target.exact.cov, np.eye(o.dim) - gain @ w, atol=1e-10)


def test_simulated_pixels_are_those_of_the_model():
    target, z, rng = make_target("ppca", dim=3), np.array([1.0, -2.0, 0.5]), np.random.default_rng(0)
    rows = np.array([target.simulate(rng, z, 70) for _ in range(4000)])
    assert np.array_equal(rows[0, :64, :-1], target.data[:, :-1]) and np.array_equal(rows[0, 64:], rows[0, 64:])
    expected = (target.decoded(z[None])[0] - target.decoder.mean)[target.observed]
    np.testing.assert_allclose(rows[:, :64, -1].mean(axis=0), expected, atol=5 * target.sigma_y / np.sqrt(4000))
    np.testing.assert_allclose(rows[..., -1].std(axis=0), target.sigma_y, rtol=0.06)
