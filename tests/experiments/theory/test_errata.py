import numpy as np
import pytest

from pmdviz import Recipe, Session
from pmdviz.experiments import theory as formulas


def kl(p, q):
    return float((p * np.log(p / q)).sum())


def test_p1_theorem_2_as_printed_is_false_and_the_proved_one_is_the_first_order_condition():
    """q_t = p and g = 0: the exact step stays at p, and eps_t as printed is KL(q || p)."""
    p, q = np.array([0.01, 0.99]), np.array([0.01 * np.exp(-10), 1 - 0.01 * np.exp(-10)])
    printed = kl(q, p)
    for gamma in (0.0, 0.3, 1.0):
        assert kl(p, q) > formulas.theorem2(0.0, gamma, 0.0, printed)
        proved = formulas.proved_inexactness(printed, kl(p, q), 0.0)
        assert kl(p, q) <= formulas.theorem2(0.0, gamma, 0.0, proved)
    assert (round(printed, 4), round(kl(p, q), 4)) == (0.0100, 0.0901)
    # <gamma g + log q_{t+1} - log q_t, q_{t+1} - p>, summed directly.
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


def test_p2_and_p3_as_proved():
    for eta in (1.2, 2.0, 5.0):
        for steps in (2, 10, 1000, 20_000):
            right = max(1.0, eta**2 / (2 * eta - 2)) / steps
            assert formulas.lemma8_proved(1.0, 1.0, steps, eta) <= right * (1 + 1e-12), (eta, steps)
    one = (100, 100, 4.0, 0.1, 1.0, 2.0)
    assert formulas.theorem5_proved(*one) > formulas.theorem5(*one)
    first = formulas.theorem3(100, 4.0)
    assert formulas.theorem5_proved(*one) == pytest.approx(first + np.sqrt(2 * formulas.lemma8_proved(2.0, 1.0, 100)))


def test_p6_the_growth_of_the_appendix_is_too_slow_for_its_rate():
    """d = 2, beta = 1: m_t = t^(2 + d/(2 beta)) = t^3 makes Theorem 6's bound fall like T^-1/2, and t^4 like 1/T."""

    def slope(power):
        values = [formulas.theorem6(np.arange(1.0, n + 1) ** power, 2, 1.0, 0.0, 0.0, 1.0, 0.0) for n in (10**4, 10**6)]
        return np.log(values[1] / values[0]) / np.log(100)

    assert slope(3.0) == pytest.approx(-0.5, abs=0.01)
    assert slope(4.0) == pytest.approx(-1.0, abs=0.01)


# An exact step contracts the forward KL (docs/explanation/mirror-descent.md)


def check_contraction(p, before, after, gamma):
    log_z = np.log((before ** (1 - gamma) * p**gamma).sum())
    assert log_z <= 1e-12
    assert kl(p, after) == pytest.approx((1 - gamma) * kl(p, before) + log_z, rel=1e-9, abs=1e-12)
    assert kl(p, after) <= (1 - gamma) * kl(p, before) + 1e-12


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
