"""Corpora: drawn, of a package, and from files; bad ones get a sentence."""

import numpy as np
import pytest

from pmdviz.targets import make_target
from pmdviz.targets.topics import NUM_TEST, bars
from tests.support.topics import tokens_of

LDAC = "3 0:2 4:1 7:3\n2 1:1 2:2\n1 3:4\n2 0:1 7:2\n"


def test_bars_are_the_rows_and_columns_of_an_image():
    images = bars(3).reshape(6, 3, 3)
    np.testing.assert_allclose(images.sum(axis=(1, 2)), 1)
    for k in range(3):
        assert (images[k, k] == 1 / 3).all() and (images[3 + k, :, k] == 1 / 3).all()


def test_a_drawn_corpus_has_the_lengths_and_the_words_it_is_said_to():
    target = make_target("topics", num_data=4000, length=30, num_topics=3, data="model", vocabulary=6, beta=0.5)
    assert [len(words) for words in tokens_of(target)] == [30] * 4000
    assert len(target.test_data) == NUM_TEST and (np.diff(target.test_data[:, [0, 2]], axis=1) > 0).all()
    corpus = target.corpus
    halves = [[corpus.counts[a:b].sum() for a, b in ((r[0], r[1]), (r[1], r[2]))] for r in target.test_data]
    assert np.array_equal(halves, [[15, 15]] * NUM_TEST)
    found = np.bincount(np.concatenate(tokens_of(target)), minlength=6) / (4000 * 30)
    assert np.abs(found - target.true_topics.mean(axis=0)).max() < 4.5 * np.sqrt(0.25 / 4000)
    first = np.array([np.mean(words == words[0]) for words in tokens_of(target)])
    assert first.mean() > (found**2).sum() + 1 / 30 + 0.02, "words of a document belong together"


def test_the_unigram_entropy_is_of_the_held_out_words_which_are_not_learnt_from():
    target = make_target("topics", num_data=50)
    assert target.test_data[:, 0].min() >= target.data[:, 2].max()
    corpus, o = target.corpus, target.options
    seen = np.bincount(np.concatenate(tokens_of(target)), minlength=25) + o.beta
    words = np.concatenate([np.repeat(corpus.words[a:b], corpus.counts[a:b]) for _, a, b in target.test_data])
    assert target.unigram_nats == pytest.approx(-np.log(seen / seen.sum())[words].mean())


def test_files_of_both_kinds_hold_the_same_corpus(tmp_path):
    table = np.zeros((4, 8), int)
    table[0, [0, 4, 7]], table[1, [1, 2]], table[2, 3], table[3, [0, 7]] = (2, 1, 3), (1, 2), 4, (1, 2)
    lines = [",".join(f"word{k}" for k in range(8)), *(",".join(map(str, row)) for row in table)]
    texts = {
        "corpus.csv": "\n".join(lines),
        "corpus.ldac": LDAC,
        "corpus.tokens": "\n".join(f"name{k}" for k in range(8)),
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    paths = (str(tmp_path / f"corpus.{kind}") for kind in ("csv", "ldac"))
    one, two = (make_target("topics", data=path, num_data=3, num_topics=2) for path in paths)
    for mine, other in zip(one.corpus[:4], two.corpus[:4], strict=True):
        np.testing.assert_array_equal(mine, other)
    assert one.dim == 16 and one.word_names[3] == "word3" and two.word_names[7] == "name7"
    assert len(one.test_data) == 1 and one.image_shape is None and one.true_topics is None
