"""Tests of fit: kernels by formula, samples of runs, levels and power, and control variates."""

import itertools

import numpy as np
import pytest
from scipy import stats

import pmdviz
from pmdviz.experiments import fit_statistics as fit
from pmdviz.experiments import goodness_of_fit
from pmdviz.experiments.fit_statistics import FIT_TESTS, chi_squares, p_value
from pmdviz.experiments.fit_testing import longest_correlation_time, points_of
from pmdviz.targets import make_target
from pmdviz.targets.custom import CustomTarget
from pmdviz.targets.space import Discrete
from tests.support.tables import looped, refused


def potts():
    """Three values, given in no order, on two coordinates that are coupled."""
    values = np.array([2.0, -1.0, 0.5])

    def log_p(z, batch):
        return 0.7 * (z[:, 0] == z[:, 1]) + 0.3 * z[:, 0] - 0.2 * z[:, 1] ** 2

    usual = {"log_prior": lambda z: np.zeros(len(z)), "sample_prior": lambda rng, m: rng.choice(values, size=(m, 2))}
    return CustomTarget(**usual, log_likelihood=log_p, data=None, name="potts", space=Discrete(values, 2))


TARGETS = {
    "two values": lambda: make_target("ising", size=2, coupling=0.3, field=0.2),
    "five values": lambda: make_target("categorical"),
    "three values, two coordinates": potts,
}
WIDTHS = (0.3, 1.0, 5.0)


@pytest.fixture(params=TARGETS)
def target(request):
    return TARGETS[request.param]()


def naive_dksd(target, z, y, h):
    """kappa of two states by its definition, with cyclic differences of every function."""
    values, d = np.sort(target.space.values), target.dim
    probability = lambda z: np.exp(target.log_joint(z[None])[0])  # noqa: E731
    kernel = lambda z, y: np.exp(-(z != y).sum() / (d * h))  # noqa: E731

    def moved(z, i, by):
        found = z.copy()
        found[i] = values[(np.flatnonzero(values == z[i])[0] + by) % len(values)]
        return found

    total = 0.0
    for i in range(d):
        score, other = (1 - probability(moved(x, i, 1)) / probability(x) for x in (z, y))
        before, after = moved(z, i, -1), moved(y, i, -1)
        total += score * other * kernel(z, y)
        total -= score * (kernel(z, y) - kernel(z, after)) + other * (kernel(z, y) - kernel(before, y))
        total += kernel(z, y) - kernel(before, y) - kernel(z, after) + kernel(before, after)
    return total


def test_the_discrete_kernel_is_that_of_a_loop(target):
    states, rng = fit.enumerated(target)[0], np.random.default_rng(0)
    ratios, codes = fit.neighbour_ratios(target, states), fit.codes_of(target.space, states)
    for h in WIDTHS:
        found = fit.dksd_kernel(codes, 1 - ratios, len(target.space.values), h)
        for i, j in rng.integers(len(states), size=(20, 2)):
            naive = naive_dksd(target, states[i], states[j], h)
            assert found[i, j] == pytest.approx(naive, rel=1e-10, abs=1e-12), h


def mean_with_latent_points(surrogate, target, h):
    """The same with x given z integrated out by quadrature, of one coordinate."""
    states, p = fit.enumerated(target)
    x, mass, bins = fit.nodes_of(len(states), h)
    place = np.argsort(states[:, 0])[bins]
    weights, scores = surrogate(target, states[place], x[:, None])
    matrix, shares = fit.gf_kernel(x[:, None], weights, h, scores), p[place] * mass
    return float(np.einsum("i,ij,j->", shares, matrix, shares) / np.abs(matrix).max())


def test_tables_of_one_coordinate_and_latent_points_have_mean_zero():
    """E k = (1 + 4/h)^(-1/2) over p0 twice; kappa has mean 0 in either argument; both are symmetric."""
    for num_values in (2, 3, 5):
        for h in (0.05, 0.5, 2.0, 30.0):
            kernel, stein = fit.tables_of(num_values, h)
            assert kernel.mean() == pytest.approx((1 + 4 / h) ** -0.5, abs=1e-13), (num_values, h)
            np.testing.assert_allclose(stein.sum(axis=1), 0, atol=1e-12)
            np.testing.assert_allclose(kernel, kernel.T, atol=1e-14)
            np.testing.assert_allclose(stein, stein.T, atol=1e-12)
    one_unit = make_target("bernoulli_rbm", visible=1, hidden=2)
    cases = [(fit.normal_surrogate, make_target("categorical", table=table)) for table in ("three", "five")]
    for surrogate, target in [*cases, (fit.normal_surrogate, one_unit), (fit.smooth_surrogate, one_unit)]:
        for h in WIDTHS:
            assert abs(mean_with_latent_points(surrogate, target, h)) < 1e-12, (surrogate.__name__, h)


def test_the_kernel_of_the_smooth_surrogate_is_its_formula():
    """(0.124) to (0.126): rho = p0 p~(F(x)), w = p~(F(x)) / p(z), with derivatives of the lattice written out."""
    target, h, coupling, field = make_target("ising", size=3, coupling=0.3, field=0.2, boundary="open"), 4.0, 0.3, 0.2
    z = target.reference().sample(np.random.default_rng(0), 15)
    found = fit.FIT_TESTS["gf_ksd_surrogate"].kernels(np.random.default_rng(1), target, z)[1](h)
    x = fit.latent_of(np.random.default_rng(1), target.space, z)
    apart = np.abs(np.subtract.outer(np.arange(9) // 3, np.arange(9) // 3))
    apart = apart + np.abs(np.subtract.outer(np.arange(9) % 3, np.arange(9) % 3))
    J = coupling * (apart == 1)

    def log_p(s):
        return 0.5 * np.einsum("ni,ij,nj->n", s, J, s) + field * s.sum(axis=1)

    s = 2 * stats.norm.cdf(x) - 1
    w = np.exp(log_p(s) - log_p(z))
    scores = -x + 2 * stats.norm.pdf(x) * (s @ J + field)
    d, u = 9, x[:, None] - x
    squared = (u**2).sum(axis=2)
    cross = 2 / h * np.einsum("ijk,ijk->ij", scores[:, None] - scores, u)
    kappa = np.exp(-squared / h) * (scores @ scores.T + cross + 2 * d / h - 4 * squared / h**2)
    np.testing.assert_allclose(found, np.outer(w, w) / w.mean() ** 2 * kappa, rtol=1e-12, atol=1e-12)


def test_integrating_is_the_mean_over_many_completions(target):
    """To 4 Monte Carlo standard errors for nearly all entries."""
    points = target.reference().sample(np.random.default_rng(1), 12)
    codes, weights = fit.codes_of(target.space, points), fit.inverse_weights(fit.log_p(target, points))
    exact = fit.integrated_kernel(codes, weights, len(target.space.values), 2.0)
    rng = np.random.default_rng(2)
    drawn = np.array([fit.gf_kernel(fit.latent_of(rng, target.space, points), weights, 2.0) for _ in range(3000)])
    error = (drawn.mean(axis=0) - exact) / (drawn.std(axis=0) / np.sqrt(len(drawn)))
    off = error[np.triu_indices(12, 1)]
    assert np.abs(off).max() < 4.5 and np.sqrt((off**2).mean()) < 1.5


def test_quadratic_forms_are_those_of_a_loop_to_all_digits_in_any_order():
    rng = np.random.default_rng(3)
    U, n = rng.standard_normal((7, 7)), 7
    U += U.T
    contrasts = fit.bootstrap_contrasts(np.random.default_rng(4), n, 25)
    found, draw = fit.quadratic_forms(contrasts, U), np.random.default_rng(4)
    pairs = [(i, j) for i, j in itertools.product(range(n), repeat=2) if i != j]
    assert found[0] == pytest.approx(sum(U[i, j] for i, j in pairs) / (n * (n - 1)), abs=1e-8)
    for value, counts in zip(found[1:], draw.multinomial(n, np.full(n, 1 / n), size=25), strict=True):
        u = counts / n
        naive = sum((u[i] - 1 / n) * U[i, j] * (u[j] - 1 / n) for i, j in pairs)
        assert value == pytest.approx(naive, abs=1e-8)
    n, U = 50, np.ones((50, 50))
    values = fit.quadratic_forms(fit.bootstrap_contrasts(np.random.default_rng(0), n, 200, divided=False), U)
    assert values[0] == pytest.approx(1.0, abs=1e-8) and values[1:].min() > 0.9 * (n - 1) ** 2
    rng = np.random.default_rng(9)
    U = rng.standard_normal((20, 20))
    U, contrasts = U + U.T, fit.bootstrap_contrasts(rng, 20, 30)
    narrow = U - np.diag(np.diag(U))
    one, two = (fit.quadratic_forms(contrasts, matrix) for matrix in (narrow, narrow + 1e12 * np.eye(20)))
    np.testing.assert_array_equal(one, two)
    # What BLAS does with threads: the same bits for the points in another order.
    rng = np.random.default_rng(5)
    U, order = rng.standard_normal((60, 60)), rng.permutation(60)
    U += U.T
    whole, scale = fit.bootstrap_contrasts(rng, 60, 40)
    one = fit.quadratic_forms(fit.Contrasts(whole, scale), U)
    two = fit.quadratic_forms(fit.Contrasts(whole[:, order], scale), U[np.ix_(order, order)])
    np.testing.assert_array_equal(one, two)


def test_p_values_count_ties_and_inverse_weights_have_the_ratios():
    assert fit.p_value(np.array([1.0, 0.5, 1.0, 1.0 - 1e-15, 2.0])) == pytest.approx(4 / 5)
    assert fit.p_value(np.array([3.0, 0.5, 1.0])) == pytest.approx(1 / 3)
    rng = np.random.default_rng(6)
    values = rng.standard_normal((40, 3))
    ranks = np.array([[np.count_nonzero(values[:, b] >= values[j, b]) for b in range(3)] for j in range(40)])
    np.testing.assert_allclose(fit.combined(values), -np.log(ranks.min(axis=1) / 40))
    np.testing.assert_array_equal(fit.combined(values[:, :1]), values[:, 0])
    target = make_target("categorical")
    states, p = fit.enumerated(target)
    np.testing.assert_allclose(fit.inverse_weights(fit.log_p(target, states)), (1 / p) / (1 / p).mean(), rtol=1e-9)
    drawn = goodness_of_fit.kernel_picture("KSD", np.arange(9.0).reshape(3, 3), np.array([[2.0], [0.0], [1.0]]))
    assert drawn.x_label == drawn.y_label and "points" in drawn.x_label
    np.testing.assert_array_equal(drawn.values, [[0, 5, 3], [7, 0, 6], [1, 2, 0]])


def test_permuted_statistics_are_mmd_of_the_permuted_samples():
    n, rng = 15, np.random.default_rng(8)
    x = rng.standard_normal((2 * n, 2))
    K = np.exp(-((x[:, None] - x) ** 2).sum(axis=2))
    contrasts = fit.permutation_contrasts(rng, n, 10)
    found = fit.mmd_squares(contrasts, K)
    for value, signs in zip(found, contrasts.whole, strict=True):
        a, b = signs > 0, signs < 0
        assert a.sum() == b.sum() == n
        within = sum(K[np.ix_(one, one)].sum() - n for one in (a, b)) / (n * (n - 1))
        assert value == pytest.approx(within - 2 * K[np.ix_(a, b)].mean(), abs=1e-8)


PLANE = {"dim": 2}


def rng():
    return np.random.default_rng(0)


@pytest.fixture(scope="module")
def gibbs():
    ising = {"target": "ising", "target_options": {"size": 3}}
    return pmdviz.run(**ising, method="gibbs", budget=800, floor=False, metrics_every=10**6)


def test_a_run_a_session_and_a_frame_are_tested_alike(gibbs):
    session = pmdviz.Session(gibbs.recipe, metrics_every=10**6)
    while not session.done:
        session.advance(10**9)
    found = [pmdviz.test_fit(gibbs.target, one, "dksd") for one in (gibbs, session, gibbs.final)]
    assert len({(one.p_value, one.statistic, one.num_points, one.note) for one in found}) == 1
    one = found[0]
    assert "one draw in" in one.note and 10 <= one.num_points <= 640 and 0 < one.p_value <= 1
    assert one.rejected == (one.p_value <= 0.05) and one.bootstrap.shape == (500,)
    assert one.kernel.shape == (one.num_points, one.num_points)


def test_a_result_is_a_function_of_the_seed(monkeypatch):
    monkeypatch.setattr("pmdviz.experiments.fit_testing.MOST", 40)
    points = rng().standard_normal((1500, 2))
    one, two, other = (pmdviz.test_fit("correlated_gaussian", points, draws=50, seed=seed) for seed in (1, 1, 2))
    assert one.p_value == two.p_value and np.array_equal(one.bootstrap, two.bootstrap)
    assert not np.array_equal(one.bootstrap, other.bootstrap)
    assert one.num_points == 40 and one.note == "40 of 1,500 points, at random"


def test_p_value_and_statistic_are_those_of_the_kernel_of_the_bandwidth():
    points = rng().standard_normal((30, 2))
    for bandwidth in ("median", "aggregated", 0.5):
        found = pmdviz.test_fit("correlated_gaussian", points, bandwidth=bandwidth, draws=50)
        assert found.note == "" and found.bandwidth > 0 and (bandwidth != 0.5 or found.bandwidth == 0.5)
        assert found.p_value == pytest.approx((1 + (found.bootstrap >= found.statistic).sum()) / 51), bandwidth
        off = found.kernel[~np.eye(30, dtype=bool)]
        assert bandwidth == "aggregated" or found.statistic == pytest.approx(off.mean(), rel=1e-6), bandwidth


def test_chains_are_thinned_by_twice_their_correlation_time_also_of_their_squares():
    """An AR(1) with coefficient r has tau = (1 + r) / (1 - r); of draws of random sign the size may stay."""
    r, noise, chains = 0.8, rng().standard_normal((4, 4000, 2)), np.zeros((4, 4000, 2))
    for t in range(1, 4000):
        chains[:, t, 0] = r * chains[:, t - 1, 0] + np.sqrt(1 - r * r) * noise[:, t, 0]
        chains[:, t, 1] = noise[:, t, 1]
    assert longest_correlation_time(chains, False) == pytest.approx(9.0, rel=0.25)
    assert longest_correlation_time(noise, False) < 1.3
    assert longest_correlation_time(np.ones((2, 50, 3)), True) == 50

    sizes = np.repeat(np.abs(rng().standard_normal((2, 200, 1))), 10, axis=1)
    assert longest_correlation_time(sizes * np.where(rng().random(sizes.shape) < 0.5, -1, 1), False) > 5


def test_points_are_taken_by_weight_from_a_fitted_density_or_tested_with_a_note():
    run = pmdviz.run(target="gaussian", target_options=PLANE, method="importance", floor=False, budget=400)
    points, words = points_of(run.final, rng())
    assert "w / max w" in words and 10 < len(points) < len(run.particles)
    assert len(points) == pytest.approx(1 / run.weights.max(), rel=0.4)
    exact = run.target.reference()
    error = (points.mean(axis=0) - exact.mean) / np.sqrt(np.diag(exact.cov) / len(points))
    assert np.abs(error).max() < 4
    run = pmdviz.run(target="gaussian", target_options=PLANE, method="gaussian_vb", floor=False, budget=2000)
    points, words = points_of(run.final, rng())
    assert points.shape == (1000, 2) and "independent draws" in words
    q = run.final.density
    assert np.abs((points.mean(axis=0) - q.mean) / np.sqrt(np.diag(q.cov) / 1000)).max() < 4
    run = pmdviz.run(target="gaussian", target_options=PLANE, method="smc_mcmc", num_particles=400, floor=False)
    assert run.final.rejuvenations
    points, words = points_of(run.final, rng())
    assert len(points) <= 40 and "share ancestors" in words
    run = pmdviz.run(target="gaussian", target_options=PLANE, method="svgd", num_particles=30, floor=False, budget=200)
    found = pmdviz.test_fit(run.target, run)
    assert found.num_points == 30 and "push one another apart" in found.note


def test_points_that_vary_less_by_design_and_short_chains_are_refused():
    small = {"target": "gaussian", "target_options": PLANE, "budget": 60, "floor": False}
    for method, words in [
        ("pmd", "drawn evenly spread.*draws = 'independent'"),
        ("black_box_is", "weights that make errors cancel"),
    ]:
        run = pmdviz.run(method=method, num_particles=60, **small)
        refused(words, pmdviz.test_fit, run.target, run)
    run = pmdviz.run(method="pmd", draws="independent", num_particles=300, **small)
    assert pmdviz.test_fit(run.target, run).num_points >= 10
    run = pmdviz.run(target="ising", target_options={"size": 3}, method="gibbs", budget=8, floor=False)
    refused("at least 10 independent points.*run it longer", pmdviz.test_fit, run.target, run, "dksd")


def test_what_cannot_be_used_is_said_and_the_size_is_predicted():
    for sample, words in [
        (np.zeros((5, 2)), "at least 10 independent points; the sample has 5: give more"),
        (np.zeros((50, 3)), r"must have shape \(m, 2\)"),
        (np.full((50, 2), np.nan), "finite numbers"),
    ]:
        refused(words, pmdviz.test_fit, "correlated_gaussian", sample)
    for given, words in [
        ({"alpha": 0.001}, "draws must be at least 999"),
        ({"bandwidth": "wide"}, "'median', 'aggregated' or a number above 0; got 'wide'"),
        ({"test": "ksdd"}, "did you mean 'ksd'"),
    ]:
        refused(words, pmdviz.test_fit, "correlated_gaussian", np.zeros((20, 2)), **given)
    refused("theta must be one of", pmdviz.test_fit, "ising", np.zeros((20, 16)), "dksd")
    for values, words in [
        ({"scenario": "gaussian_mean", "test": "dksd"}, "needs discrete states.*apply to it: .*ksd, mmd"),
        ({"scenario": "ising_4x4", "test": "chi_square"}, "4,096 states or fewer"),
        ({"alpha": 0.01}, "draws must be at least 99"),
    ]:
        refused(words, lambda values=values: MADE.cases(knobs(**values)))
    small, large = (MADE.cases(knobs(num_points=n, repetitions=20, test="dksd"))[0] for n in (50, 1000))
    one, other = MADE.size(small), MADE.size(large)
    assert 0.1 < one.seconds < other.seconds < 10 and one.megabytes < other.megabytes < 1000


MADE = goodness_of_fit.GoodnessOfFit()


def knobs(**values):
    return goodness_of_fit.GoodnessOfFitKnobs.checked({"num_points": 40, "repetitions": 25, "draws": 40, **values})


SIZES = [
    name if name != "ising_10x10" else pytest.param(name, marks=pytest.mark.ci) for name in goodness_of_fit.SCENARIOS
]


@pytest.mark.parametrize("name", SIZES)
def test_a_scenario_draws_points_of_its_target(name):
    scenario, n = goodness_of_fit.SCENARIOS[name], 2000
    target = scenario.target(10.0)
    assert scenario.levels[0] == 0.0
    for level in (0.0, scenario.at):
        points = scenario.draws(10.0, level)(np.random.default_rng(0), n)
        assert points.shape == (n, target.dim)
        np.testing.assert_array_equal(target.space.check(points), points)
        if level == 0.0 and name != "ising_10x10":  # which has no exact moments
            exact = target.reference()
            assert np.abs((points.mean(axis=0) - exact.mean) / np.sqrt(np.diag(exact.cov) / n)).max() < 4.5


def test_cases_are_blocks_of_at_most_20_samples_along_the_axis_and_rates_have_intervals():
    mine = [case for case in MADE.cases(knobs()) if case["first"] == 0 and case["perturbation"] == 0]
    assert len({case["test"] for case in mine}) == len(mine) >= 5
    samples = [np.array(goodness_of_fit.samples_of(case)) for case in mine]
    assert all(np.array_equal(samples[0], each) for each in samples)
    assert not np.array_equal(samples[0][0], samples[0][1])
    off = next(case for case in MADE.cases(knobs()) if case["first"] == 0 and case["perturbation"] > 0)
    assert not np.array_equal(samples[0], np.array(goodness_of_fit.samples_of(off)))
    cases = MADE.cases(knobs(test="dksd"))
    assert [(case["first"], case["count"]) for case in cases[:2]] == [(0, 20), (20, 5)]
    rows = [row for case in cases[:2] for row in MADE.run(case)]
    assert [row["seed"] for row in rows] == list(range(25)) and {row["test"] for row in rows} == {"dksd"}

    def along(**values):
        return list(dict.fromkeys((case["perturbation"], case["num_points"]) for case in MADE.cases(knobs(**values))))

    assert along(strength=2.0) == [(0.0, 40), (0.1, 40), (0.2, 40), (0.3, 40)] and along(strength=0.0) == [(0.0, 40)]
    assert along(varied="num_points", num_points=200) == [(0.1, n) for n in (25, 50, 100, 200)]
    usual = {"test": "dksd", "num_points": 40, "perturbation": 0.1, "seconds": 0.01}
    rows = [{**usual, "rejected": k < 6} for k in range(20)]
    (found,), (chart,) = MADE.summary(rows, knobs()), MADE.pictures(rows, knobs())
    assert found["rejected"] == 0.3 and 0.14 < found["low"] < 0.3 < found["high"] < 0.53 and found["samples"] == 20
    assert chart.levels == [("α = 0.05", 0.05)] and chart.series[0].y == [0.3] and chart.series[0].low < 0.3


REPETITIONS, DRAWS = 60, 100


def rate(test, scenario, level, bandwidth="median", n=100, temperature=10.0, repetitions=REPETITIONS):
    """Share of samples rejected at level 0.05."""
    target, found = goodness_of_fit.SCENARIOS[scenario].target(temperature), 0
    draws = goodness_of_fit.SCENARIOS[scenario].draws(temperature, level)
    for k in range(repetitions):
        points = draws(np.random.default_rng([11, k]), n)
        compared = FIT_TESTS[test].compare(np.random.default_rng([12, k]), target, points, DRAWS, bandwidth)
        found += p_value(compared.values) <= 0.05
    return found / repetitions


PAIRS = [("ksd", "gaussian_mean"), ("mmd", "gaussian_mean"), ("mmd", "categorical"), ("chi_square", "categorical")]
PAIRS += [(name, "ising_3x3") for name in ("dksd", "gf_ksd", "gf_ksd_rao_blackwell", "gf_ksd_surrogate", "chi_square")]
PAIRS += [("kolmogorov_smirnov", "gaussian_mean"), ("anderson_darling", "gaussian_scale")]
PAIRS += [("dksd", "categorical"), ("gf_ksd_rao_blackwell", "rbm")]
LEVELS = [(*pair, "median") for pair in PAIRS]
LEVELS += [(*pair, "aggregated") for pair in [("ksd", "gaussian_mean"), ("dksd", "ising_3x3"), ("mmd", "categorical")]]


@pytest.mark.ci
@looped("test, scenario, bandwidth", LEVELS)
def test_the_level_is_kept(test, scenario, bandwidth):
    assert rate(test, scenario, 0.0, bandwidth) <= 0.12


@pytest.mark.ci
def test_as_printed_nothing_is_rejected_and_several_bandwidths_find_what_a_bad_one_misses():
    for level in (0.0, 0.15):
        assert rate("gf_ksd_printed", "ising_3x3", level, n=200) < 0.03
    bad = rate("gf_ksd_rao_blackwell", "ising_3x3", 0.15, 60.0, n=200, repetitions=30)
    assert rate("gf_ksd_rao_blackwell", "ising_3x3", 0.15, "aggregated", n=200, repetitions=30) > bad + 0.3


@pytest.mark.parametrize(
    "test, scenario, level, n",
    [("ksd", "gaussian_mean", 0.5, 100), ("mmd", "gaussian_mean", 0.9, 100), ("ksd", "gaussian_scale", 0.6, 100),
     ("chi_square", "categorical", 0.2, 100), ("mmd", "categorical", 0.25, 100), ("gf_ksd", "categorical", 0.25, 100),
     ("dksd", "rbm", 0.6, 100), ("gf_ksd", "ising_field", 0.5, 100), ("gf_ksd_rao_blackwell", "ising_3x3", 0.25, 200),
     ("gf_ksd_surrogate", "ising_field", 0.5, 100), ("kolmogorov_smirnov", "gaussian_mean", 0.5, 100),
     ("anderson_darling", "gaussian_scale", 0.6, 100)],
)  # fmt: skip
def test_what_is_far_off_is_found(test, scenario, level, n):
    assert rate(test, scenario, level, repetitions=15, n=n) > 0.7


def test_a_few_points_that_decide_are_said():
    """Of states whose probabilities differ by much: 1/p of the rarest one is larger than that of all others."""
    for coupling, test, decide in ((0.5, "gf_ksd", True), (0.5, "mmd", False), (0.05, "gf_ksd", False)):
        target = pmdviz.target("ising", size=3, coupling=coupling, field=0.0)
        points = target.reference().sample(np.random.default_rng(0), 200)
        note = pmdviz.test_fit(target, points, test, draws=50).note
        assert "points decide" in note if decide else note == "", (coupling, test)


def test_chi_squares_are_pearsons_intervals_wilsons_and_classical_tests_scipys():
    counts, p = np.array([[10, 20, 30], [20, 20, 20]]), np.array([0.2, 0.3, 0.5])
    for row, value in zip(counts, chi_squares(counts, p), strict=True):
        assert value == pytest.approx(stats.chisquare(row, 60 * p).statistic)
    assert chi_squares(np.array([[1, 1]]), np.array([1.0, 0.0]))[0] == np.inf
    for k, n in ((0, 60), (3, 60), (60, 60)):
        known = stats.binomtest(k, n).proportion_ci(method="wilson")
        assert goodness_of_fit.wilson(k, n) == pytest.approx((known.low, known.high), abs=1e-6)
    target, draws = pmdviz.target("correlated_gaussian", dim=1, q0_sd=1.0), 4000
    mean, sd = target.exact.mean[0], np.sqrt(target.exact.cov[0, 0])
    x = mean + sd * (0.15 + np.random.default_rng(3).standard_normal((80, 1)))
    ks = stats.kstest(x[:, 0], "norm", (mean, sd))
    ad = stats.goodness_of_fit(
        stats.norm, x[:, 0], known_params={"loc": mean, "scale": sd}, statistic="ad", n_mc_samples=draws - 1, rng=1
    )
    for name, known in (("kolmogorov_smirnov", ks), ("anderson_darling", ad)):
        found = pmdviz.test_fit(target, x, name, draws=draws)
        assert found.statistic == pytest.approx(known.statistic, rel=1e-5), name
        assert abs(found.p_value - known.pvalue) < 7 * np.sqrt(known.pvalue * (1 - known.pvalue) / draws), name
    plane = pmdviz.target("correlated_gaussian", dim=2, correlation=0.9, q0_sd=1.0)
    points = plane.exact.sample(np.random.default_rng(0), 60)
    sds = np.sqrt(np.diag(plane.exact.cov))
    one = max(stats.kstest(z, "norm").statistic for z in ((points - plane.exact.mean) / sds).T)
    assert pmdviz.test_fit(plane, points, "kolmogorov_smirnov").statistic == pytest.approx(one, rel=1e-5)
    words = "needs real coordinates whose exact distribution functions are known"
    refused(words, pmdviz.test_fit, "ising", np.ones((20, 25)), "anderson_darling")


def test_a_test_says_where_it_applies_and_how_long_it_takes():
    plane, lattice = pmdviz.target("gaussian", dim=2), pmdviz.target("ising", size=3)
    for name, made in FIT_TESTS.items():
        assert all(pmdviz.list_fit_tests()[name][part] for part in ("title", "about", "reference")), name
        target = lattice if made.applies(lattice) else plane
        assert made.applies(target), name
        assert 0 < made.seconds(target, 100, 100, 1) <= made.seconds(target, 200, 200, 4) < 1, name
        for other in (plane, lattice):
            if not made.applies(other):
                words = f"'{name}' needs .*; tests that apply to it: "
                refused(words, pmdviz.test_fit, other, np.ones((20, other.dim)), name)


OPTIONS = {"num_data": 8, "dim": 2}


def test_control_variates_make_means_of_polynomials_exact_and_others_nearly_so():
    target = pmdviz.target("gaussian", **OPTIONS)
    mean, cov = target.exact.mean, target.exact.cov
    points = target.exact.sample(np.random.default_rng(0), 40)
    first = pmdviz.stein_mean(target, points, lambda x: x, degree=1)
    np.testing.assert_allclose(first.value, mean, atol=1e-10)
    second = pmdviz.stein_mean(target, points, lambda x: np.stack([x[:, 0] ** 2, x[:, 0] * x[:, 1]], axis=1))
    np.testing.assert_allclose(second.value, [cov[0, 0] + mean[0] ** 2, cov[0, 1] + mean[0] * mean[1]], atol=1e-10)
    assert first.standard_error.max() < 1e-10 < np.abs(first.plain - mean).min()
    np.testing.assert_allclose(first.plain_error, points.std(axis=0) / np.sqrt(40))
    points = np.zeros((11, 2))
    for other, sample, function, degree, words in (
        ("ising", np.ones((50, 25)), lambda x: x, 2, "gradient"),
        ("gaussian", points, lambda x: x, 2, "6 control variates of degree 2 need at least 12 points; got 11"),
        ("gaussian", points, lambda x: x, 3, "degree must be 1 or 2"),
        ("gaussian", points, lambda x: x[0], 1, "must give"),
        ("gaussian", points, lambda x: x[:, 0] * np.nan, 1, "must give"),
    ):
        refused(words, pmdviz.stein_mean, other, sample, function, degree)
    target, truth = pmdviz.target("correlated_gaussian", dim=1, q0_sd=1.0), np.exp(-0.5)
    samples = [target.exact.sample(np.random.default_rng(seed), 100) for seed in range(200)]
    found = [pmdviz.stein_mean(target, sample, lambda x: np.cos(x[:, 0])) for sample in samples]
    value, error, plain, plain_error = (np.array([each[k][0] for each in found]) for k in range(4))
    mse, plain_mse = ((each - truth) ** 2 for each in (value, plain))
    assert mse.mean() < 0.15 * plain_mse.mean()
    for squares, told in ((mse, error), (plain_mse, plain_error)):
        assert 0.7 < squares.mean() / (told**2).mean() < 1.5
    run = pmdviz.run(target="gaussian", target_options=OPTIONS, method="importance", num_particles=400, floor=False)
    weighed = pmdviz.stein_mean(run.target, run, lambda x: x)
    np.testing.assert_allclose(weighed.value, run.target.exact.mean, atol=1e-9)
    np.testing.assert_allclose(weighed.plain, run.mean(), rtol=1e-9)
