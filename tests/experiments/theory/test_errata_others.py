"""The figures of docs/errata.md about Han 2019 and Tran, Tseng, Kohn 2023, each computed anew."""

import itertools

import numpy as np
import pytest
from scipy import stats

pytestmark = pytest.mark.nightly

LINE = np.linspace(-14, 16, 1001)
STEP = LINE[1] - LINE[0]


@pytest.mark.parametrize("n", [20, 100])
def test_s1_what_a_neighbour_at_the_median_distance_weighs(n):
    median = 1.7
    thesis, liu_wang = (np.exp(-(median**2) / (median**2 / (c * np.log(n + 1)))) for c in (2, 1))
    assert thesis == pytest.approx((n + 1.0) ** -2)
    assert liu_wang == pytest.approx(1 / (n + 1))


def leapfrog(theta, v, eps, steps, first):
    """On N(0, 1); the last kick is eps/2 as the thesis has it, the first `first`."""
    v = v - first * theta
    for step in range(steps):
        theta = theta + eps * v
        v = v - (eps if step < steps - 1 else eps / 2) * theta
    return theta, v


def test_s2_hmc_is_reversible_with_a_half_kick_and_not_with_a_full_one():
    def gap(first):
        theta, v = leapfrog(1.0, 0.5, 0.1, 10, first)
        back, _ = leapfrog(theta, -v, 0.1, 10, first)
        return abs(back - 1.0)

    assert gap(0.05) < 1e-14
    assert gap(0.1) == pytest.approx(0.0387, abs=1e-4)


def test_s3_the_gradient_of_the_kl_has_the_other_sign():
    """q = N(mu, 1), p = N(0, 1): KL = mu^2/2, whose slope at mu = 1 is 1; (0.12) gives -1."""
    q = stats.norm(1, 1).pdf(LINE) * STEP
    printed = (q * (LINE - 1) * (stats.norm.logpdf(LINE) - stats.norm.logpdf(LINE, 1))).sum()
    assert printed == pytest.approx(-1.0, abs=1e-6)


def stein_importance_sampling(leaders, steps, eps=0.2, followers=2000):
    """Algorithm 3 in one dimension, N(0, 4) to N(0, 1), thesis bandwidth: KL of the followers, KSD^2."""
    rng = np.random.default_rng(0)
    a, b = rng.normal(0, 2, leaders), rng.normal(0, 2, followers)
    log_q, kls, discrepancies = stats.norm(0, 2).logpdf(b), [], []
    for _ in range(steps):
        z = a[:, None] - a
        h = np.median(np.abs(z[np.triu_indices(leaders, 1)])) ** 2 / (2 * np.log(leaders + 1))
        kernel = np.exp(-(z**2) / h)
        stein = kernel * (a[:, None] * a - 2 / h * z**2 + 2 / h - 4 / h**2 * z**2)
        discrepancies.append(stein.mean())
        y = a[:, None] - b
        near = np.exp(-(y**2) / h)
        log_q = log_q - np.log(np.abs(1 + eps * (near * 2 / h * (-a[:, None] * y + 1 - 2 / h * y**2)).mean(0)))
        b = b + eps * (near * (-a[:, None] - 2 / h * y)).mean(0)
        a = a + eps * (kernel * (-a[:, None] - 2 / h * z)).mean(0)
        kls.append((log_q - stats.norm.logpdf(b)).mean())
    return np.array(kls), np.array(discrepancies)


def test_s4_s10_with_finitely_many_leaders_the_kl_rises_again_and_the_path_integral_has_no_end():
    kls, discrepancies = stein_importance_sampling(20, 1000)
    assert kls.argmin() < 30 and kls.min() == pytest.approx(0.70, abs=0.02)
    assert kls[-1] > 3
    assert discrepancies[-500:].min() > 0.02  # the V-statistic adds eps times this at every further step
    assert stein_importance_sampling(100, 300)[0].min() < kls.min()  # more leaders, nearer to the flow


def test_s5_the_ratio_estimator_is_biased_and_that_of_z_is_not():
    """Two draws of N(0, 1) for N(1, 1), f = x: a sum over both draws on a grid."""
    x = np.linspace(-8, 8, 1601)
    q = stats.norm.pdf(x) * (x[1] - x[0])
    w = np.exp(x - 0.5)
    ratio = (w[:, None] * x[:, None] + w * x) / (w[:, None] + w)
    assert q @ w == pytest.approx(1.0, abs=1e-9)
    assert q @ ratio @ q == pytest.approx(0.363, abs=1e-3)  # not 1


def test_s12_a_random_batch_at_the_end_is_a_posterior_elsewhere():
    """Likelihood^(N/M): the posterior's own width, its centre sqrt(N/M - 1) sds away; and E exp(x) > exp(E x)."""
    data, batch, runs = 200, 10, 4000
    rng = np.random.default_rng(1)
    x = rng.normal(size=(runs, data))
    off = (x[:, :batch].mean(1) - x.mean(1)) * np.sqrt(data)
    assert off.std() == pytest.approx(np.sqrt(data / batch - 1), rel=4 / np.sqrt(2 * runs))
    assert np.exp(stats.norm.ppf((np.arange(100_000) + 0.5) / 100_000)).mean() == pytest.approx(np.exp(0.5), rel=1e-3)


def test_s13_gradient_free_with_the_surrogate_q_is_not_the_discrepancy_the_other_way_round():
    """q = N(0, 1), p = N(0.5, 2), h = 1."""
    q, p = stats.norm(0, 1).pdf(LINE), stats.norm(0.5, 2**0.5).pdf(LINE)
    x, y = LINE[:, None], LINE
    gauss = np.exp(-((x - y) ** 2))
    kappa_q = gauss * (x * y - 2 * (x - y) ** 2 + 2 - 4 * (x - y) ** 2)
    weighted = q * q / p * STEP
    assert weighted @ kappa_q @ weighted == pytest.approx(0.0727, abs=1e-4)
    assert (p * STEP) @ kappa_q @ (p * STEP) == pytest.approx(0.1574, abs=1e-4)


def test_s16_the_surrogate_of_annealed_gradient_free_svgd_is_narrower_than_its_target():
    """Particles of N(0, 1), weights p of them, kernel exp(-r^2/h) with h = 0.2: variance 1/2 + h/2."""
    density = stats.norm.pdf(LINE) ** 2
    assert (density @ LINE**2) / density.sum() + 0.2 / 2 == pytest.approx(0.6, abs=1e-6)


def test_s22_the_free_energy_of_hidden_units_of_plus_and_minus_1():
    phi = np.array([0.5, -1.2, 0.3])
    summed = np.log(sum(np.exp(phi @ h) for h in itertools.product((-1, 1), repeat=3)))
    assert np.log(2 * np.cosh(phi)).sum() == pytest.approx(summed)
    assert np.log1p(np.exp(phi)).sum() == pytest.approx(2.092, abs=1e-3)  # printed
    assert summed == pytest.approx(2.838, abs=1e-3)


def test_s24_the_bootstrap_as_printed_never_rejects():
    """60 draws of N(1.5, 1) against N(0, 1): printed p-value 1, with the counts divided by n the smallest there is."""
    rng = np.random.default_rng(0)
    n, m = 60, 200
    x = rng.normal(1.5, 1, n)
    z = x[:, None] - x
    kappa = np.exp(-(z**2)) * (x[:, None] * x - 2 * z**2 + 2 - 4 * z**2)
    np.fill_diagonal(kappa, 0.0)
    statistic = kappa.sum() / (n * (n - 1))
    counts = rng.multinomial(n, np.full(n, 1 / n), size=m)

    def p_value(u):
        return (1 + (np.einsum("bi,ij,bj->b", u - 1 / n, kappa, u - 1 / n) >= statistic).sum()) / (m + 1)

    assert p_value(counts) == 1.0
    assert p_value(counts / n) == pytest.approx(1 / 201)


def test_v29_log_m_is_no_entropy():
    """Exact draws of N(0, 1), whose log Z is 0: the printed bound grows like log M past it."""
    values = [-0.5 * np.log(2 * np.pi) - 0.5 + np.log(m) for m in (100, 1000)]
    np.testing.assert_allclose(values, [3.19, 5.49], atol=5e-3)


@pytest.mark.parametrize("sign", [1, -1])
def test_v30_two_minimisers_of_a_mean_field_problem(sign):
    """Two Gaussians at (1.5, 1.5) and (-1.5, -1.5), variance 0.3: CAVI ends in either, at the same KL."""
    x = np.linspace(-6, 6, 601)
    step = x[1] - x[0]
    parts = [-((x[:, None] - s) ** 2 + (x - s) ** 2) / 0.6 - np.log(2 * np.pi * 0.3) for s in (1.5, -1.5)]
    log_pi, second = np.logaddexp(*parts) - np.log(2), stats.norm(0.5 * sign, 1).pdf(x) * step
    for _ in range(100):
        first = np.exp((values := log_pi @ second) - values.max())
        first /= first.sum()
        second = np.exp((values := first @ log_pi) - values.max())
        second /= second.sum()
    entropies = sum((q * np.log(q / step + 1e-300)).sum() for q in (first, second))
    assert [first @ x, second @ x] == pytest.approx([1.5 * sign] * 2, abs=1e-3)
    assert entropies - first @ log_pi @ second == pytest.approx(0.693, abs=1e-3)


def test_v34_the_fokker_planck_equation_of_half_a_gradient_runs_at_half_speed():
    """Variance at time 1 of N(0, 1)'s Langevin diffusion from a point: 1 - e^-1, not 1 - e^-2."""
    h, variance = 1e-4, 0.0
    for _ in range(10_000):
        variance = (1 - h / 2) ** 2 * variance + h
    assert variance == pytest.approx(1 - np.exp(-1), abs=1e-4)


def test_v36_the_mean_of_mu_in_the_volatility_model():
    """A path of 500 with mu = 1, phi = 0.8, s = 0.5: log joint of mu on a grid, and B / A."""
    rng = np.random.default_rng(3)
    t, phi, precision = 500, 0.8, 4.0
    x = [1 + 0.5 / 0.6 * rng.normal()]
    for _ in range(t - 1):
        x.append(0.2 + phi * x[-1] + 0.5 * rng.normal())
    x = np.array(x)
    mu = np.linspace(-4, 6, 200_001)
    gaps = (1 - phi) * mu[:, None] - (x[1:] - phi * x[:-1]).mean()
    log_joint = -(mu**2) / 20 - precision / 2 * ((1 - phi**2) * (x[0] - mu) ** 2 + (t - 1) * gaps[:, 0] ** 2)
    a = 0.1 + precision * (1 - phi**2) + (t - 1) * precision * (1 - phi) ** 2
    first, rest = precision * (1 - phi**2) * x[0], precision * (1 - phi) * (x[1:] - phi * x[:-1]).sum()
    assert (first + rest) / a == pytest.approx(mu[log_joint.argmax()], abs=1e-4)
    assert abs((first + rest) / a - 1) < 0.5
    assert (first + (t - 1) * rest) / a > 300  # as printed


def test_v38_two_roots_make_the_drift_change_with_the_units():
    def drift(scale):
        return scale / np.sqrt(np.sqrt(scale**2))  # a root in v, and one more in g

    assert drift(100.0) / drift(1.0) == pytest.approx(10)


@pytest.mark.parametrize(("mse", "printed"), [(2.0631, 0.8598), (4.3795, 1.2513), (0.2498, -0.1932)])
def test_v40_the_scores_of_the_tables_have_a_log_and_no_constant(mse, printed):
    """-mean log N(y | eta, MSE) = log(MSE)/2 + 1/2 + log(2 pi)/2; the tables leave the last out."""
    assert 0.5 * np.log(mse) + 0.5 == pytest.approx(printed, abs=0.015)
