"""What runs are judged by: enumeration, draws of chains or of one's own, and PPCA's closed form, by brute force."""

import numpy as np
import pytest
from scipy import stats
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

import pmdviz
from pmdviz.engine.recipe import Recipe
from pmdviz.targets import exact as searched
from pmdviz.targets import make_target
from pmdviz.targets.enumeration import hamiltonian_chains, peak
from pmdviz.targets.exact import DrawsReference, has_density
from tests.support.tables import looped, refused


@pytest.mark.ci
def test_long_chains_find_a_gaussian_and_tell_their_error():
    """On `linear`, whose posterior is known: means within what `mean_error` says, which is about right."""
    target = make_target("linear", dim=6, num_data=100, correlation=0.8)
    exact, found, (centre, sd) = target.exact, DrawsReference(hamiltonian_chains(target)), peak(target)
    np.testing.assert_allclose(centre, exact.mean, atol=1e-5)
    np.testing.assert_allclose(sd, np.sqrt(np.diag(exact.cov)), rtol=1e-3)
    z = (found.mean - exact.mean) / found.mean_error
    assert np.abs(z).max() < 9 and 0.2 < np.sqrt((z**2).mean()) < 3, "four chains: t with 3 degrees of freedom"
    assert (found.mean_error < 0.05 * sd).all() and not has_density(found) and has_density(exact)
    np.testing.assert_allclose(np.diag(found.cov), np.diag(exact.cov), rtol=0.08)


@pytest.mark.ci
def test_the_reference_of_the_logistic_repeats():
    one, two = (make_target("logistic", dim=4).make_reference() for _ in range(2))
    sample = one.sample(np.random.default_rng(0), 1000)
    assert np.array_equal(one.draws, two.draws) and len(np.unique(sample, axis=0)) > 900, "each at most once"


DRAWS = np.random.default_rng(0).normal([1.0, 2.0, 3.0], [1.0, 2.0, 0.5], size=(5, 400, 3))


def made(**parts):
    plain = {
        "log_prior": lambda theta: -0.5 * (theta**2).sum(axis=1), "data": None, "dim": 3, "name": "mine",
        "log_likelihood": lambda theta, rows: np.zeros(len(theta)) * len(rows),
        "sample_prior": lambda rng, m: rng.standard_normal((m, parts.get("dim", 3))),
    }  # fmt: skip
    return pmdviz.custom_target(**{**plain, **parts})


def test_runs_are_judged_by_the_draws():
    target = made(reference_draws=DRAWS)
    found = target.reference()
    np.testing.assert_allclose(found.mean, DRAWS.mean(axis=(0, 1)))
    np.testing.assert_allclose(found.mean_error, DRAWS.mean(axis=1).std(axis=0, ddof=1) / np.sqrt(5))
    run = pmdviz.run(Recipe(target, "smc", budget=400, num_particles=200))
    assert run.final.metrics["mean_error"] > 0.5 and made().reference() is None


def test_draws_whose_chains_disagree_or_are_worth_little_are_refused():
    apart, walk = DRAWS.copy(), np.cumsum(DRAWS, axis=1)
    apart[0, :, 1] += 20 * DRAWS[..., 1].std()
    stuck = np.repeat(np.arange(5.0)[:, None, None], 400, axis=1) * np.ones(3)
    for draws, said in (
        (apart, "R-hat at most 1.05.*coordinate 2 has"),
        (walk[:1].repeat(5, axis=0), "R-hat at most 1.05.*burn-in"),
        (DRAWS[:, :8], "bulk ESS of at least 100; coordinate 1 has .* from 40 draws"),
        (stuck, "R-hat at most 1.05"),
    ):
        refused(said, made, reference_draws=draws)
    assert made(reference_draws=DRAWS.reshape(-1, 3)).reference() is not None, "one chain, cut into pieces"


def test_draws_are_used_also_where_a_grid_would_do_and_are_a_copy_that_tells_targets_apart():
    own = DRAWS[:, :, :1].copy()
    target, plain = made(dim=1, reference_draws=own), made(dim=1)
    own[:] = 0
    assert target.exact is None and plain.exact is not None
    assert target.reference().mean[0] == pytest.approx(1, abs=0.1)
    other = made(dim=1, reference_draws=own)
    assert other.key != target.key == made(dim=1, reference_draws=DRAWS[:, :, :1]).key
    assert target.fingerprint == other.fingerprint == plain.fingerprint
    with pytest.raises(ValueError, match="read-only"):
        target.judged_by[0] = 0


IMAGES = load_digits().data / 16


@looped("k", [1, 20])
def test_the_decoder_is_that_of_scikit_learn(k):
    decoder, pca = make_target("ppca", dim=k).decoder, PCA(k).fit(IMAGES[:-500])
    smaller = (len(IMAGES) - 501) / (len(IMAGES) - 500)
    np.testing.assert_allclose(decoder.noise_sd**2, smaller * pca.noise_variance_, rtol=1e-6)
    found = decoder.weights @ decoder.weights.T + decoder.noise_sd**2 * np.eye(64)
    np.testing.assert_allclose(found, smaller * pca.get_covariance(), atol=1e-8)


@looped("options", [{}, {"image": 7, "dim": 20}, {"image": 499, "dim": 2, "num_data": 10}])
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


@looped("name, num", [("mixture", 2), ("bimodal1d", 2), ("gaussian", 1), ("linear", 1)])
def test_all_modes_are_found_with_their_covariances(name, num):
    target = make_target(name)
    found, k = target.modes, len(target.modes.particles) // 2
    assert k == num and found.weights.sum() == pytest.approx(1)
    for mean, factor, wider in zip(found.particles[:k], found.choleskys[:k], found.choleskys[k:], strict=True):
        slope = target.grad_log_joint(mean[None])[0]
        assert (np.abs(factor.T @ slope) < 0.3).all(), "sds away from the mode"
        np.testing.assert_allclose(wider, 2 * factor)
    if name == "linear":
        np.testing.assert_allclose(found.particles[0], target.exact.mean, rtol=1e-6)
        np.testing.assert_allclose(found.choleskys[0] @ found.choleskys[0].T, target.exact.cov, rtol=1e-4, atol=1e-12)


def test_a_funnel_is_found_by_its_mass_and_not_at_its_mode():
    """log_tau ~ N(0, 3^2), nine others N(0, tau^2): no highest point, the mass is around log_tau = 0."""
    found = make_target("funnel").modes
    k = len(found.particles) // 2
    heaviest = found.particles[np.argmax(found.weights[:k])]
    assert np.abs(heaviest[0]) < 6 and np.abs(found.particles[:k, 0]).min() < 3, heaviest


def test_the_search_ends_where_it_would_cost_too_much_or_has_no_gradient(monkeypatch):
    assert make_target("song_years").modes is None is make_target("ising").modes
    asked, target = [], make_target("logistic")
    gradient = target.grad_log_joint
    target.grad_log_joint = lambda theta: (asked.append(len(theta) * target.num_data), gradient(theta))[1]
    monkeypatch.setattr(searched, "MOST_COST", 1e6)
    assert target.modes is not None and sum(asked) <= 1e6
    monkeypatch.setattr(searched, "MOST_COST", 1e4)
    assert searched.find_modes(target) is None


@pytest.mark.parametrize("low", [0.0, -2.0])
def test_bounds_of_a_prior_are_kept(low):
    """An exponential density on a half-line has its highest value at the edge, where no slope vanishes."""
    target = pmdviz.custom_target(
        log_prior=lambda theta: np.where(theta[:, 0] > low, low - theta[:, 0], -np.inf),
        log_likelihood=lambda theta, batch: -0.5 * ((theta - 1.0) ** 2).sum(axis=1) * len(batch),
        sample_prior=lambda rng, n: low + rng.exponential(size=(n, 1)),
        grad_log_prior=lambda theta: np.full_like(theta, -1.0),
        grad_log_likelihood=lambda theta, batch: (1.0 - theta) * len(batch),
        dim=1, name="bounded", data=np.zeros((9, 1)),
    )  # fmt: skip
    assert target.modes.particles[0] == pytest.approx(1 - 1 / 9, abs=1e-6)
