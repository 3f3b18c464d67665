import numpy as np
import pytest
from scipy.stats import norm

import pmdviz
from pmdviz.experiments import shards as module
from pmdviz.experiments.running import EXPERIMENTS
from pmdviz.experiments.shards import COMBINERS, ONE_TITLE, Subposterior, kl_weighted, shards_of
from pmdviz.targets import make_target
from tests.support.tables import refused

SHARDED = EXPERIMENTS["sharded_posterior"]
CASE = {"target": "mixture", "sampler": "exact", "combiners": "all", "num_data": 1000, "num_particles": 600, "seed": 0}


SLOW = {"kl_weighted": pytest.mark.ci}


@pytest.mark.parametrize("name", [pytest.param(name, marks=SLOW.get(name, ())) for name in COMBINERS])
def test_gaussian_subposteriors_come_together_exactly(name):
    whole, n = make_target("linear", dim=3, num_data=300), 4000
    combine = COMBINERS[name].combine
    parts = [module.drawn_by("exact", shard, n, k) for k, shard in enumerate(shards_of(whole, 4, 0))]
    found = combine(parts, whole.scale, np.random.default_rng(0))
    errors = module.errors_of(found.density, whole)
    assert errors["kl_moments"] < 6 * 9 / (2 * n)  # that of n exact draws is near (d + d (d + 1) / 2) / 2 n
    assert errors["mean_error"] < 5 / np.sqrt(n) and not found.note


def test_the_product_and_the_weighted_averages_are_those_of_the_formulas():
    rng = np.random.default_rng(1)
    parts = [rng.standard_normal((50, 2)) * [1, 3] + k for k in range(3)]
    found = module.gaussian_product(parts, np.ones(2), rng).density
    total, weighted = np.zeros((2, 2)), np.zeros(2)
    for part in parts:
        precision = np.linalg.inv(np.cov(part, rowvar=False))
        total, weighted = total + precision, weighted + precision @ part.mean(axis=0)
    np.testing.assert_allclose(found.cov, np.linalg.inv(total), rtol=1e-10)
    np.testing.assert_allclose(found.mean, np.linalg.inv(total) @ weighted, rtol=1e-10)
    rng = np.random.default_rng(2)
    parts = [rng.standard_normal((40, 2)) * sd for sd in (1.0, 5.0)]
    found = module.consensus(parts, np.ones(2), rng).density
    weights = [np.linalg.inv(np.cov(part, rowvar=False)) for part in parts]
    naive = [np.linalg.solve(sum(weights), weights[0] @ a + weights[1] @ b) for a, b in zip(*parts, strict=True)]
    np.testing.assert_allclose(found.particles, naive, rtol=1e-9)


@pytest.mark.ci
def test_a_product_of_two_mixtures_is_found():
    rng, n = np.random.default_rng(3), 3000
    sides = np.where(rng.random((2, n)) < 0.5, -3.0, 3.0)  # two modes, each of variance 1, in both parts
    parts = [np.stack([side + rng.standard_normal(n), rng.standard_normal(n)], axis=1) for side in sides]
    found = kl_weighted(parts, np.ones(2), rng)
    one = found.density.particles[:, 0] > 0
    assert found.density.weights[one].sum() == pytest.approx(0.5, abs=0.06) and not found.note
    assert found.density.mean[1] == pytest.approx(0, abs=0.08)
    assert found.density.cov[0, 0] == pytest.approx(9.5, rel=0.06)  # 3 squared, and half a part's variance
    assert found.density.cov[1, 1] == pytest.approx(0.5, rel=0.12)


def test_one_machine_is_k_equal_to_1_and_parts_that_hardly_overlap_are_said():
    rows = {row["combiner"]: row for row in SHARDED.run({**CASE, "K": 1, "num_data": 100, "combiners": "consensus"})}
    assert rows[COMBINERS["consensus"].title]["tv"] == pytest.approx(rows[ONE_TITLE]["tv"], abs=0.03)
    knobs = SHARDED.Knobs.checked({"sampler": "exact", "num_data": 200, "num_particles": 100, "most_shards": 3})
    (ellipses,) = SHARDED.examples(knobs)
    assert [group.name for group in ellipses.groups] == ["subposteriors", *(c.title for c in COMBINERS.values())]
    assert len(ellipses.groups[0].means) == 3 and not ellipses.groups[0].bold
    assert len(ellipses.groups[1].means) == 1 and ellipses.points.shape == (500, 2)
    rng = np.random.default_rng(4)
    parts = [rng.standard_normal((200, 6)) + 14.0 * k for k in range(4)]
    assert "effective points" in kl_weighted(parts, np.ones(6), rng).note
    refused("at most 6; got 10", pmdviz.experiment, "sharded_posterior", num_data=60)


@pytest.mark.ci
def test_what_a_machine_sends_is_in_random_order():
    (draws,) = module.draws_of({**CASE, "K": 1, "sampler": "pmd"})
    first = draws[:, 0] - draws[:, 0].mean()
    assert abs((first[1:] * first[:-1]).mean() / first.var()) < 4 / np.sqrt(len(first))


@pytest.mark.parametrize("name, options", [("linear", {"dim": 5, "prior_sd": 0.7}), ("mixture", {}), ("logistic", {})])
def test_the_product_of_subposteriors_is_the_posterior(name, options):
    whole, rng = make_target(name, num_data=203, **options), np.random.default_rng(0)
    shards, theta = shards_of(whole, 7, 4), rng.standard_normal((40, whole.dim))
    together = sum(shard.log_joint(theta) for shard in shards) - whole.log_joint(theta)
    np.testing.assert_allclose(together, together[0], atol=1e-9)
    gradients = sum(shard.grad_log_joint(theta) for shard in shards)
    np.testing.assert_allclose(gradients, whole.grad_log_joint(theta), rtol=1e-9, atol=1e-9)


def test_every_datum_is_on_one_shard_and_subposteriors_are_known():
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
    for name, count, words in [("gmm", 1, "has no data"), ("linear", 501, "give at least one to each")]:
        refused(words, shards_of, make_target(name), count, 0)
    net = make_target("regression_net", hidden=2, num_data=10)
    refused("must be a Gaussian around 0", Subposterior, net, np.zeros((2, 2)), 2)
    theta = np.array([[1.0, -2.0], [-1.0, 2.0], [0.5, 0.0]])
    for whole in (make_target("mixture", num_data=200), make_target("linear", dim=2, num_data=300)):
        shard = shards_of(whole, 2, 0)[0]
        apart = shard.exact.log_density(theta) - shard.log_joint(theta)
        np.testing.assert_allclose(apart, apart[0], atol=1e-7)
