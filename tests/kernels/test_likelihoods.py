"""Likelihoods, nets and chains on them: values by formula, gradients by differences, extremes."""

from statistics import NormalDist

import numpy as np
from scipy import stats
from scipy.special import log_expit, logsumexp
from scipy.stats import norm

from pmdviz.kernels import likelihoods, mixture, networks
from pmdviz.kernels.chains import hamiltonian, langevin, uniforms_of
from pmdviz.kernels.mixture import mixture_grad_log_likelihood, mixture_log_likelihood
from pmdviz.targets import make_target
from tests.kernels.naive import LONG, differences, log_normal
from tests.support.tables import looped


def of_banana(theta, x, sigma_x, bend):
    return log_normal(x, theta[:, :1] + LONG(bend) * theta[:, 1:] ** 2, sigma_x).sum(axis=1)


def of_bimodal(theta, x, sigma_x):
    return log_normal(x, theta**2, sigma_x).sum(axis=1)


def of_gaussian(theta, x, sigma_x):
    return log_normal(x[None], theta[:, None, :], sigma_x).sum(axis=(1, 2))


def of_mixture(theta, x, sigma_x, p):
    a = np.log(LONG(p)) + log_normal(x, theta[:, :1], sigma_x)
    b = np.log1p(-LONG(p)) + log_normal(x, theta.sum(axis=1, keepdims=True), sigma_x)
    return np.logaddexp(a, b).sum(axis=1)


def of_linear(theta, rows, sigma_y):
    return log_normal(rows[:, -1], theta @ rows[:, :-1].T, sigma_y).sum(axis=1)


def of_logistic(theta, rows):
    return -np.logaddexp(0, (1 - 2 * rows[:, -1]) * (theta @ rows[:, :-1].T)).sum(axis=1)


# Likelihood, gradient, formula, shape of a datum, dimension of theta, and the parameters.
CASES = [
    (likelihoods.banana_log_likelihood, likelihoods.banana_grad_log_likelihood, of_banana, (), 2, (1.4, 0.8)),
    (likelihoods.bimodal_log_likelihood, likelihoods.bimodal_grad_log_likelihood, of_bimodal, (), 1, (1.4,)),
    *((likelihoods.gaussian_log_likelihood, likelihoods.gaussian_grad_log_likelihood, of_gaussian, (d,), d, (1.4,))
      for d in (1, 3, 10)),
    (mixture_log_likelihood, mixture_grad_log_likelihood, of_mixture, (), 2, (1.4, 0.3)),
    *((likelihoods.linear_log_likelihood, likelihoods.linear_grad_log_likelihood, of_linear, (d + 1,), d, (0.7,))
      for d in (1, 4, 30)),
    *((likelihoods.logistic_log_likelihood, likelihoods.logistic_grad_log_likelihood, of_logistic, (d + 1,), d, ())
      for d in (1, 4, 30)),
]  # fmt: skip
EACH = looped("value, gradient, formula, datum, dim, given", CASES)


def data_of(formula, rng, n, datum):
    x = rng.normal(size=(n, *datum)) + 1
    if formula is of_logistic:
        x[:, -1] = x[:, -1] > 1
    return x


@looped("num, n", [(1, 1), (2, 5), (63, 23), (64, 23), (65, 40), (1500, 23)])
@EACH
def test_values_are_the_formula_in_extended_precision(value, gradient, formula, datum, dim, given, num, n, rng):
    theta, x = rng.normal(size=(num, dim)) * 2, data_of(formula, rng, n, datum)
    truth = formula(theta.astype(LONG), x.astype(LONG), *given)
    np.testing.assert_allclose(value(theta, x, *given), truth, rtol=1e-13)
    last = gradient(theta[-1:], x, *given)  # that it is the slope is tested of the targets
    np.testing.assert_allclose(gradient(theta, x, *given)[-1:], last, rtol=1e-12)
    if formula is of_logistic:
        each = likelihoods.logistic_row_log_likelihood(theta, x)
        np.testing.assert_allclose(each, log_expit((2 * x[:, -1] - 1) * (theta @ x[:, :-1].T)), rtol=1e-12)


@EACH
def test_no_data_say_nothing(value, gradient, formula, datum, dim, given):
    theta, none = np.ones((3, dim)), np.empty((0, *datum))
    assert value(theta, none, *given).tolist() == [0.0] * 3 and not gradient(theta, none, *given).any()
    assert value(theta[:0], np.ones((3, *datum)), *given).shape == (0,)


def test_the_extremes_are_impossible_or_exact_and_lose_no_digits(rng):
    x, far = np.arange(3.0), np.array([[0.0, 1e200]])
    for value, theta, given in [
        (likelihoods.banana_log_likelihood, far, (x, 1.0, 1.0)),
        (likelihoods.bimodal_log_likelihood, far[:, 1:], (x, 1.0)),
        (likelihoods.gaussian_log_likelihood, np.array([[np.inf, 0.0]]), (np.zeros((3, 2)), 1.0)),
    ]:
        assert value(theta, *given)[0] == -np.inf, value
    theta, x = 1e8 + np.round(rng.normal(size=(5, 2)), 3), 1e8 + np.round(rng.normal(size=(50, 2)), 3)
    truth = of_gaussian(theta.astype(LONG), x.astype(LONG), 1.0)
    np.testing.assert_allclose(likelihoods.gaussian_log_likelihood(theta, x, 1.0), truth, rtol=1e-6)
    given = np.array([[1e6, 0.0]]), np.array([[0.0, 0.0], [1.0, 0.0]]), np.log([0.5, 0.5]), 1.0
    assert not np.isfinite(mixture.gaussian_mixture_log_density(np.array([[np.inf, 0.0]]), *given[1:]))
    np.testing.assert_allclose(mixture.gaussian_mixture_log_density(*given), -0.5 * (1e6 - 1) ** 2, rtol=1e-6)
    np.testing.assert_allclose(mixture.gaussian_mixture_grad_log_density(*given), [[1 - 1e6, 0.0]])
    rows, theta = np.array([[1.0, 1.0], [1.0, 0.0]]), np.array([[800.0], [-800.0]])
    found = likelihoods.logistic_row_log_likelihood(theta, rows)
    np.testing.assert_allclose(found, [[0.0, -800.0], [-800.0, 0.0]], atol=1e-12)


@looped("batch", [1, 499, 500, 501, 1001])
@looped("num", [1, 15, 16, 17])
def test_over_the_data_or_over_the_parameters_is_the_same(batch, num, rng, monkeypatch):
    theta, x = rng.normal(size=(num, 2)), rng.normal(size=batch) * 2
    for few in (0, 10**9):
        monkeypatch.setattr(mixture, "FEW", few)
        truth = of_mixture(theta.astype(LONG), x.astype(LONG), 1.4, 0.3)
        np.testing.assert_allclose(mixture_log_likelihood(theta, x, 1.4, 0.3), truth, rtol=1e-13)
        truth = differences(lambda t, x=x: mixture_log_likelihood(t, x, 1.4, 0.3), theta)
        np.testing.assert_allclose(mixture_grad_log_likelihood(theta, x, 1.4, 0.3), truth, rtol=1e-5, atol=1e-3)


@looped("p", [1e-300, 1e-9, 0.5, 1 - 1e-9])
@looped("distance", [1.0, 1e3, 1e8])
def test_extremes_of_the_share_and_the_distance(p, distance):
    theta, x = np.array([[-distance, 2 * distance], [distance, 0.0]]), np.array([-distance, 0.0, 0.5, 2 * distance])
    truth = of_mixture(theta.astype(LONG), x.astype(LONG), 1.0, p)
    np.testing.assert_allclose(mixture_log_likelihood(theta, x, 1.0, p), truth, rtol=1e-13)
    equal = mixture_log_likelihood(np.zeros((1, 2)), np.zeros(5000), 1.0, 0.5)  # every factor is 2: 2^5000 is no float
    np.testing.assert_allclose(equal, 5000 * norm.logpdf(0.0), rtol=1e-13)


def test_a_theta_that_is_not_finite_gives_nan_and_spoils_no_other_row():
    theta, x = np.array([[0.0, 1.0], [np.nan, 1.0], [0.0, -np.inf], [1e200, 0.0]]), np.arange(3.0)
    likelihood, gradient = mixture_log_likelihood(theta, x, 1.0, 0.5), mixture_grad_log_likelihood(theta, x, 1.0, 0.5)
    np.testing.assert_array_equal(np.isnan(likelihood), [False, True, True, False])
    np.testing.assert_array_equal(np.isnan(gradient).all(axis=1), [False, True, True, False])
    truth = of_mixture(theta[:1].astype(LONG), x.astype(LONG), 1.0, 0.5)
    np.testing.assert_allclose(likelihood[0], truth[0], rtol=1e-13)
    assert likelihood[3] < -1e270


@looped("d, k", [(1, 1), (2, 4), (25, 10)])
def test_a_mixture_of_gaussians_has_scipys_density_and_its_gradient(d, k, rng):
    x, means, log_weights = 3 * rng.normal(size=(300, d)), rng.normal(size=(k, d)), np.log(rng.dirichlet(np.ones(k)))
    given = means, log_weights, 0.7
    parts = zip(log_weights, means, strict=True)
    terms = [w + stats.multivariate_normal(mean, 0.7 * np.eye(d)).logpdf(x) for w, mean in parts]
    np.testing.assert_allclose(mixture.gaussian_mixture_log_density(x, *given), logsumexp(terms, axis=0), rtol=1e-12)
    truth = differences(lambda t: mixture.gaussian_mixture_log_density(t, *given), x)
    np.testing.assert_allclose(mixture.gaussian_mixture_grad_log_density(x, *given), truth, atol=1e-6)


@looped("count", [1, 3])
def test_a_sweep_keeps_the_posterior_of_the_path(count):
    """Against the sums over a grid, in standard errors of the means of stretches of the chain."""
    y, mu, phi, s2 = np.array([0.3, -2.0, 1.0])[:count], 0.4, 0.6, 0.7
    axis = np.linspace(-6, 7, 61)
    grid = np.stack(np.meshgrid(*[axis] * count, indexing="ij"), axis=-1).reshape(-1, count)
    first = -0.5 * (1 - phi**2) * (grid[:, 0] - mu) ** 2 / s2
    later = -0.5 * ((grid[:, 1:] - mu - phi * (grid[:, :-1] - mu)) ** 2).sum(axis=1) / s2
    mass = np.exp(first + later + stats.norm.logpdf(y, 0, np.exp(0.5 * grid)).sum(axis=1))
    mass /= mass.sum()
    rng, x, draws = np.random.default_rng(0), np.zeros(count), np.empty((20_000, count))
    for k in range(len(draws)):
        likelihoods.volatility_sweep(x, y, mu, phi, s2, rng.standard_normal(count), rng.random(count))
        draws[k] = x
    for power in (1, 2):
        means = (draws**power).reshape(50, -1, count).mean(axis=1)
        error = means.std(axis=0, ddof=1) / np.sqrt(len(means))
        assert (np.abs(means.mean(axis=0) - mass @ grid**power) < 4 * error).all()
        assert (error < 0.05).all()


SHAPES = [
    networks.NetShape(5, 4, 3, 2.0, 3.0),
    networks.NetShape(1, 1, 2, 0.5, 1.0),
    networks.NetShape(7, 9, 10, 5.0, 0.7),
]


def drawn(shape, hard, m=4, n=6, seed=0):
    rng = np.random.default_rng(seed)
    theta = rng.uniform(-1, 1, (m, shape.dim))
    rows = np.column_stack([rng.uniform(-1, 1, (n, shape.inputs)), rng.integers(shape.classes, size=n)])
    return (np.where(theta >= 0, 1.0, -1.0) if hard else theta), rows


def naive(theta, rows, shape, hard):
    cut = shape.inputs * shape.hidden
    first, second = theta[:, :cut].reshape(-1, shape.inputs, shape.hidden), theta[:, cut:]
    a = shape.steepness / np.sqrt(shape.inputs) * (rows[:, :-1] @ first)
    units = np.where(a >= 0, 1.0, -1.0) if hard else np.tanh(a)
    second = second.reshape(-1, shape.classes, shape.hidden)
    logits = shape.scale / np.sqrt(shape.hidden) * units @ np.swapaxes(second, 1, 2)
    return logits - np.log(np.exp(logits).sum(axis=2, keepdims=True))


@looped("hard", [True, False])
@looped("shape", SHAPES)
def test_forward_is_the_formula(shape, hard):
    theta, rows = drawn(shape, hard)
    expected = naive(theta, rows, shape, hard)
    np.testing.assert_allclose(networks.net_log_probabilities(theta, rows, shape, hard), expected, atol=1e-12)
    of_row = expected[:, np.arange(len(rows)), rows[:, -1].astype(int)]
    np.testing.assert_allclose(networks.net_log_likelihood(theta, rows, shape, hard), of_row.sum(axis=1), atol=1e-11)


@looped("shape", SHAPES)
def test_a_hard_gradient_passes_through_signs_as_through_clipped_identities(shape):
    theta, rows = drawn(shape, hard=True)
    cut, labels = shape.inputs * shape.hidden, rows[:, -1].astype(int)
    first, second = theta[:, :cut].reshape(-1, shape.inputs, shape.hidden), theta[:, cut:]
    second, factor = second.reshape(-1, shape.classes, shape.hidden), shape.steepness / np.sqrt(shape.inputs)
    a = factor * (rows[:, :-1] @ first)
    slopes = np.eye(shape.classes)[labels] - np.exp(naive(theta, rows, shape, True))
    slopes = shape.scale / np.sqrt(shape.hidden) * slopes
    pulls = slopes @ second * factor * (np.abs(a) <= 1)
    into_first = np.einsum("nf,mnh->mfh", rows[:, :-1], pulls).reshape(len(theta), -1)
    into_second = np.einsum("mnk,mnh->mkh", slopes, np.where(a >= 0, 1.0, -1.0)).reshape(len(theta), -1)
    expected = np.concatenate([into_first, into_second], axis=1)
    np.testing.assert_allclose(networks.net_gradient(theta, rows, shape, True), expected, atol=1e-12)


def test_a_unit_at_zero_counts_as_one_and_far_from_zero_classes_and_units_stay_numbers():
    shape = networks.NetShape(2, 1, 2, 1.0, 1.0)
    theta = np.array([[1.0, -1.0, 1.0, -1.0]])  # V = (1, -1), so that equal inputs cancel
    found = networks.net_log_probabilities(theta, np.array([[0.5, 0.5, 0.0]]), shape, True)[0, 0]
    np.testing.assert_allclose(found[0] - found[1], 2.0)
    shape = networks.LayeredShape((1, 1, 1), False, True)
    weights = np.array([[1e4, 0.0, 1e4, 0.0], [-1e4, 0.0, 1e4, 0.0]])
    found = networks.regression_fit(weights, np.array([[1.0, 1.0], [-1.0, 0.0]]), shape)
    np.testing.assert_allclose(found, [0.0, -2e4], atol=1e-12)


SHAPES_OF_LAYERS = [
    networks.LayeredShape(sizes, relu, binary)
    for sizes in ((1, 1, 1), (3, 4, 1), (5, 3, 2, 1), (2, 3, 4, 2, 1))
    for relu in (False, True)
    for binary in (False, True)
]


def drawn_layers(shape, m=3, n=7, seed=0):
    rng = np.random.default_rng(seed)
    weights, x = rng.standard_normal((m, shape.dim)), rng.standard_normal((n, shape.sizes[0]))
    return weights, np.column_stack([x, rng.integers(2, size=n) if shape.binary else rng.standard_normal(n)])


def naive_layers(weights, x, shape):
    found = []
    for net in weights:
        values, rest = x, net
        for layer, (narrow, wide) in enumerate(zip(shape.sizes[:-1], shape.sizes[1:], strict=True), 2):
            matrix, biases, rest = rest[: narrow * wide], rest[narrow * wide :][:wide], rest[(narrow + 1) * wide :]
            values = values @ matrix.reshape(narrow, wide) + biases
            if layer < len(shape.sizes):
                values = np.maximum(values, 0) if shape.relu else np.tanh(values)
        found.append(values[:, 0])
    return np.stack(found)


@looped("shape", SHAPES_OF_LAYERS)
@looped("n", [1, 7, networks.TILE, networks.TILE + 1])
def test_outputs_and_fit_are_the_formula(shape, n):
    weights, rows = drawn_layers(shape, n=n)
    eta, y = naive_layers(weights, rows[:, :-1], shape), rows[:, -1]
    np.testing.assert_allclose(networks.regression_outputs(weights, rows[:, :-1], shape), eta, atol=1e-12)
    fit = (y * eta - np.log1p(np.exp(eta)) if shape.binary else (y - eta) ** 2).sum(axis=1)
    np.testing.assert_allclose(networks.regression_fit(weights, rows, shape), fit, rtol=1e-11, atol=1e-12)


@looped("shape", SHAPES_OF_LAYERS)
def test_the_gradient_is_that_of_the_fit(shape):
    weights, rows = drawn_layers(shape, n=networks.TILE + 3, seed=1)
    gradient, fit = networks.regression_gradient(weights, rows, shape)
    slope = differences(lambda w: networks.regression_fit(w, rows, shape), weights, 1e-6)
    np.testing.assert_allclose(gradient, (1.0 if shape.binary else -0.5) * slope, rtol=2e-5, atol=2e-5)
    np.testing.assert_array_equal(fit, networks.regression_fit(weights, rows, shape))


SCHEDULE = (3, 0.02, 5.0, 0.55)  # t of the first step, a, b, g


def test_steps_stop_where_one_goes_too_far_and_a_trajectory_that_diverges_is_refused(rng):
    target, noise = make_target("bimodal1d", num_data=5), np.zeros((9, 1))
    noise[6] = 1e4
    batches, reach = np.tile(target.data, (9, 1)), np.full(1, 5.0)
    draws, _, made = langevin(target.model, np.ones(1), batches, SCHEDULE, noise, reach)
    assert made == 6 and (np.abs(draws[:6]) <= 5).all() and abs(draws[6, 0]) > 5
    noise[2] = np.nan
    assert langevin(target.model, np.ones(1), batches, SCHEDULE, noise, reach)[2] == 2
    target = make_target("gaussian", num_data=30)
    zero, ones, momenta = np.zeros((1, 2)), np.ones(2), np.array([[1e9, 0.0], [0.1, 0.1]])
    start = zero[0], target.log_joint(zero)[0], target.grad_log_joint(zero)[0]
    rest = 0.05, ones, 1e6 * ones, 10**9
    found = hamiltonian(target.model, target.data, start, momenta, np.array([4, 4]), np.zeros(2), *rest)
    assert found.diverged.tolist() == [True, False] == (found.chances == 0).tolist()
    assert found.num_gradients.tolist() == [0, 4] and found.num_values.tolist() == [0, 1]
    alone = hamiltonian(target.model, target.data, start, momenta[1:], np.array([4]), np.zeros(1), *rest)
    assert np.array_equal(found.draws[0], start[0]) and np.array_equal(found.draws[1], alone.draws[0])


def test_normals_become_uniforms(rng):
    normals = np.concatenate([rng.standard_normal(100), [-40.0, 40.0, 0.0]])
    np.testing.assert_allclose(uniforms_of(normals), [NormalDist().cdf(z) for z in normals], rtol=1e-9, atol=1e-300)
