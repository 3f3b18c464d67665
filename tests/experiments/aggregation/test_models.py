import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment
from scipy.stats import multivariate_normal
from sklearn.decomposition import PCA
from sklearn.mixture import GaussianMixture

from pmdviz.errors import InputError
from pmdviz.experiments import mixtures

MADE = {name: model(4, 3, 2) for name, model in mixtures.MODELS.items()}
TRUTHS = {name: model.truth(np.random.default_rng(7)) for name, model in MADE.items()}
every_model = pytest.mark.parametrize("name", mixtures.MODELS)


@pytest.fixture
def rng():
    return np.random.default_rng(1)


def same(one, other, **tolerance):
    for a, b in zip(one, other, strict=True):
        np.testing.assert_allclose(a, b, **tolerance)


@every_model
def test_the_density_is_the_sum_of_scipys(name, rng):
    model, truth = MADE[name], TRUTHS[name]
    points = rng.normal(0, 4, (50, 4))
    parts = [w * multivariate_normal(m, c).pdf(points) for w, m, c in zip(*truth, strict=True)]
    np.testing.assert_allclose(np.exp(model.log_density(points, truth)), np.sum(parts, axis=0), rtol=1e-9)


@every_model
def test_draws_have_the_moments(name):
    model, truth = MADE[name], TRUTHS[name]
    points = model.sample(truth, np.random.default_rng(3), 40_000)
    mean, second = truth.moments
    squares = points[:, :, None] * points[:, None, :]
    assert (np.abs(points.mean(axis=0) - mean) < 5 * points.std(axis=0) / 200).all()
    assert (np.abs(squares.mean(axis=0) - second) < 5 * squares.std(axis=0) / 200).all()


@every_model
def test_scores_are_finite_differences(name, rng):
    model, truth = MADE[name], TRUTHS[name]
    other = model.fit(model.sample(truth, rng, 400), start=truth).params
    at, points = model.coordinates(truth), model.sample(truth, rng, 6)
    where = at.vector(other)
    assert len(where) == model.num_params()
    same(at.params(where), other, rtol=1e-9, atol=1e-9)
    steps = 1e-5 * np.eye(len(where))
    slopes = [
        (model.log_density(points, at.params(where + h)) - model.log_density(points, at.params(where - h))) / 2e-5
        for h in steps
    ]
    np.testing.assert_allclose(at.score(points, other), np.transpose(slopes), rtol=1e-5, atol=1e-7)


@every_model
def test_the_score_is_0_where_the_likelihood_is_largest(name):
    model = MADE[name]
    points = model.sample(TRUTHS[name], np.random.default_rng(5), 800)
    weights = np.random.default_rng(6).uniform(0.2, 3, 800)
    fit = model.fit(points, np.log(weights), start=TRUTHS[name])
    assert fit.note == ""
    scores = model.coordinates(fit.params).score(points, fit.params)
    assert np.abs(weights @ scores).max() / weights.sum() < 2e-4


def test_gaussians_are_numpys_and_probabilistic_pca_scikit_learns(rng):
    points, weights = rng.normal(size=(30, 4)), rng.uniform(0, 2, 30)
    params = MADE["gaussian"].fit(points, np.log(weights) + 700).params
    np.testing.assert_allclose(params.means[0], np.average(points, axis=0, weights=weights), rtol=1e-12)
    np.testing.assert_allclose(params.covs[0], np.cov(points.T, aweights=weights, ddof=0), rtol=1e-10)
    points = rng.normal(size=(60, 4)) @ rng.normal(size=(4, 4))
    params = MADE["ppca"].fit(points).params
    known = PCA(2).fit(points)
    np.testing.assert_allclose(params.means[0], known.mean_, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(params.covs[0] * 60 / 59, known.get_covariance(), rtol=1e-9)  # theirs divides by n - 1
    weights, noise = MADE["ppca"].coordinates(params).charts[0].weights(params.covs[0])
    np.testing.assert_allclose(weights @ weights.T + noise * np.eye(4), params.covs[0], rtol=1e-9, atol=1e-12)


def test_em_of_a_mixture_is_scikit_learns_from_the_same_start():
    model, truth = MADE["gmm"], TRUTHS["gmm"]
    points = model.sample(truth, np.random.default_rng(2), 900)
    known = GaussianMixture(
        3, tol=1e-13, reg_covar=0, max_iter=1000, weights_init=truth.shares, means_init=truth.means,
        precisions_init=np.linalg.inv(truth.covs),
    ).fit(points)  # fmt: skip
    fit = model.fit(points, start=truth)
    assert fit.note == ""
    same(fit.params, (known.weights_, known.means_, known.covariances_), rtol=1e-4, atol=1e-4)
    assert model.log_density(points, fit.params).mean() == pytest.approx(known.score(points), abs=1e-9)


def test_what_degenerates_and_what_is_no_density_is_said(rng):
    gaussian, gmm = MADE["gaussian"], MADE["gmm"]
    flat = rng.normal(size=(3, 4))  # 3 points in 4 dimensions
    fit = gaussian.fit(flat)
    assert fit.note == mixtures.FLOOR_HIT and fit.params.fault == ""
    assert gmm.fit(np.repeat(flat, 4, axis=0), rng=rng).note == mixtures.FLOOR_HIT
    points = rng.normal(size=(500, 4))  # one component too many, which EM takes long over
    assert gmm.fit(points, rng=rng, most_steps=1).note == mixtures.NOT_CONVERGED
    with pytest.raises(InputError, match="log weights must be numbers"):
        gaussian.fit(points, np.full(500, np.nan))
    with pytest.raises(InputError, match="one of them finite"):
        gaussian.fit(points, np.full(500, -np.inf))
    model, truth = MADE["gmm"], TRUTHS["gmm"]
    at = model.coordinates(truth)
    vector = at.vector(truth)
    assert truth.fault == at.params(vector).fault == ""
    assert at.params(vector - np.eye(len(vector))[0]).fault == "a component's share is negative"
    assert "positive definite" in at.params(np.append(vector[:-1], -1.0)).fault


def test_matching_is_scipys_assignment_of_the_least_symmetric_kl(rng):
    for c in (1, 2, 3, 8, 15) * 10:
        costs = rng.normal(size=(c, c)) * 10
        found, (rows, columns) = mixtures.assignment(costs), linear_sum_assignment(costs)
        assert sorted(found) == list(range(c))
        assert costs[np.arange(c), found].sum() == pytest.approx(costs[rows, columns].sum()), c
    truth = TRUTHS["gmm"]
    same(mixtures.matched(truth.ordered(np.array([2, 0, 1])), truth), truth)
    assert mixtures.distance(truth.ordered(np.array([1, 0, 2])), truth) == 0
    moved = mixtures.Mixture(truth.shares, truth.means + [1.0, 0, 0, 0], truth.covs)
    assert mixtures.distance(moved, truth) == pytest.approx(3)
    assert np.isnan(mixtures.distance(truth, TRUTHS["gaussian"]))
    one, other = TRUTHS["gmm"], TRUTHS["mixture_ppca"]

    def kl(m, S, n, T):
        inside = np.trace(np.linalg.solve(T, S)) + (n - m) @ np.linalg.solve(T, n - m) - len(m)
        return 0.5 * (inside + np.linalg.slogdet(T)[1] - np.linalg.slogdet(S)[1])

    for a in range(3):
        for b in range(3):
            first, second = (one.means[a], one.covs[a]), (other.means[b], other.covs[b])
            assert mixtures.symmetric_kl(one, other)[a, b] == pytest.approx(kl(*first, *second) + kl(*second, *first))


def test_turning_loadings_changes_no_coordinate(rng):
    family = MADE["ppca"].covariances
    near, cov = family.drawn(rng), family.drawn(rng)
    chart = family.chart(near)
    weights, _ = chart.weights(cov)
    reference = chart.near.T @ weights
    np.testing.assert_allclose(reference, reference.T, atol=1e-12)  # so that W lies in the basis
    np.testing.assert_allclose(chart.matrix(chart.vector(cov)), cov, atol=1e-12)
    assert chart.basis.shape == (8, family.num_params - 1)
    blind = family.unmatched_mean([cov] * 50, rng)  # the turns cancel, and noise is left
    assert np.trace(blind) < 0.6 * np.trace(cov)
