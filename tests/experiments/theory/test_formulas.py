import numpy as np
import pytest

from pmdviz import InputError
from pmdviz.experiments.theory import formulas


def test_theorem_2_by_hand():
    assert formulas.theorem2(kl=3.0, gamma=0.1, gradient_bound=4.0, inexactness=0.5) == pytest.approx(
        0.5 + 0.9 * 3.0 + 0.01 * 16 / 2
    )
    assert formulas.theorem2(2.0, 0.0, 100.0) == 2.0  # no step, no change
    assert formulas.theorem2(2.0, 1.0, 0.0) == 0.0  # a full step along the exact gradient arrives


def test_theorem_2_put_into_itself():
    bounds = formulas.theorem2_unrolled(4.0, [0.5, 0.25], [2.0, 4.0], [0.1, 0.0])
    np.testing.assert_allclose(bounds, [4.0, 0.1 + 2.0 + 0.5, 0.75 * 2.6 + 0.5])


def test_with_steps_of_1_over_t_the_recurrence_falls_like_1_over_t():
    """Lemma 8: KL_T <= max(KL_1, eta^2 M^2 / (2 eta - 1)) / T for gamma = eta / t."""
    steps, eta, bound = 400, 1.0, 3.0
    gammas = [eta / t for t in range(1, steps + 1)]
    bounds = formulas.theorem2_unrolled(5.0, gammas, [bound] * steps, [0.0] * steps)
    t = np.arange(1, steps + 1)
    assert (bounds[:-1] <= max(5.0, eta**2 * bound**2 / (2 * eta - 1)) * (1 + np.log(t)) / t + 1e-12).all()


def test_theorem_3_by_hand():
    assert formulas.theorem3(m=400, ratio_bound=9.0, largest=0.5) == pytest.approx(2 * 3 * 0.5 / 20)
    assert formulas.theorem3(1600, 9.0) == pytest.approx(0.5 * formulas.theorem3(400, 9.0))


def test_theorem_5_by_hand():
    value = formulas.theorem5(100, 25, ratio_bound=4.0, likelihood_bound=0.5, gradient_bound=1.0, first_kl=9.0)
    assert value == pytest.approx(2 * 2 / 10 + 3 / 5)  # C = 4 > 0.5 e, sqrt KL = 3 > 1
    value = formulas.theorem5(100, 25, 1.0, 2.0, 3.0, 1.0, eta=5.0, largest=0.1)
    assert value == pytest.approx(0.1 * (2 * np.sqrt(2 * np.e**3) / 10 + 15 / 3 / 5))


def test_theorem_5_needs_steps_that_do_not_shrink_too_fast():
    for eta in (0.5, 0.0, float("nan")):
        with pytest.raises(InputError, match="eta above 0.5"):
            formulas.theorem5(100, 100, 1.0, 1.0, 1.0, 1.0, eta=eta)


def test_theorem_5_falls_with_particles_and_steps_and_balances():
    values = [formulas.theorem5(m, m, 4.0, 0.1, 1.0, 9.0) for m in (64, 256, 1024)]
    np.testing.assert_allclose(np.diff(np.log(values)) / np.log(4), -0.5)
    alone = [formulas.theorem5(m, 64, 4.0, 0.1, 1.0, 9.0) for m in (64, 256, 1024)]
    assert alone[0] > alone[1] > alone[2] > 3 / 8


def test_the_exponent_of_a_kernel_density_estimate():
    for beta, dim, wanted in [(1, 1, -1 / 3), (2, 2, -1 / 3), (2, 1, -0.4), (1e9, 5, -0.5)]:
        assert formulas.kde_exponent(beta, dim) == pytest.approx(wanted)


def test_theorem_6_by_hand():
    value = formulas.theorem6([8.0, 8.0], dim=1, smoothness=1, first_kl=2.0, gradient_bound=1.0, c1=3.0, c2=0.5)
    assert value == pytest.approx(2 * 2 / 2 + 3 * (1 + 4) * 8 ** (-2 / 3) / 4 + 0.5 * 8 ** (-1 / 3))


def test_theorem_6_falls_like_1_over_t_with_the_papers_growth_of_m():
    """m_t = t^(2 + d / beta) makes all three terms at most O(1/T)."""

    def bound(steps):
        return formulas.theorem6([t**4.0 for t in range(1, steps + 1)], 2, 1, 1.0, 2.0, 1.0, 1.0)

    slope = np.log(bound(4000) / bound(1000)) / np.log(4)
    assert slope == pytest.approx(-1, abs=0.02)
    fixed = [formulas.theorem6([500.0] * steps, 2, 1, 1.0, 2.0, 0.0, 1.0) for steps in (10**3, 10**5)]
    assert fixed[1] > 500**-0.25  # with m fixed the last term stays


def test_which_bounds_are_about_what():
    assert [rate.theorem for rate in formulas.rates_for("m", "bounded")] == ["Theorem 3", "Theorem 5"]
    assert [rate.exponent(1, 2) for rate in formulas.rates_for("T", "kl_forward")] == [-1.0]
    assert [rate.exponent(1, 2) for rate in formulas.rates_for("m", "tv")] == [-0.25]
    assert formulas.rates_for("N", "tv") == []
