"""Gibbs sweeps and latent Dirichlet allocation against plain loops, enumeration and SciPy."""

import numpy as np
from scipy.special import digamma, expit, logsumexp
from scipy.stats import norm

from pmdviz.kernels import topics
from pmdviz.kernels.spins import block_gibbs, drawn_columns, ising_sweep, mixture_sweep
from tests.support.tables import looped
from tests.support.topics import counts_of, enumerate_all, evidence_errors, log_normaliser, log_prior_of


@looped("d, hidden", [(1, 1), (5, 3), (9, 12)])
def test_sweeps_of_two_layers_against_a_loop(d, hidden):
    rng = np.random.default_rng(d)
    weights, b, c = rng.standard_normal((d, hidden)), rng.standard_normal(d), rng.standard_normal(hidden)
    states, uniforms = rng.choice([-1.0, 1.0], size=(6, d)), rng.random((4, 6, hidden + d))
    expected = states.copy()
    for u in uniforms:
        for k in range(6):
            units = np.where(u[k, :hidden] < expit(2 * (c + expected[k] @ weights)), 1.0, -1.0)
            expected[k] = np.where(u[k, hidden:] < expit(2 * (b + weights @ units)), 1.0, -1.0)
    assert np.array_equal(block_gibbs(states, weights, b, c, uniforms), expected)
    assert not np.array_equal(expected, states)


def energy(state, size, offsets, closed):
    lattice, shift = state.reshape(size, size), 0 if closed else 1
    pairs = sum((lattice * np.roll(lattice, 1, axis=axis)).swapaxes(0, axis)[shift:].sum() for axis in (0, 1))
    return 0.4 * pairs + ((0.1 + offsets) * state).sum()


@looped("closed", [True, False])
@looped("sd", [0.0, 1.0])
def test_a_sweep_of_the_lattice_takes_each_spin_from_its_conditional_given_the_new_ones_before_it(closed, sd):
    rng, size = np.random.default_rng(0), 4
    state, uniforms, rest = rng.choice([-1.0, 1.0], size=16), rng.random(16), (sd * rng.standard_normal(16), closed)
    after, now = ising_sweep(state, size, 0.4, 0.1, uniforms, *rest), state.copy()
    for k in range(16):
        gap = np.diff([energy(np.where(np.arange(16) == k, spin, now), size, *rest) for spin in (-1.0, 1.0)])[0]
        now[k] = 1.0 if uniforms[k] < 1 / (1 + np.exp(-gap)) else -1.0
    assert np.array_equal(after, now) and not np.array_equal(after, state)


def test_no_column_is_drawn_beyond_the_last_state():
    last = np.full((1, 1), np.nextafter(1.0, 0.0))
    assert drawn_columns([0], [0], np.ones((1, 1, 8)), 0.0, last)[0, 1] == 7


def regression(theta, x, sigma_x, p, prior_sd, uniforms, normals):
    one, two = p * norm.pdf(x, theta[0], sigma_x), (1 - p) * norm.pdf(x, theta.sum(), sigma_x)
    second = (uniforms >= one / (one + two)).astype(float)
    design = np.stack([np.ones_like(x), second], axis=1)
    precision = design.T @ design / sigma_x**2 + np.eye(2) / prior_sd**2
    mean = np.linalg.solve(precision, design.T @ x / sigma_x**2)
    return mean + np.linalg.solve(np.linalg.cholesky(precision).T, normals)


@looped("num", [1, 2, 7, 400])
@looped("p", [0.02, 0.5, 0.9])
@looped("sigma_x, prior_sd", [(0.5, 1.0), (2.5, 0.3)])
def test_against_a_regression_on_the_labels(num, p, sigma_x, prior_sd, rng):
    x, theta = rng.normal(0, 2, num), rng.normal(size=2)
    arguments = (theta, x, sigma_x, p, prior_sd, rng.random(num), rng.normal(size=2))
    np.testing.assert_allclose(mixture_sweep(*arguments), regression(*arguments), rtol=1e-10)
    x = np.array([-500.0, 500.0, -499.0])  # of components so far apart labels are certain
    theta = mixture_sweep(np.array([-500.0, 1000.0]), x, 1.0, 0.5, 1e4, rng.random(3), np.zeros(2))
    np.testing.assert_allclose(theta, [-499.5, 999.5], rtol=1e-6)


W, K, ALPHA, BETA = 3, 2, 0.6, 0.4
# Three documents: 0 0 1 | 2, then 1 2, then 0; a row's middle cuts the first into 0 0 and 1 2.
WORDS, COUNTS = np.array([0, 1, 2, 1, 2, 0], np.int32), np.array([2, 1, 1, 1, 1, 1], np.int32)
ROWS = np.array([[0, 1, 3], [3, 4, 5], [5, 5, 6]])
DOCUMENTS = (ROWS, WORDS, COUNTS)
TOKENS = [np.array([0, 0, 1, 2]), np.array([1, 2]), np.array([0])]


def seeds(m, n=3, seed=0):
    return np.random.default_rng(seed).integers(0, 2**64, size=(m, n), dtype=np.uint64)


def natural_of(seed=1):
    return np.random.default_rng(seed).gamma(2.0, size=(W, K)) + 0.1


def test_the_stream_is_splitmix64_and_digammas_are_scipys():
    state = np.array([1234567], np.uint64)
    assert [int(topics.next_bits(state)) for _ in range(2)] == [6457827717110365317, 3203168211198807973]
    x = np.geomspace(1e-3, 1e6, 2000)
    np.testing.assert_allclose([topics.digamma(each) for each in x], digamma(x), rtol=1e-12, atol=1e-12)


@looped("sweeps, power", [(3, 1.0), (0, 2.5)])
def test_a_tilted_posterior_is_a_proper_weight_of_all_assignments(sweeps, power):
    """The mean over draws of exp(partition + base), against the sum over every z with what z is drawn from."""
    m, kept, natural = 20_000, 0.7, natural_of()
    given = np.repeat(natural[None], m, axis=0), DOCUMENTS, seeds(m), ALPHA, BETA, kept, power, sweeps
    new, partitions, bases = topics.tilted(*given)
    start, found = kept * natural + (1 - kept) * BETA, enumerate_all(TOKENS, W, K, ALPHA, 1.0)
    totals = log_normaliser((start + power * found.counts).transpose(0, 2, 1)).sum(axis=1)
    prior = np.array([sum(log_prior_of(z, K, ALPHA) for z, _ in parts) for parts in assignments()])
    drawn = np.array([sum(drawn_of(*part) for part in parts) for parts in assignments()])
    expected = logsumexp(totals + (power * prior + (1 - power) * drawn if sweeps == 0 else prior))
    assert abs(evidence_errors(partitions + bases, expected)) < 4.5
    np.testing.assert_allclose((new - start).sum(axis=(1, 2)), power * 7)
    np.testing.assert_allclose(partitions[:5], log_normaliser(new[:5].transpose(0, 2, 1)).sum(axis=1), rtol=1e-12)
    np.testing.assert_allclose(topics.log_partitions(new[:5]), partitions[:5], rtol=1e-12)


def assignments():
    sizes = [len(words) for words in TOKENS]
    for code in range(K ** sum(sizes)):
        flat = np.array([code // K**j % K for j in reversed(range(sum(sizes)))])
        yield list(zip(np.split(flat, np.cumsum(sizes)[:-1]), TOKENS, strict=True))


def drawn_of(z, words):
    phi, held, total = natural_of() / natural_of().sum(axis=0), np.zeros(K), 0.0
    for topic, word in zip(z, words, strict=True):
        shares = (held + ALPHA) * phi[word]
        total += np.log(shares[topic] / shares.sum())
        held[topic] += 1
    return total


def test_a_likelihood_and_mean_counts_of_documents_are_estimated_without_bias():
    phi = natural_of() / natural_of().sum(axis=0)
    exact = [np.log(weights_of(words, phi).sum()) for words in TOKENS]
    found = np.array([topics.estimated_log_likelihood(phi[None], DOCUMENTS, one, ALPHA, 1)[0] for one in seeds(5000)])
    for k, value in enumerate(exact[:2]):
        assert abs(evidence_errors(found[:, k], value)) < 4.5
    np.testing.assert_allclose(found[:, 2], exact[2], rtol=1e-12)
    averaged = topics.estimated_log_likelihood(phi[None], DOCUMENTS, seeds(1)[0], ALPHA, 20_000)[0]
    np.testing.assert_allclose(averaged, exact, atol=0.02)
    phi, expected = natural_of() / natural_of().sum(axis=0), np.zeros((W, K))
    for words in TOKENS:
        weights = weights_of(words, phi)
        for z, weight in zip(all_of(len(words)), weights / weights.sum(), strict=True):
            expected += weight * counts_of(words, z, W, K)
    runs = np.array([topics.mean_counts(natural_of(), DOCUMENTS, one, ALPHA, 5, 20) for one in seeds(400)])
    error = runs.std(axis=0, ddof=1) / np.sqrt(400)
    assert np.abs((runs.mean(axis=0) - expected) / error).max() < 4.5
    np.testing.assert_allclose(runs.sum(axis=(1, 2)), 7)


def all_of(n):
    return [np.array([code // K**j % K for j in range(n)]) for code in range(K**n)]


def weights_of(words, phi):
    return np.array([np.exp(log_prior_of(z, K, ALPHA)) * phi[words, z].prod() for z in all_of(len(words))])


@looped("sweeps", [0, 2])
def test_a_filter_weighs_with_the_evidence(sweeps):
    m = 20_000
    natural, weights = topics.filtered(np.full((m, W, K), BETA), DOCUMENTS, seeds(m), ALPHA, sweeps)
    exact = enumerate_all(TOKENS, W, K, ALPHA, BETA)
    assert abs(evidence_errors(weights, exact.log_evidence)) < 4.5
    pure = lambda counts: (counts.max(axis=2) == counts.sum(axis=2)).all(axis=1)  # noqa: E731, each word has one topic
    together = lambda counts: counts[:, 0, 0] * counts[:, 1, 0]  # noqa: E731
    for function in (pure, together):
        values = np.exp(weights - exact.log_evidence) * function(natural - BETA)
        expected = (exact.weights * function(exact.counts)).sum()
        assert abs(values.mean() - expected) < 4.5 * values.std() / np.sqrt(m)


def naive_shares(phi, words, passes=500):
    belongs = phi[words] / phi[words].sum(axis=1, keepdims=True)
    for _ in range(passes):
        for word in np.unique(words):
            same = np.flatnonzero(words == word)
            others = belongs.sum(axis=0) - belongs[same[0]]
            share = phi[word] * (others + ALPHA)
            belongs[same] = share / share.sum()
    expected = belongs.sum(axis=0)
    return (expected + ALPHA) / (len(words) + K * ALPHA)


def test_shares_are_those_of_a_naive_loop_and_near_the_exact_ones():
    phi = natural_of() / natural_of().sum(axis=0)
    found = topics.shares_of(phi[None], DOCUMENTS, ALPHA)[0]
    for row, words in zip(found, TOKENS, strict=True):
        np.testing.assert_allclose(row, naive_shares(phi, words), atol=1e-5)
        weights = weights_of(words, phi)
        means = [(np.bincount(z, minlength=K) + ALPHA) / (len(words) + K * ALPHA) for z in all_of(len(words))]
        np.testing.assert_allclose(row, weights @ means / weights.sum(), atol=0.05)
    assert np.allclose(topics.shares_of(phi[None], (ROWS[2:] * 0, WORDS, COUNTS), ALPHA), 1 / K)


def test_a_variational_step_is_that_of_the_published_loop():
    """One document after the other, by the published loop."""
    natural, counts = natural_of(), np.zeros((W, K))
    log_means = digamma(natural) - digamma(natural.sum(axis=0))
    for words in TOKENS:
        gamma = np.full(K, ALPHA + len(words) / K)
        for _ in range(500):
            belongs = np.exp(digamma(gamma) - digamma(gamma.sum()) + log_means[words])
            belongs /= belongs.sum(axis=1, keepdims=True)
            gamma = ALPHA + belongs.sum(axis=0)
        np.add.at(counts, words, belongs)
    np.testing.assert_allclose(topics.expected_counts(natural, DOCUMENTS, ALPHA), counts, atol=2e-3)
