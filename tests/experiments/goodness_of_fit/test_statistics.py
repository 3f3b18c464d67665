import numpy as np
import pytest
from scipy import stats

import pmdviz
from pmdviz.experiments.fit_statistics import FIT_TESTS, chi_squares, p_value
from pmdviz.experiments.goodness_of_fit import SCENARIOS, rate_of
from tests.support.tables import looped, refused

REPETITIONS, DRAWS = 60, 100


def rate(test, scenario, level, bandwidth="median", n=100, temperature=10.0, repetitions=REPETITIONS):
    """Share of samples rejected at level 0.05."""
    target, found = SCENARIOS[scenario].target(temperature), 0
    draws = SCENARIOS[scenario].draws(temperature, level)
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


def test_chi_squares_are_pearsons_and_intervals_wilsons():
    counts, p = np.array([[10, 20, 30], [20, 20, 20]]), np.array([0.2, 0.3, 0.5])
    for row, value in zip(counts, chi_squares(counts, p), strict=True):
        assert value == pytest.approx(stats.chisquare(row, 60 * p).statistic)
    assert chi_squares(np.array([[1, 1]]), np.array([1.0, 0.0]))[0] == np.inf
    for k, n in ((0, 60), (3, 60), (60, 60)):
        known = stats.binomtest(k, n).proportion_ci(method="wilson")
        assert rate_of(k, n)[2:] == pytest.approx((known.low, known.high), abs=1e-6)


def test_classical_tests_are_scipys():
    """Statistics, and p-values to the errors of two simulations, in one coordinate and for the worst of two."""
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


def test_means_of_polynomials_under_a_gaussian_have_no_error():
    """Of degree 1 for coordinates, 2 for their products; a plain mean is off by its standard error."""
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


def test_the_mean_square_error_is_far_below_that_of_a_plain_mean():
    """cos under N(0, 1), whose mean is exp(-1/2); the standard errors are those of the estimates; weights count."""
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
