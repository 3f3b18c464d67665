import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from pmdviz import InputError, Recipe, Session
from pmdviz.densities.density import normalise
from pmdviz.experiments import theory as formulas
from pmdviz.experiments.theory import Board, averaged, averages_allowed, terms, unrolled
from tests.support.own import own_target


def test_theorems_by_hand():
    assert formulas.theorem2(kl=3.0, gamma=0.1, gradient_bound=4.0, inexactness=0.5) == pytest.approx(
        0.5 + 0.9 * 3.0 + 0.01 * 16 / 2
    )
    assert formulas.theorem2(2.0, 0.0, 100.0) == 2.0  # no step, no change
    assert formulas.theorem2(2.0, 1.0, 0.0) == 0.0  # a full step along the exact gradient arrives
    bounds = formulas.theorem2_unrolled(4.0, [0.5, 0.25], [2.0, 4.0], [0.1, 0.0])
    np.testing.assert_allclose(bounds, [4.0, 0.1 + 2.0 + 0.5, 0.75 * 2.6 + 0.5])
    assert formulas.theorem2_averaged(4.0, [0.5, 0.25], [2.0, 4.0], [0.1, 0.0]) == pytest.approx(
        (16 / 2 * (0.25 + 0.0625) + 0.1 + 4) / 0.75
    )
    assert formulas.theorem3(m=400, ratio_bound=9.0, largest=0.5) == pytest.approx(2 * 3 * 0.5 / 20)
    assert formulas.theorem3(1600, 9.0) == pytest.approx(0.5 * formulas.theorem3(400, 9.0))
    value = formulas.theorem5(100, 25, ratio_bound=4.0, likelihood_bound=0.5, gradient_bound=1.0, first_kl=9.0)
    assert value == pytest.approx(2 * 2 / 10 + 3 / 5)  # C = 4 > 0.5 e, sqrt KL = 3 > 1
    value = formulas.theorem5(100, 25, 1.0, 2.0, 3.0, 1.0, eta=5.0, largest=0.1)
    assert value == pytest.approx(0.1 * (2 * np.sqrt(2 * np.e**3) / 10 + 15 / 3 / 5))
    for eta in (0.5, 0.0, float("nan")):
        with pytest.raises(InputError, match="eta above 0.5"):
            formulas.theorem5(100, 100, 1.0, 1.0, 1.0, 1.0, eta=eta)
    for beta, dim, wanted in [(1, 1, -1 / 3), (2, 2, -1 / 3), (2, 1, -0.4), (1e9, 5, -0.5)]:
        assert formulas.kde_exponent(beta, dim) == pytest.approx(wanted)
    value = formulas.theorem6([8.0, 8.0], dim=1, smoothness=1, first_kl=2.0, gradient_bound=1.0, c1=3.0, c2=0.5)
    assert value == pytest.approx(2 * 2 / 2 + 3 * (1 + 4) * 8 ** (-2 / 3) / 4 + 0.5 * 8 ** (-1 / 3))
    assert [rate.theorem for rate in formulas.rates_for("m", "bounded")] == ["Theorem 3", "Theorem 5"]
    held = {letters: [rate.theorem for rate in formulas.RATES if rate.holds(letters)]
            for letters in (("m",), ("m", "T"), ("m", "one step"), ("T", "m_t"))}  # fmt: skip
    assert held == {("m",): [], ("m", "T"): ["Theorem 5"] * 2, ("m", "one step"): ["Theorem 3", "Theorem 4"],
                    ("T", "m_t"): ["Theorem 6"]}  # fmt: skip
    assert [rate.exponent(1, 2) for rate in formulas.rates_for("T", "kl_forward")] == [-1.0]
    assert [rate.exponent(1, 2) for rate in formulas.rates_for("m", "tv")] == [-0.25]
    assert formulas.rates_for("N", "tv") == []


GAUSSIAN = Recipe("gaussian", target_options={"dim": 1}, num_particles=400, batch_size=5, budget=100)


def test_the_run_is_that_of_the_session_and_its_terms_add_up_and_join():
    rows = terms(GAUSSIAN, 6)
    session = Session(GAUSSIAN)
    for row in rows:
        before = session.frame.metrics["kl_forward"]
        frame = session.advance()
        assert (row.t, row.gamma) == (frame.iteration, frame.info.step_size)
        assert row.kl == pytest.approx(before, abs=2e-3)
        assert row.measured == pytest.approx(frame.metrics["kl_forward"], abs=2e-3)
    rows = terms(GAUSSIAN, 5)
    for row, after in zip(rows, rows[1:], strict=False):
        assert row.bound == pytest.approx(row.kept + row.noise + row.inexactness)
        assert row.proved == pytest.approx(row.kept + row.noise + row.proved_inexactness)
        assert row.kept == pytest.approx((1 - row.gamma) * row.kl)
        assert row.noise == pytest.approx(row.gamma**2 * row.gradient**2 / 2)
        assert after.kl == row.measured
    assert all(row.inexactness >= 0 for row in rows)


def test_the_gradient_of_a_gaussian_is_known_and_the_printed_inexactness_leaves_out_a_term():
    """Before the first step q = prior, so g = -(N/B) sum log p(x|theta): a parabola whose range is 2 ||g||."""
    recipe = GAUSSIAN.replaced(knobs={"num_particles": 50_000, "batch_size": 20, "bandwidth": 0.05})
    target = recipe.make_target()
    row = terms(recipe, 1)[0]
    theta = np.linspace(*target.view_box[0], 4001)[:, None]
    values = target.log_likelihood(theta, target.data)
    assert row.gradient == pytest.approx((values.max() - values.min()) / 2, rel=0.1)
    # All data, gamma = 1: the exact step is p, so what is printed is KL(q || p) and what is proved adds KL(p || q).
    knobs = {"schedule": "constant", "step_size": 1.0, "batch_size": 20, "num_particles": 100, "step_limit": 0.0}
    for row in [terms(GAUSSIAN.replaced(seed=seed, knobs=knobs), 1)[0] for seed in range(3)]:
        assert row.measured > 1e-6
        assert row.proved_inexactness == pytest.approx(row.inexactness + row.measured, rel=1e-6)


def test_the_recurrence_holds_in_the_mean_whose_gradient_is_the_root_of_the_mean_square():
    rows = averaged([terms(GAUSSIAN.replaced(seed=seed), 6) for seed in range(4)])
    assert all(row.measured <= row.proved for row in rows)
    assert (unrolled(rows)[1:] >= [row.measured for row in rows]).all()
    assert unrolled(rows)[0] == rows[0].kl
    one, other = terms(GAUSSIAN, 2), terms(GAUSSIAN.replaced(seed=1), 2)
    mean = averaged([one, other])[1]
    assert mean.gradient == pytest.approx(np.sqrt((one[1].gradient ** 2 + other[1].gradient ** 2) / 2))
    assert mean.noise == pytest.approx(mean.gamma**2 * mean.gradient**2 / 2)
    assert mean.bound == pytest.approx((one[1].bound + other[1].bound) / 2)


def test_the_averaged_iterate_of_exact_steps_is_a_mixture_of_gaussians():
    """Full batches from the prior: q_t is Gaussian, with natural parameters (1-gamma) eta_t + gamma eta_p."""
    target = GAUSSIAN.make_target()
    board, sd = Board(target), np.sqrt(target.exact.cov[0, 0])
    posterior = norm(target.exact.mean[0], sd)
    before, natural, parts, rows = normalise(board.log_prior), np.array([0.0, 1.0]), [], []
    ((low, high),) = board.grid.box
    for t, gamma in enumerate((0.5, 0.3, 0.2), start=1):
        q = norm(natural[0] / natural[1], natural[1] ** -0.5)
        parts.append((gamma, q, q.cdf(high) - q.cdf(low)))
        after = normalise((1 - gamma) * before + gamma * board.log_p)
        rows.append(board.terms(t, gamma, before, after, target.data_rows))

        def excess(x, parts=tuple(parts)):
            density = sum(g * q.pdf(x) / mass for g, q, mass in parts) / sum(g for g, _, _ in parts)
            return density * (np.log(density) - posterior.logpdf(x))

        assert rows[-1].averaged == pytest.approx(quad(excess, low, high, limit=200)[0], rel=1e-4)
        before, natural = after, (1 - gamma) * natural + gamma * np.array([posterior.mean(), 1.0]) / sd**2
    assert all(row.proved_inexactness == pytest.approx(0, abs=1e-9) for row in rows)
    assert all(row.averaged <= allowed for row, allowed in zip(rows, averages_allowed(rows), strict=True))


def test_what_theorem_2_is_not_about():
    with pytest.raises(InputError, match="about 'pmd'"):
        terms(Recipe("gaussian", "smc"), 1)
    with pytest.raises(InputError, match="without warm_start"):
        terms(Recipe("gaussian", warm_start=True), 1)
    with pytest.raises(InputError, match="no exact posterior"):
        terms(Recipe(own_target(dim=3)), 1)
