import numpy as np
import pytest
from scipy.stats import norm

from pmdviz.errors import InputError
from pmdviz.experiments.shards import Subposterior, shards_of
from pmdviz.targets import make_target


@pytest.mark.parametrize("name, options", [("linear", {"dim": 5, "prior_sd": 0.7}), ("mixture", {}), ("logistic", {})])
def test_the_product_of_subposteriors_is_the_posterior(name, options):
    whole, rng = make_target(name, num_data=203, **options), np.random.default_rng(0)
    shards, theta = shards_of(whole, 7, 4), rng.standard_normal((40, whole.dim))
    together = sum(shard.log_joint(theta) for shard in shards) - whole.log_joint(theta)
    np.testing.assert_allclose(together, together[0], atol=1e-9)
    gradients = sum(shard.grad_log_joint(theta) for shard in shards)
    np.testing.assert_allclose(gradients, whole.grad_log_joint(theta), rtol=1e-9, atol=1e-9)


def test_every_datum_is_on_one_shard_whose_prior_is_wider_and_still_a_density():
    whole = make_target("linear", dim=3, num_data=101)
    shards = shards_of(whole, 4, 0)
    rows = np.concatenate([shard.data for shard in shards])
    assert sorted(len(shard.data) for shard in shards) == [25, 25, 25, 26]
    assert (rows[np.lexsort(rows.T)] == whole.data[np.lexsort(whole.data.T)]).all()
    assert (shards_of(whole, 4, 1)[0].data != shards[0].data).any()
    whole = make_target("linear", dim=2, num_data=20, prior_sd=0.5)
    shard, theta = Subposterior(whole, whole.data[:5], 9), np.array([[0.3, -2.0], [1.0, 0.0]])
    np.testing.assert_allclose(shard.log_prior(theta), norm.logpdf(theta, scale=1.5).sum(axis=1), rtol=1e-12)
    draws = shard.sample_prior(np.random.default_rng(0), 4000)
    np.testing.assert_allclose(draws.std(axis=0), 1.5, atol=4 * 1.5 / np.sqrt(2 * 4000))


def test_of_linear_regression_and_in_the_plane_subposteriors_are_known():
    whole = make_target("linear", dim=5, num_data=300)
    exact = [shard.exact for shard in shards_of(whole, 6, 0)]
    precisions = np.array([np.linalg.inv(each.cov) for each in exact])
    cov = np.linalg.inv(precisions.sum(axis=0))
    mean = cov @ sum(precision @ each.mean for precision, each in zip(precisions, exact, strict=True))
    np.testing.assert_allclose(cov, whole.exact.cov, rtol=1e-9, atol=1e-15)
    np.testing.assert_allclose(mean, whole.exact.mean, rtol=1e-9)
    shard = shards_of(make_target("mixture", num_data=200), 2, 0)[0]
    theta = np.array([[1.0, -2.0], [-1.0, 2.0], [0.5, 0.0]])
    apart = shard.exact.log_density(theta) - shard.log_joint(theta)
    np.testing.assert_allclose(apart, apart[0], atol=1e-9)


def test_what_cannot_be_shared_out_is_said():
    for name, count, words in [
        ("gmm", 1, "has no data"),
        ("linear", 501, "give at least one to each"),
        ("linear", 0, "0 shards"),
    ]:
        with pytest.raises(InputError, match=words):
            shards_of(make_target(name), count, 0)
    with pytest.raises(InputError, match="must be a Gaussian around 0"):
        Subposterior(make_target("regression_net", hidden=2, num_data=10), np.zeros((2, 2)), 2)
