"""Densities without data and what runs are judged by, against SciPy, quadrature, draws and brute force."""

import itertools
import re
from pathlib import Path

import numpy as np
import pytest
from scipy import integrate, stats
from scipy.special import logsumexp
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

import pmdviz
from benchmarks.helpers.decoder_weights import trained
from pmdviz.densities.density import Grid
from pmdviz.engine.recipe import Recipe
from pmdviz.targets import TARGETS, make_target
from pmdviz.targets import exact as searched
from pmdviz.targets.enumeration import hamiltonian_chains, peak
from pmdviz.targets.exact import DrawsReference, GaussianMixtureExact, has_density
from pmdviz.targets.without_data import EXAMPLES, WithoutData, logits_of, probability
from tests.support.tables import looped, refused

WEIGHTS, MEANS = np.array([0.2, 0.5, 0.3]), np.array([[-1.0, 0.5], [1.5, 0.0], [0.0, -2.0]])
OBLIQUE = np.array([[1.0, 0.6], [0.6, 0.5]])


COVARIANCES = {
    "one covariance": OBLIQUE, "one diagonal covariance": np.diag([0.5, 2.0]),
    "one covariance each": np.array([OBLIQUE, 0.3 * np.eye(2), np.diag([0.2, 1.5])]),
}  # fmt: skip
EACH_MIXTURE = looped("mixture", [GaussianMixtureExact(2 * WEIGHTS, MEANS, covs) for covs in COVARIANCES.values()])


@EACH_MIXTURE
def test_density_and_marginals_are_those_of_scipy_and_of_quadrature(mixture):
    x = 3 * np.random.default_rng(0).standard_normal((600, 2))
    covs = np.broadcast_to(mixture.covs, (3, 2, 2))
    parts = [w * stats.multivariate_normal(m, c).pdf(x) for w, m, c in zip(WEIGHTS, MEANS, covs, strict=True)]
    np.testing.assert_allclose(mixture.log_density(x), np.log(np.sum(parts, axis=0)), rtol=1e-10)
    marginal = mixture.marginal_log_density([1])
    for y in (-2.0, 0.3):
        density = lambda x, y=y: float(np.exp(mixture.log_density(np.array([[x, y]])))[0])  # noqa: E731
        expected, _ = integrate.quad(density, *mixture.box[0], limit=200)
        assert np.exp(marginal(np.array([[y]]))) == pytest.approx(expected, rel=1e-6)


@EACH_MIXTURE
def test_moments_and_mass_are_those_of_a_fine_grid(mixture):
    grid, box = Grid(mixture.box, 901), ((-1.2, 2.0), (-2.5, 0.7))
    p = np.exp(mixture.on_grid(grid)).ravel() * grid.cell_volume
    mean, share = p @ grid.points, p[Grid(box, 1).holds(grid.points)].sum()
    assert [p.sum(), mixture.mass_in(mixture.box)] == pytest.approx([1, 1], abs=1e-9)
    np.testing.assert_allclose(mixture.mean, mean, atol=1e-9)
    np.testing.assert_allclose(mixture.cov, ((grid.points - mean) * p[:, None]).T @ (grid.points - mean), atol=1e-8)
    if (mixture.covs == mixture.covs * np.eye(2)).all():
        assert mixture.mass_in(box) == pytest.approx(share, abs=0.01)
    else:
        assert mixture.mass_in(box) < share, "a lower bound where coordinates are correlated"


def test_components_that_stand_apart_have_boxes_of_their_own_and_those_without_weight_are_none():
    apart = GaussianMixtureExact([0.5, 0.5], [[-10.0, 0.0], [10.0, 0.0]], 0.25 * np.eye(2))
    assert apart.boxes == (((-14.0, -6.0), (-4.0, 4.0)), ((6.0, 14.0), (-4.0, 4.0)))
    assert apart.box == ((-14.0, 14.0), (-4.0, 4.0))
    far = [[20.0 * k, 0.0] for k in range(12)]
    assert len(GaussianMixtureExact(np.ones(12), far, 0.25 * np.eye(2)).boxes) == 1, "too many to measure one by one"
    x, without = np.random.default_rng(0).standard_normal((5, 2)), GaussianMixtureExact([1.0], MEANS[:1], OBLIQUE)
    for covs in (OBLIQUE, np.array([OBLIQUE, OBLIQUE])):
        found = GaussianMixtureExact([1.0, 0.0], MEANS[:2], covs)
        np.testing.assert_allclose(found.log_density(x), without.log_density(x), rtol=1e-12)


NAMES = [name for name, made in TARGETS.items() if issubclass(made, WithoutData)]


SMALL = {
    "funnel": {"sd": 1.0, "dim": 3},
    "eight_schools": {"coordinates": "non-centred", "q0_mean": 0.2, "q0_sd": 0.8},
    "rbm": {"dim": 2, "num_hidden": 3},
    "formula": {"density": "squiggle"},
    "decoder": {"q0_mean": -0.1, "q0_sd": 0.1},  # draws of a narrow posterior reach no wider q0
}


@looped("name", NAMES)
def test_importance_sampling_from_the_exact_density_finds_q0s_mass(name):
    """E_p q0 / pbar = 1 / Z: density, draws, q0 and log Z fit one another."""
    target = make_target(name, **{"q0_mean": -0.5, "q0_sd": 0.4, **SMALL.get(name, {})})
    draws, log_z = target.exact.sample(np.random.default_rng(0), 50_000), target.exact.log_z
    ratio = np.exp(target.log_prior(draws) - target.log_joint(draws) + log_z)
    assert abs(ratio.mean() - 1) < 4.5 * ratio.std() / np.sqrt(len(draws))
    assert ratio.std() / np.sqrt(len(draws)) < 0.2, "so that a wrong factor would be seen"
    some = draws[:99]
    np.testing.assert_allclose(target.exact.log_density(some), target.log_joint(some) - log_z, rtol=1e-9, atol=1e-9)


@looped("name", NAMES)
def test_q0_is_the_gaussian_it_is_said_to_be(name):
    target = make_target(name, q0_mean=1.5, q0_sd=0.7)
    x = target.sample_prior(np.random.default_rng(0), 5000)
    np.testing.assert_allclose(target.log_prior(x), stats.norm(1.5, 0.7).logpdf(x).sum(axis=1), rtol=1e-10)
    assert abs(x.mean() - 1.5) < 4.5 * 0.7 / np.sqrt(x.size) and abs(x.std() / 0.7 - 1) < 0.05


def check_marginals(exact, draws, choices, slack=0.0):
    for chosen in choices:
        inner = np.quantile(draws[:, chosen], [0.2, 0.7], axis=0).T
        grid = Grid(tuple(map(tuple, inner.tolist())), 60)
        share = np.exp(exact.marginal_log_density(chosen)(grid.points)).sum() * grid.cell_volume
        found = grid.holds(draws[:, chosen]).mean()
        assert abs(share - found) < 4.5 * np.sqrt(found / len(draws)) + slack, chosen


@pytest.mark.parametrize("name", ["gmm", "funnel", "rbm"])
def test_marginals_are_those_of_the_draws(name):
    exact = make_target(name, dim=3).exact
    check_marginals(exact, exact.sample(np.random.default_rng(1), 40_000), ([0], [2], [0, 2], [2, 0], [1, 2]))


def test_the_bend_the_funnel_and_the_rbm_are_their_formulas():
    rng = np.random.default_rng(0)
    z, target = rng.standard_normal((40, 2)), make_target("warped_gmm", curvature=0.8, variance=0.4)
    x = np.stack([z[:, 0], 0.8 * z[:, 0] ** 2 + z[:, 1] - 2], axis=1)
    parts = [stats.multivariate_normal(mean, 0.4 * np.eye(2)).pdf(z) for mean in ([-1.5, -1], [0, 1], [1.5, -1])]
    np.testing.assert_allclose(target.log_joint(x), np.log(np.mean(parts, axis=0)), rtol=1e-10)
    target = make_target("funnel", dim=3, sd=3.0)
    v, x = rng.normal(0, 3, 30), rng.normal(0, 2, (30, 2))
    expected = stats.norm(0, 3).logpdf(v) + stats.norm(0, np.exp(v / 2)[:, None]).logpdf(x).sum(axis=1)
    np.testing.assert_allclose(target.log_joint(np.column_stack([v, x])), expected, rtol=1e-10)
    assert target.exact.cov[0, 0] == 9 and target.exact.cov[1, 1] == pytest.approx(np.exp(4.5))
    target, x = make_target("rbm", dim=3, num_hidden=4), 2 * rng.standard_normal((20, 3))
    h = np.array(list(itertools.product([-1.0, 1.0], repeat=4)))  # the sum over h of exp(x'Bh + b'x + c'h - |x|^2 / 2)
    pairs = logsumexp(x @ target.coupling @ h.T + h @ target.hidden_bias, axis=1)
    expected = pairs + x @ target.visible_bias - 0.5 * (x**2).sum(axis=1)
    np.testing.assert_allclose(target.log_joint(x), expected, rtol=1e-10)
    assert set(np.unique(target.coupling)) == {-0.5, 0.5}


@pytest.mark.parametrize("coordinates", ["centred", "non-centred"])
def test_eight_schools_are_rubins_in_both_coordinates(coordinates):
    """Against the reference draws of posteriordb: mu 4.4 +- 3.3, log tau 0.8 +- 1.2, the first effect 6.2 +- 5.6."""
    target = make_target("eight_schools", coordinates=coordinates)
    exact, centred = target.exact, coordinates == "centred"
    draws = exact.sample(np.random.default_rng(0), 40_000)
    t, x, mu = draws[:, 0], draws[:, 1:-1], draws[:, -1]
    effects = x if centred else mu[:, None] + np.exp(t)[:, None] * x
    found = [(each.mean(), each.std()) for each in (mu, t, effects[:, 0])]
    np.testing.assert_allclose(found, [(4.4, 3.3), (0.8, 1.2), (6.2, 5.6)], rtol=0.05)
    some, y, errors = slice(50), [28, 8, -3, 7, -1, 1, 18, 12], [15, 10, 16, 11, 9, 11, 10, 18]
    tau = np.exp(t[some])
    expected = stats.norm(0, 5).logpdf(mu[some]) + stats.halfcauchy(0, 5).logpdf(tau) + t[some]
    expected += stats.norm(effects[some], errors).logpdf(y).sum(axis=1)
    expected += stats.norm(*(mu[some, None], tau[:, None]) if centred else (0.0, 1.0)).logpdf(x[some]).sum(axis=1)
    np.testing.assert_allclose(target.log_joint(draws[some]), expected, rtol=1e-10)
    whole = exact.marginal_log_density(range(10))(draws[some])
    np.testing.assert_allclose(whole, exact.log_density(draws[some]), rtol=1e-9)
    check_marginals(exact, draws, ([0], [3], [9], [0, 1], [1, 2], [9, 1]), slack=0.01)
    box = ((-1.0, 2.0), *map(tuple, np.quantile(x, [0.1, 0.95], axis=0).T.tolist()), (0.0, 8.0))
    reach = 3 * np.sqrt(exact.cov[-1, -1])
    around = (*exact.box[:-1], (exact.mean[-1] - reach, exact.mean[-1] + reach))
    for one, error in ((box, 0.01), (around, 0.002)):
        assert abs(exact.mass_in(one) - Grid(one, 1).holds(draws).mean()) < error


def test_the_decoder_draws_pixels_and_its_evidence_is_an_integral():
    target = make_target("decoder", target_seed=1)
    axis = np.linspace(-6, 6, 601)
    z = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    probability = target.decoded(z)
    joint = stats.norm.logpdf(z).sum(axis=1) + np.log(np.where(target.image, probability, 1 - probability)).sum(axis=1)
    np.testing.assert_allclose(target.log_joint(z), joint, rtol=1e-8)
    assert target.exact.log_z == pytest.approx(logsumexp(joint) + 2 * np.log(axis[1] - axis[0]), abs=1e-4)
    others = np.array([make_target("decoder", target_seed=seed).image for seed in range(40)])
    shares = target.decoded(np.random.default_rng(0).standard_normal((4000, 2))).mean(axis=0)
    np.testing.assert_allclose(others.mean(axis=0), shares, atol=4 * 0.5 / np.sqrt(40))


@pytest.mark.nightly
def test_the_decoder_is_as_its_command_trains_it():
    z = np.random.default_rng(0).standard_normal((200, 2))
    again = probability(logits_of(trained(), z)[1])
    np.testing.assert_allclose(make_target("decoder").decoded(z), again, atol=0.02)


def made(density, **options):
    return make_target("formula", density=density, **options)


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_is_its_formula(name):
    text = EXAMPLES[name][1]
    by_name, by_text = made(name), made(f" {text.replace(' ', '  ')} ")
    assert by_text.options.density == name and by_text.key == by_name.key
    points = by_name.sample_prior(np.random.default_rng(0), 9)
    np.testing.assert_array_equal(by_name.log_joint(points), made(f"{text} + 0").log_joint(points))


def test_the_normalising_constant_is_an_integral_over_a_box_that_grows_to_the_mass():
    target = made("-x**4 / 4 + x**2 - y**2 / (1 + x**2)")
    found = integrate.quad(lambda x: np.exp(-(x**4) / 4 + x**2) * np.sqrt(np.pi * (1 + x**2)), -9, 9)[0]
    assert target.exact.log_z == pytest.approx(np.log(found), abs=1e-5)
    assert target.dim == 2 and target.parameter_names == ("x", "y")
    one = made("-abs(x - 1) * 2")
    assert one.dim == 1 and one.exact.log_z == pytest.approx(0, abs=1e-5) and one.exact.mean[0] == pytest.approx(1)
    near, far = made("-square(x) - square(y)"), made("-square(x - 70) - square(y + 3) / 2")
    assert near.box == ((-16.0, 16.0), (-16.0, 16.0))
    np.testing.assert_allclose(far.exact.mean, [70, -3], atol=1e-3)
    assert far.box[1] == near.box[1] and far.box[0][1] > 75 and far.view_box[0][1] > 72
    heavy = made("-1.5 * log1p(square(x))")  # Student's t with two degrees of freedom
    assert heavy.box[0][1] >= 64 and heavy.exact.log_z == pytest.approx(np.log(2), abs=1e-3)
    assert made("-square(x)", q0_sd=5.0, q0_mean=3.0).box == ((-37.0, 43.0),)


def test_outside_the_support_there_is_no_pull():
    target, points = made("2 * log(maximum(x, 0)) - x"), np.array([[-1.0], [2.0], [0.0]])
    assert target.log_joint(points)[[0, 2]].tolist() == [-np.inf] * 2
    assert target.formula.value(points)[1] == pytest.approx(2 * np.log(2) - 2)
    np.testing.assert_allclose(target.grad_log_joint(points)[:, 0], [0, 0, 0], atol=1e-12)
    np.testing.assert_allclose(target.exact.mean, [3], atol=1e-3)


REFUSED = [
    ("x", "does not fall off"),
    ("-square(x) + 0 * y", "does not fall off: a share of the mass lies at the edge of y"),
    ("-log1p(abs(x))", "does not fall off"),
    ("log(x) - x", "is not a number at x = -15.99; it must be finite, or minus infinity where the density is 0"),
    ("exp(1000 + x) - x**2", "is infinite at x ="),
    ("1 / square(x) - x**2", "rises without end at x = "),
    ("log(0) - square(x)", "is minus infinity wherever it was tried, first at x = -15.99; move q0"),
    ("foo(x)", "density: 'foo', at character 1, is not a function of a formula"),
    ("", "density: a formula is a text of 1 to 500 characters"),
]


@looped("density, words", REFUSED)
def test_what_is_no_density_is_refused_beside_its_box(density, words):
    error = refused(words, made, density)
    assert error.field == "density" and error.on_page.startswith("Log density")


PAGE = Path(__file__).parents[2] / "docs" / "tutorials" / "your-own-model.md"


def table(row):
    found = re.search(rf"^\| {row} \|(.*)\|$", PAGE.read_text(encoding="utf-8"), flags=re.M)
    return np.array([float(cell) for cell in found[1].split("|")])


@pytest.mark.nightly
def test_the_blocks_agree_with_the_exact_posterior_and_posteriordb_within_four_standard_errors():
    page: dict = {}  # what the blocks of the page bind
    for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.S):
        exec(compile(block, PAGE.name, "exec"), page)
    found = np.column_stack([page["effects"], page["mu"], page["tau"]])
    of_chains = found.reshape(60, 300, 10).mean(axis=1)
    mean, error = of_chains.mean(axis=0), of_chains.std(axis=0, ddof=1) / 60**0.5
    draws = make_target("eight_schools").exact.sample(np.random.default_rng(0), 200_000)
    exact = np.column_stack([draws[:, 1:], np.exp(draws[:, 0])])
    assert (np.abs(mean - exact.mean(axis=0)) < 4 * error).all()
    for row in ("mean, long chains", "mean, posteriordb"):
        assert (np.abs(mean - table(row)) < 4 * 2**0.5 * error).all()
    np.testing.assert_allclose(error, table("s.e., long chains"), rtol=0.5)
    np.testing.assert_allclose(found.std(axis=0), table("sd, long chains"), rtol=0.1)
    chains = page["eight_draws"]
    within, between = chains.var(axis=1).mean(axis=0), chains.mean(axis=1).var(axis=0, ddof=1)
    assert np.sqrt(1 + between / within).max() < 1.03, "the chains of the page have mixed"
    assert page["run"].final.metrics["mean_error"] < 0.4


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


def own_target(**parts):
    plain = {
        "log_prior": lambda theta: -0.5 * (theta**2).sum(axis=1), "data": None, "dim": 3, "name": "mine",
        "log_likelihood": lambda theta, rows: np.zeros(len(theta)) * len(rows),
        "sample_prior": lambda rng, m: rng.standard_normal((m, parts.get("dim", 3))),
    }  # fmt: skip
    return pmdviz.custom_target(**{**plain, **parts})


def test_runs_are_judged_by_draws_that_are_copied_also_where_a_grid_would_do():
    target = own_target(reference_draws=DRAWS)
    found = target.reference()
    np.testing.assert_allclose(found.mean, DRAWS.mean(axis=(0, 1)))
    np.testing.assert_allclose(found.mean_error, DRAWS.mean(axis=1).std(axis=0, ddof=1) / np.sqrt(5))
    run = pmdviz.run(Recipe(target, "smc", budget=400, num_particles=200))
    assert run.final.metrics["mean_error"] > 0.5 and own_target().reference() is None
    own = DRAWS[:, :, :1].copy()
    target, plain = own_target(dim=1, reference_draws=own), own_target(dim=1)
    own[:] = 0
    assert target.exact is None and plain.exact is not None
    assert target.reference().mean[0] == pytest.approx(1, abs=0.1)
    other = own_target(dim=1, reference_draws=own)
    assert other.key != target.key == own_target(dim=1, reference_draws=DRAWS[:, :, :1]).key
    assert target.fingerprint == other.fingerprint == plain.fingerprint
    with pytest.raises(ValueError, match="read-only"):
        target.judged_by[0] = 0


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
        refused(said, own_target, reference_draws=draws)
    assert own_target(reference_draws=DRAWS.reshape(-1, 3)).reference() is not None, "one chain, cut into pieces"


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


def test_modes_follow_the_mass_of_a_funnel_and_the_search_ends_where_it_costs_too_much(monkeypatch):
    found = make_target("funnel").modes
    k = len(found.particles) // 2
    heaviest = found.particles[np.argmax(found.weights[:k])]
    assert np.abs(heaviest[0]) < 6 and np.abs(found.particles[:k, 0]).min() < 3, heaviest
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
