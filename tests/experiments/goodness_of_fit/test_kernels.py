import itertools

import numpy as np
import pytest
from scipy import stats

from pmdviz.experiments import fit_statistics as fit
from pmdviz.experiments.goodness_of_fit import kernel_picture
from pmdviz.targets import make_target
from pmdviz.targets.custom import CustomTarget
from pmdviz.targets.space import Discrete


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


def mean_under(name, target, h, p):
    """E U(z, z') for independent z, z' with probabilities p, by its largest entry: 0 but for rounding."""
    matrix = fit.FIT_TESTS[name].kernels(np.random.default_rng(0), target, fit.enumerated(target)[0])[1](h)
    return float(np.einsum("i,ij,j->", p, matrix, p) / np.abs(matrix).max())


def test_kernels_on_states_have_mean_zero_under_the_target_and_not_under_another(target):
    p = fit.enumerated(target)[1]
    for name in ("dksd", "gf_ksd_rao_blackwell"):
        for h in WIDTHS:
            assert abs(mean_under(name, target, h, p)) < 1e-12, (name, h)
        q = p * np.linspace(1, 2, len(p))
        q /= q.sum()
        assert mean_under(name, target, 1.0, q) > 1e-7, name


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


def test_quadratic_forms_are_those_of_a_loop_and_as_printed_near_n_squared_times_the_statistic():
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


def test_a_large_diagonal_costs_no_digits_and_sums_do_not_depend_on_their_order():
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


def test_p_values_count_ties_and_several_statistics_are_combined_by_the_least():
    assert fit.p_value(np.array([1.0, 0.5, 1.0, 1.0 - 1e-15, 2.0])) == pytest.approx(4 / 5)
    assert fit.p_value(np.array([3.0, 0.5, 1.0])) == pytest.approx(1 / 3)
    rng = np.random.default_rng(6)
    values = rng.standard_normal((40, 3))
    ranks = np.array([[np.count_nonzero(values[:, b] >= values[j, b]) for b in range(3)] for j in range(40)])
    np.testing.assert_allclose(fit.combined(values), -np.log(ranks.min(axis=1) / 40))
    np.testing.assert_array_equal(fit.combined(values[:, :1]), values[:, 0])


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


def test_inverse_weights_have_the_ratios_and_a_kernel_matrix_the_points_on_both_axes():
    target = make_target("categorical")
    states, p = fit.enumerated(target)
    np.testing.assert_allclose(fit.inverse_weights(fit.log_p(target, states)), (1 / p) / (1 / p).mean(), rtol=1e-9)
    drawn = kernel_picture("KSD", np.arange(9.0).reshape(3, 3), np.array([[2.0], [0.0], [1.0]]))
    assert drawn.x_label == drawn.y_label and "points" in drawn.x_label
    np.testing.assert_array_equal(drawn.values, [[0, 5, 3], [7, 0, 6], [1, 2, 0]])
