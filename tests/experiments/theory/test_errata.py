"""The figures of docs/errata.md about Particle Mirror Descent, computed anew, and the geometry of an exact step."""

import numpy as np
import pytest
from scipy import stats

from pmdviz import Recipe, Session
from pmdviz.experiments.theory import formulas


def kl(p, q):
    return float((p * np.log(p / q)).sum())


def test_p1_theorem_2_as_printed_is_false_and_holds_as_proved():
    """q_t = p and g = 0: the exact step stays at p, and eps_t as printed is KL(q || p)."""
    p, q = np.array([0.01, 0.99]), np.array([0.01 * np.exp(-10), 1 - 0.01 * np.exp(-10)])
    printed = kl(q, p)
    for gamma in (0.0, 0.3, 1.0):
        assert kl(p, q) > formulas.theorem2(0.0, gamma, 0.0, printed)
        proved = formulas.proved_inexactness(printed, kl(p, q), 0.0)
        assert kl(p, q) <= formulas.theorem2(0.0, gamma, 0.0, proved)
    assert (round(printed, 4), round(kl(p, q), 4)) == (0.0100, 0.0901)


def test_p1_the_proved_inexactness_is_the_first_order_condition_at_p():
    """<gamma g + log q_{t+1} - log q_t, q_{t+1} - p>, summed directly."""
    rng = np.random.default_rng(0)
    p, before, after = rng.dirichlet(np.ones(6), 3)
    g, gamma = rng.normal(size=6), 0.4
    exact = before * np.exp(-gamma * g)
    exact /= exact.sum()
    direct = float(((gamma * g + np.log(after / before)) * (after - p)).sum())
    assert formulas.proved_inexactness(kl(after, exact), kl(p, after), kl(p, exact)) == pytest.approx(direct, rel=1e-12)


@pytest.mark.parametrize(("eta", "at_1e5", "lemma", "slope"), [
    (0.6, 1.04e-3, 1.8e-5, -0.6), (1.0, 6.05e-5, 1.0e-5, -0.9), (2.0, 2.00e-5, 1.33e-5, -1.0),
])  # fmt: skip
def test_p2_the_recurrence_of_lemma_8_falls_slower_than_the_lemma_says(eta, at_1e5, lemma, slope):
    """M = 1, KL_1 = 1; T^-eta below 1, log T / T at 1 (slope -1 + 1/log T), 1/T above."""
    early, late = (formulas.lemma8_proved(1.0, 1.0, steps, eta) for steps in (10**3, 10**5))
    printed = formulas.lemma8(0.0, 1.0, 10**5, eta)
    assert (late, printed) == (pytest.approx(at_1e5, rel=5e-3), pytest.approx(lemma, rel=5e-3))
    assert late > printed
    assert np.log(late / early) / np.log(100) == pytest.approx(slope, abs=0.01)


def test_p2_the_constant_that_the_recurrence_has_for_eta_above_1():
    for eta in (1.2, 2.0, 5.0):
        for steps in (2, 10, 1000, 20_000):
            right = max(1.0, eta**2 / (2 * eta - 2)) / steps
            assert formulas.lemma8_proved(1.0, 1.0, steps, eta) <= right * (1 + 1e-12), (eta, steps)


def test_p2_with_both_divergences_kept_the_lemmas_rate_is_that_of_small_errors():
    """Close to p the dropped term gamma KL(q || p) equals gamma KL(p || q): (1 - 2 gamma), and the lemma's bound."""
    value = 1.0
    for t in range(1, 10**5):
        gamma = min(1.0, 0.6 / t)
        value = max(0.0, 1 - 2 * gamma) * value + gamma**2 / 2
    assert value <= formulas.lemma8(1.0, 1.0, 10**5, 0.6)


def test_p3_pinsker_has_a_factor_2_that_lemma_9_loses():
    """sqrt(2 KL) is sharp; sqrt(KL/2) and the lemma's sqrt(KL) fail."""
    for shift in (0.1, 0.01):
        p, q = np.array([0.5, 0.5]), np.array([0.5 + shift, 0.5 - shift])
        ratio = np.abs(p - q).sum() / np.sqrt(kl(p, q))
        assert np.sqrt(2) * (1 - shift) < ratio <= np.sqrt(2)


def test_p3_theorem_5_as_proved_is_the_larger_one():
    one = (100, 100, 4.0, 0.1, 1.0, 2.0)
    assert formulas.theorem5_proved(*one) > formulas.theorem5(*one)
    first = formulas.theorem3(100, 4.0)
    assert formulas.theorem5_proved(*one) == pytest.approx(first + np.sqrt(2 * formulas.lemma8_proved(2.0, 1.0, 100)))


def test_p5_theorem_6_with_the_proved_inexactness_does_not_fall_at_the_printed_growth():
    """m_t = t^(2 + d/beta): the sum's term is C1 in the limit times 1/2; m_t = t^(4 + 2 d/beta) brings 1/T back."""

    def sum_term(power, exponent, steps):
        t = np.arange(1.0, steps + 1)
        return (t**2 * t ** (power * exponent)).sum() / steps**2

    dim, beta = 1, 1.0
    rate = formulas.kde_exponent(beta, dim)
    growth = 2 + dim / beta
    assert sum_term(growth, rate, 10**5) == pytest.approx(0.5, rel=1e-3)
    assert sum_term(growth, 2 * rate, 10**5) == pytest.approx(1e-5, rel=1e-3)  # as printed
    assert sum_term(2 * growth, rate, 10**5) == pytest.approx(1e-5, rel=1e-3)


def test_p6_the_growth_of_the_appendix_is_too_slow_for_its_rate():
    """d = 2, beta = 1: m_t = t^(2 + d/(2 beta)) = t^3 makes Theorem 6's bound fall like T^-1/2, and t^4 like 1/T."""

    def slope(power):
        values = [formulas.theorem6(np.arange(1.0, n + 1) ** power, 2, 1.0, 0.0, 0.0, 1.0, 0.0) for n in (10**4, 10**6)]
        return np.log(values[1] / values[0]) / np.log(100)

    assert slope(3.0) == pytest.approx(-0.5, abs=0.01)
    assert slope(4.0) == pytest.approx(-1.0, abs=0.01)


def log_partition(precision, linear):
    return 0.5 * linear**2 / precision - 0.5 * np.log(precision)


def test_p8_p9_the_sparse_gp_in_one_dimension():
    """q_t = N(m, 1/delta), prior N(0, 1), y | u ~ N(A u, G): power 0.05 of the densities, 0.4 of the likelihood."""
    m, delta, a, g, y, noise, weight = 0.5, 2.0, 0.05, 0.4, 1.2, 0.3, 0.8
    u = np.linspace(-12, 12, 200_001)
    log_q, log_prior = stats.norm(m, delta**-0.5).logpdf(u), stats.norm().logpdf(u)
    joint = np.exp((1 - a) * log_q + a * log_prior + g * stats.norm(weight * u, noise**0.5).logpdf(y))
    exact, mean = np.log(joint.sum() * (u[1] - u[0])), float(joint @ u / joint.sum())

    before, linear = (1 - a) * delta + a, (1 - a) * delta * m
    after, pulled = before + g * weight**2 / noise, linear + g * weight * y / noise
    assert pulled / after == pytest.approx(mean, rel=1e-8)
    assert ((1 - a) * m / delta + g * weight * y / noise) / after == pytest.approx(
        0.541, abs=1e-3
    )  # printed; mean 0.795

    printed = stats.norm(weight * linear / before, np.sqrt(weight**2 / before + noise / g)).logpdf(y)
    right = log_partition(after, pulled) - (1 - a) * log_partition(delta, delta * m) - a * log_partition(1.0, 0.0)
    right += g * stats.norm(0, noise**0.5).logpdf(y)
    assert right == pytest.approx(exact, abs=1e-8)
    assert (round(exact, 4), round(printed, 4)) == (-0.6235, -1.2610)


# An exact step contracts the forward KL (docs/algorithm.md)


def check_contraction(p, before, after, gamma):
    log_z = np.log((before ** (1 - gamma) * p**gamma).sum())
    assert log_z <= 1e-12
    assert kl(p, after) == pytest.approx((1 - gamma) * kl(p, before) + log_z, rel=1e-9, abs=1e-12)
    assert kl(p, after) <= (1 - gamma) * kl(p, before) + 1e-12


@pytest.mark.parametrize("gamma", [0.1, 0.5, 0.9, 1.0])
def test_an_exact_step_contracts_the_forward_kl_on_a_grid(gamma):
    target = Recipe("mixture").make_target()
    axes = [np.linspace(low, high, 61) for low, high in target.exact.box]
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), -1).reshape(-1, 2)
    log_p, log_q = target.exact.log_density(grid), target.log_prior(grid)
    p, q = (np.exp(values - values.max()) + 1e-250 for values in (log_p, log_q))
    p, q = p / p.sum(), q / q.sum()
    for _ in range(4):
        after = q ** (1 - gamma) * p**gamma
        after /= after.sum()
        check_contraction(p, q, after, gamma)
        q = after


def test_full_batches_of_pmd_contract_it_on_their_particles():
    """On particles that stay a full batch is an exact step: p there is the weights of posterior over prior."""
    knobs = {"policy": "never", "schedule": "constant", "step_size": 0.3, "step_limit": 0.0, "num_particles": 200}
    session = Session(Recipe("gaussian", batch_size=20, budget=100, **knobs))
    target, frame = session.target, session.frame
    log_p = target.log_likelihood(frame.particles, target.data_rows)
    p = np.exp(log_p - log_p.max())
    p /= p.sum()
    for _ in range(4):
        before, frame = frame.weights, session.advance()
        check_contraction(p, before, frame.weights, 0.3)
