"""Latent Dirichlet allocation on sparse word counts: tokens are assigned to topics at random, or in expectation.

A corpus is two arrays of pairs, a word and how often it occurs; a document is a row (first, middle, end) that points
into them: its pairs are first .. end - 1, and those before `middle` are the part of a held-out document that its topic
shares are estimated from. Topic parameters are (..., W, K): the K values of a word lie side by side.

SplitMix64 (Steele, Lea, Flood 2014): a stream of uniforms from any seed, for documents that threads share.
"""

import math

import numpy as np

from pmdviz.kernels.checks import Array, plain
from pmdviz.kernels.factors import sum_of
from pmdviz.kernels.jit import WarmUps, jit
from pmdviz.kernels.pool import by_rows, filled

GOLDEN, FIRST, SECOND = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
S30, S27, S31, S11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)
UNIT = 2.0**-53
Sparse = tuple[Array, Array, Array]  # rows (B, 3), words and counts of documents


@jit
def next_bits(state):
    """64 bits, and the state (1,) uint64 one further."""
    state[0] += GOLDEN
    z = state[0]
    z = (z ^ (z >> S30)) * FIRST
    z = (z ^ (z >> S27)) * SECOND
    return z ^ (z >> S31)


@jit
def uniform(state):
    """In [0, 1)."""
    return np.float64(next_bits(state) >> S11) * UNIT


@jit
def chosen(shares, total, state):
    """An index with probability shares / total; the last one where rounding would lead beyond it."""
    left = uniform(state) * total
    for k in range(shares.size - 1):
        left -= shares[k]
        if left < 0.0:
            return k
    return shares.size - 1


# The tokens of documents are assigned to topics at random: structured updates of the topics, and log p(document).
#
# A document's tokens are assigned one after the other, each given those before it, z_n ~ (n_k + α) φ_k(w_n): that is
# a draw with a weight, prod_n p(w_n | z_1 .. z_n-1), which makes it proper for p(z | α) φ(z) (Wallach et al. 2009).
# Gibbs sweeps that leave p(z | α) φ(z) alone then improve the draw and keep the weight. φ is the mean of the topics'
# Dirichlet.


def tilted(
    natural: Array, documents: Sparse, seeds: Array, alpha: float, beta: float, kept: float, power: float, sweeps: int
) -> tuple[Array, Array, Array]:
    """Dir(natural)^kept Dir(beta)^(1 - kept) prod over the documents of p(document | z, Φ)^power, of every particle.

    natural (m, W, K); documents are rows (B, 3), words and counts; z is drawn for each particle and document from the
    stream of its seed, (m, B). Returns the new parameters, their log partitions (m,), and the sums over documents of
    power (log p(z) - log r(z)) (m,), where r is what z was drawn from: log weight - log φ(z).
    """
    natural, (tokens, starts) = plain(natural), tokens_of(documents)
    m, num_topics = len(natural), natural.shape[2]
    found = new, partitions, bases = kept * natural + (1.0 - kept) * beta, np.empty(m), np.empty(m)
    rows, cost = (natural, shares_per_count(natural), plain(seeds, np.uint64)), float(m * len(tokens) * num_topics)
    by_rows(_tilt, rows, (tokens, starts, alpha, power, sweeps), found, 1, cost * (1 + sweeps))
    return new, partitions, bases


def estimated_log_likelihood(topics: Array, documents: Sparse, seeds: Array, alpha: float, repeats: int) -> Array:
    """Log of an unbiased estimate of p(document | Φ): the mean weight of `repeats` sequential draws, (m, B).

    topics (m, W, K) are probabilities; the document's stream starts from its seed (B,).
    """
    out = np.empty((len(topics), len(seeds)))
    _estimate(plain(topics), *tokens_of(documents), plain(seeds, np.uint64), alpha, repeats, out)
    return out


def log_partitions(natural: Array) -> Array:
    """Sum over topics of log of the Dirichlet's normaliser, sum_w log Γ(β_w) - log Γ(sum_w β_w): (m, W, K) -> (m,)."""
    return np.array([_log_partition(one) for one in plain(natural)])


def contiguous(documents: Sparse) -> Sparse:
    """Rows (B, 3), words and counts as the kernels take them."""
    rows, words, counts = documents
    return plain(rows, np.int64), plain(words, np.int32), plain(counts, np.int32)


def tokens_of(documents: Sparse) -> tuple[Array, Array]:
    """The word of each token (n,), document after document; where each document begins, and their end, (B + 1,)."""
    rows, words, counts = documents
    each = [np.repeat(words[first:end], counts[first:end]) for first, _, end in rows]
    return np.concatenate([np.empty(0, np.int64), *each]), np.cumsum([0, *map(len, each)])


def shares_per_count(natural: Array) -> Array:
    """1 / sum_w β_wk, (..., W, K) -> (..., K)."""
    return 1.0 / natural.sum(axis=-2)


@jit
def weigh(natural, inverse, alpha, held, shares):
    """Of a token, how likely each topic is, (n_k + α) φ_k(w), in `shares`; and their sum."""
    total = 0.0
    for k in range(held.size):
        shares[k] = (held[k] + alpha) * natural[k] * inverse[k]
        total += shares[k]
    return total


@jit
def assign(tokens, natural, inverse, alpha, state, z, held, shares):
    """Topics z of tokens one after the other; held (K,) how many each has. Returns the log weight of these topics."""
    weight = 0.0
    held[:] = 0.0
    for j in range(tokens.size):
        total = weigh(natural[tokens[j]], inverse, alpha, held, shares)
        weight += math.log(total / (j + alpha * held.size))
        z[j] = chosen(shares, total, state)
        held[z[j]] += 1.0
    return weight


@jit
def sweep(tokens, natural, inverse, alpha, state, z, held, shares):
    """Each token's topic once from its conditional given the others'."""
    for j in range(tokens.size):
        held[z[j]] -= 1.0
        total = weigh(natural[tokens[j]], inverse, alpha, held, shares)
        z[j] = chosen(shares, total, state)
        held[z[j]] += 1.0


@jit
def _tilt(natural, inverses, seeds, tokens, starts, alpha, power, sweeps, new, partitions, bases):
    num_topics, z = natural.shape[2], np.empty(tokens.size, np.int64)
    held, shares, state = np.empty(num_topics), np.empty(num_topics), np.empty(1, np.uint64)
    for i in range(natural.shape[0]):
        inverse, base = inverses[i], 0.0
        for d in range(starts.size - 1):
            state[0], words = seeds[i, d], tokens[starts[d] : starts[d + 1]]
            base += assign(words, natural[i], inverse, alpha, state, z, held, shares)
            for _ in range(sweeps):
                sweep(words, natural[i], inverse, alpha, state, z, held, shares)
            for j in range(words.size):
                base -= math.log(natural[i, words[j], z[j]] * inverse[z[j]])
                new[i, words[j], z[j]] += power
        bases[i] = power * base
        partitions[i] = _log_partition(new[i])


@jit
def _log_partition(natural):
    total = 0.0
    for k in range(natural.shape[1]):
        mass = 0.0
        for w in range(natural.shape[0]):
            mass += natural[w, k]
            total += math.lgamma(natural[w, k])
        total -= math.lgamma(mass)
    return total


@jit
def _estimate(topics, tokens, starts, seeds, alpha, repeats, out):
    num_topics, z = topics.shape[2], np.empty(tokens.size, np.int64)
    held, shares, ones = np.empty(num_topics), np.empty(num_topics), np.ones(num_topics)
    state, found = np.empty(1, np.uint64), np.empty(repeats)
    for i in range(topics.shape[0]):
        for d in range(starts.size - 1):
            state[0], words = seeds[d], tokens[starts[d] : starts[d + 1]]
            for r in range(repeats):
                found[r] = assign(words, topics[i], ones, alpha, state, z, held, shares)
            top, total = found.max(), 0.0
            for r in range(repeats):
                total += math.exp(found[r] - top)
            out[i, d] = top + math.log(total / repeats)


def tiny() -> Sparse:
    """One document of two words, to compile the kernels with."""
    return np.array([[0, 1, 2]]), np.arange(2, dtype=np.int32), np.ones(2, np.int32)


# Tokens are assigned to topics with the counts of all documents seen so far, or under fixed topics again and again.
#
# `filtered` is the step of a particle filter (Canini, Shi, Griffiths 2009); `mean_counts` the inner Gibbs sampler of
# stochastic gradient Riemannian Langevin dynamics (Patterson, Teh 2013).


def filtered(natural: Array, documents: Sparse, seeds: Array, alpha: float, sweeps: int) -> tuple[Array, Array]:
    """natural (m, W, K) = β + counts of the tokens so far, with more documents'; log p(these | those) (m,).

    Each token is drawn given all before it, z_n ~ (n_dk + α) φ_k(w) with φ the mean given the counts, and the weight
    grows by p(w_n | all before it): exact for one token at a time. Then `sweeps` Gibbs sweeps over the document.
    """
    new, weights, (tokens, starts) = plain(natural).copy(), np.zeros(len(natural)), tokens_of(documents)
    rows, cost = (new, 1.0 / shares_per_count(new), plain(seeds, np.uint64)), natural.size / natural.shape[1]
    by_rows(_filter, rows, (tokens, starts, alpha, sweeps), (weights,), 1, cost * len(tokens) * (1 + sweeps))
    return new, weights


def mean_counts(natural: Array, documents: Sparse, seeds: Array, alpha: float, burn_in: int, sweeps: int) -> Array:
    """E n (W, K) over documents under topics natural (W, K) / sums: means over Gibbs sweeps after a burn-in.

    The topics need not be normalised; every document has a seed (B,).
    """
    natural, inverse, out = plain(natural), shares_per_count(natural), np.zeros(natural.shape)
    _mean_counts(natural, inverse, *tokens_of(documents), plain(seeds, np.uint64), alpha, burn_in, sweeps, out)
    return out


@jit
def _filter(natural, totals, seeds, tokens, starts, alpha, sweeps, weights):
    num_topics, z = natural.shape[2], np.empty(tokens.size, np.int64)
    held, shares, state = np.empty(num_topics), np.empty(num_topics), np.empty(1, np.uint64)
    for i in range(natural.shape[0]):
        sums = totals[i]
        for d in range(starts.size - 1):
            state[0], words = seeds[i, d], tokens[starts[d] : starts[d + 1]]
            held[:] = 0.0
            for j in range(words.size):
                total = _draw(natural[i], words[j], alpha, state, z, j, held, shares, sums)
                weights[i] += math.log(total / (j + alpha * num_topics))
            for _ in range(sweeps):
                for j in range(words.size):
                    held[z[j]] -= 1.0
                    natural[i, words[j], z[j]] -= 1.0
                    sums[z[j]] -= 1.0
                    _draw(natural[i], words[j], alpha, state, z, j, held, shares, sums)


@jit
def _draw(natural, word, alpha, state, z, j, held, shares, sums):
    """The j-th token's topic given all others', which are counted; returns the sum of the shares."""
    total = 0.0
    for k in range(held.size):
        shares[k] = (held[k] + alpha) * natural[word, k] / sums[k]
        total += shares[k]
    z[j] = chosen(shares, total, state)
    held[z[j]] += 1.0
    natural[word, z[j]] += 1.0
    sums[z[j]] += 1.0
    return total


@jit
def _mean_counts(natural, inverse, tokens, starts, seeds, alpha, burn_in, sweeps, out):
    num_topics, z = natural.shape[1], np.empty(tokens.size, np.int64)
    held, shares = np.empty(num_topics), np.empty(num_topics)
    state, share = np.empty(1, np.uint64), 1.0 / sweeps
    for d in range(starts.size - 1):
        state[0], words = seeds[d], tokens[starts[d] : starts[d + 1]]
        assign(words, natural, inverse, alpha, state, z, held, shares)
        for s in range(burn_in + sweeps):
            sweep(words, natural, inverse, alpha, state, z, held, shares)
            if s >= burn_in:
                for j in range(words.size):
                    out[words[j], z[j]] += share


# A document's topic shares given the topics, without chance, and how well they predict words that they did not see.
#
# Zero-order collapsed variational Bayes (Asuncion et al. 2009): with n_k the expected number of tokens of topic k, a
# token of word w belongs to k with probability proportional to (n_k without this token + α) φ_k(w); shares are then
# (n_k + α) / (n + K α), the formula of Dai et al. 2016, appendix H.4, with the expected for the drawn number.

PASSES, CLOSE = 100, 1e-6  # over a document at most; the largest change of an expected number that ends them


def shares_of(topics: Array, documents: Sparse, alpha: float, part: str = "all") -> Array:
    """Expected topic shares (m, B, K) of documents under topics (m, W, K), each a distribution over words.

    `part` "seen": of the pairs before each row's middle alone. A document without tokens has equal shares.
    """
    rows, words, counts = contiguous(documents)
    ends = plain(rows[:, 1] if part == "seen" else rows[:, 2], np.int64)
    pairs = ends - rows[:, 0]
    given = rows, ends, words, counts, alpha, pairs.max(initial=0)
    cost = PASSES * float(pairs.sum()) * len(topics) * topics.shape[2]
    return filled(_document_shares, (topics,), given, 1, cost, (len(rows), topics.shape[2]))[0]


def held_out_log_likelihood(topics: Array, weights: Array, documents: Sparse, alpha: float) -> tuple[float, int]:
    """Sum over the tokens from each row's middle on of log sum_i w_i θ_i.φ_i(w), in nats, and how many tokens.

    θ_i are the document's expected shares under the i-th topics given its tokens before the middle.
    """
    shares = shares_of(topics, documents, alpha, "seen")
    return _held_out(plain(topics), plain(weights), shares, *contiguous(documents))


@jit
def _document_shares(topics, rows, ends, words, counts, alpha, most, out):
    num_topics = topics.shape[2]
    belongs, expected = np.empty((most, num_topics)), np.empty(num_topics)
    for i in range(topics.shape[0]):
        for d in range(rows.shape[0]):
            _fit_document(topics[i], words, counts, rows[d, 0], ends[d], alpha, belongs, expected)
            mass = sum_of(expected) + alpha * num_topics
            for k in range(num_topics):
                out[i, d, k] = (expected[k] + alpha) / mass


@jit
def _fit_document(topics, words, counts, first, end, alpha, belongs, expected):
    num_topics = expected.size
    expected[:] = 0.0
    for p in range(first, end):
        total = 0.0
        for k in range(num_topics):
            total += topics[words[p], k]
        for k in range(num_topics):
            belongs[p - first, k] = topics[words[p], k] / total
            expected[k] += counts[p] * belongs[p - first, k]
    for _ in range(PASSES):
        change = 0.0
        for p in range(first, end):
            change = max(change, _reassign(topics[words[p]], counts[p], alpha, belongs[p - first], expected))
        if change < CLOSE:
            break


@jit
def _reassign(topics, count, alpha, belongs, expected):
    """One word's tokens, each without its own share of the expected numbers; returns the largest change."""
    total, change = 0.0, 0.0
    for k in range(expected.size):
        expected[k] -= count * belongs[k]
        total += topics[k] * (expected[k] + (count - 1) * belongs[k] + alpha)
    for k in range(expected.size):
        share = topics[k] * (expected[k] + (count - 1) * belongs[k] + alpha) / total
        change = max(change, count * abs(share - belongs[k]))
        belongs[k] = share
        expected[k] += count * share
    return change


@jit
def _held_out(topics, weights, shares, rows, words, counts):
    total, tokens = 0.0, 0
    for d in range(rows.shape[0]):
        for p in range(rows[d, 1], rows[d, 2]):
            probability = 0.0
            for i in range(topics.shape[0]):
                product = 0.0
                for k in range(topics.shape[2]):
                    product += shares[i, d, k] * topics[i, words[p], k]
                probability += weights[i] * product
            total += counts[p] * math.log(probability)
            tokens += counts[p]
    return total, tokens


# The variational step of a document, Hoffman, Blei, Bach 2010, Algorithm 2: q(θ_d) = Dir(γ), q(z_n) = its own shares.
#
# With e_k(w) = exp E log φ_k(w), γ_k = α + sum_w c_w exp(E log θ_k) e_k(w) / sum_j exp(E log θ_j) e_j(w) is repeated.

ROUNDS, CLOSE_GAMMA = 100, 1e-4  # at most; the mean change of γ that ends them


def expected_counts(natural: Array, documents: Sparse, alpha: float) -> Array:
    """Expected numbers (W, K) of tokens of each word and topic, for q(φ_k) = Dir(natural[:, k]), natural (W, K)."""
    rows, words, counts = contiguous(documents)
    natural, out = plain(natural), np.zeros(natural.shape)
    _expect(natural, natural.sum(axis=0), rows, words, counts, alpha, (rows[:, 2] - rows[:, 0]).max(initial=0), out)
    return out


@jit
def digamma(x):
    """ψ(x), x > 0: the recurrence up to 8, and from there the asymptotic series (Abramowitz, Stegun 6.3.18)."""
    found = 0.0
    while x < 8.0:
        found -= 1.0 / x
        x += 1.0
    r = 1.0 / (x * x)
    series = r * (1 / 12 - r * (1 / 120 - r * (1 / 252 - r * (1 / 240 - r * (1 / 132 - r * (691 / 32760 - r / 12))))))
    return found + math.log(x) - 0.5 / x - series


@jit
def _expect(natural, sums, rows, words, counts, alpha, most, out):
    num_topics = natural.shape[1]
    for k in range(num_topics):
        sums[k] = digamma(sums[k])
    means, gamma, theta = np.empty((most, num_topics)), np.empty(num_topics), np.empty(num_topics)
    for d in range(rows.shape[0]):
        first, end = rows[d, 0], rows[d, 2]
        tokens = 0
        for p in range(first, end):
            tokens += counts[p]
            for k in range(num_topics):
                means[p - first, k] = math.exp(digamma(natural[words[p], k]) - sums[k])
        gamma[:] = alpha + tokens / num_topics
        for _ in range(ROUNDS):
            if _again(means, counts, first, end, alpha, gamma, theta) < CLOSE_GAMMA:
                break
        _theta(gamma, theta)
        for p in range(first, end):
            total = 0.0
            for k in range(num_topics):
                total += theta[k] * means[p - first, k]
            for k in range(num_topics):
                out[words[p], k] += counts[p] * theta[k] * means[p - first, k] / total


@jit
def _theta(gamma, theta):
    """exp E log θ_k."""
    mean = digamma(sum_of(gamma))
    for k in range(gamma.size):
        theta[k] = math.exp(digamma(gamma[k]) - mean)


@jit
def _again(means, counts, first, end, alpha, gamma, theta):
    """One pass over a document: γ again, in place; returns the mean change."""
    _theta(gamma, theta)
    new, change = np.full(gamma.size, alpha), 0.0
    for p in range(first, end):
        total = 0.0
        for k in range(gamma.size):
            total += theta[k] * means[p - first, k]
        for k in range(gamma.size):
            new[k] += counts[p] * theta[k] * means[p - first, k] / total
    for k in range(gamma.size):
        change += abs(new[k] - gamma[k])
        gamma[k] = new[k]
    return change / gamma.size


def warm_up_calls() -> WarmUps:
    """Calls that compile every kernel of this file."""
    yield "topics", "random streams", chosen, np.ones(2), 2.0, np.zeros(1, np.uint64)
    natural, seeds = np.ones((1, 2, 2)), np.zeros((1, 1), np.uint64)
    yield "topics", "topics of tokens", tilted, natural, tiny(), seeds, 1.0, 1.0, 0.5, 1.0, 1
    yield "topics", "topics' likelihood", estimated_log_likelihood, natural, tiny(), seeds[0], 1.0, 2
    yield "topics", "topics' normaliser", log_partitions, natural
    natural, seeds = np.ones((1, 2, 2)), np.zeros((1, 1), np.uint64)
    yield "topics", "a filter of topics", filtered, natural, tiny(), seeds, 1.0, 1
    yield "topics", "Gibbs counts of topics", mean_counts, natural[0], tiny(), seeds[0], 1.0, 1, 1
    halves = np.full((1, 2, 2), 0.5)
    yield "topics", "topic shares", shares_of, halves, tiny(), 1.0
    yield "topics", "held-out words", held_out_log_likelihood, halves, np.ones(1), tiny(), 1.0
    yield "topics", "variational documents", expected_counts, np.ones((2, 2)), tiny(), 1.0
