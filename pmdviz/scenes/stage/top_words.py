"""Topics of a text as their most probable words, and how much of each a held-out document has."""

from __future__ import annotations

from typing import Any

import numpy as np

from pmdviz.methods import Method
from pmdviz.scenes.columns import EMPTY_DOTS, EMPTY_LINE, MAX_DRAWN, StageColumns, Words
from pmdviz.scenes.stage.base import Pair, Ranges, Scene
from pmdviz.scenes.stage.topics import DOCUMENTS, document_of, heaviest_topics
from pmdviz.scenes.tiling import joined
from pmdviz.targets import Target

TOP, LETTERS = 5, 12  # words of a topic, and letters of a word, that are shown
MOST = 24  # topics that have room
LINE, BELOW = 0.15, 0.06  # between two words, and from the tile's lower edge to its line, in tiles


class TopWordsScene(Scene):
    """The five most probable words of each topic of the heaviest particle, of a chain those of its newest draw.

    Below them lies a line as long as the topic's share in one held-out document, whose own most frequent words are the
    last tile. Of more than 24 topics the first are shown.
    """

    name = "top_words"
    title = "Top words"
    order = 3
    legend = {"approximate": "share of the topic in the document (last tile)"}

    def applies(self, target: Target, method: Method) -> bool:
        """To models of documents whose words have names."""
        return target.predicts == "words" and bool(target.corpus.names)

    def choices(self, target: Target) -> dict[str, tuple[str, ...]]:
        """Which of the held-out documents."""
        count = min(DOCUMENTS, len(target.test_data), target.dim)
        return {"Document": tuple(f"held-out {k + 1}" for k in range(count))}

    def ranges(self, target: Target, pair: Pair, top: float) -> Ranges:
        """As many square tiles as there are topics, and the document's."""
        side = float(_side(target))
        return (0.0, side), (0.0, side)

    def axis_labels(self, target: Target, pair: Pair) -> tuple[str, str]:
        """Which tile is which."""
        number = target.options.num_topics
        some = f"{number} topics" if number <= MOST else f"the first {MOST} of {number} topics"
        return f"{some}, row by row; last: held-out document {pair[0] + 1}", "top words"

    def columns(self, frame: Any, pair: Pair, limit: int = MAX_DRAWN) -> StageColumns:
        """Words in tiles, and a line below each topic."""
        target, topics = frame.target, heaviest_topics(frame)
        row, document = document_of(target, pair)
        shares = target.shares(topics[None], row[None])[0, 0]
        tiles = [*topics.T[:MOST], document]
        words = Words(*_places(target, len(tiles)), tuple(word for tile in tiles for word in _top(target, tile)))
        m = len(frame.weights)
        return StageColumns(EMPTY_LINE, _lines(target, shares[:MOST]), EMPTY_DOTS, m, m, words=words)


def _side(target: Target) -> int:
    """Tiles in a row."""
    return int(np.ceil(np.sqrt(min(target.options.num_topics, MOST) + 1)))


def _top(target: Target, values: np.ndarray) -> list[str]:
    """The words with the largest values, none of those with value 0, always as many."""
    best = np.argsort(-values, kind="stable")[:TOP]
    names = [target.word_names[w][:LETTERS] if values[w] > 0 else "" for w in best]
    return names + [""] * (TOP - len(names))


def _corner(target: Target, number: int) -> tuple[int, int]:
    """The left and the lower edge of a tile; the first is at the top left."""
    side = _side(target)
    return number % side, side - 1 - number // side


def _places(target: Target, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Where the words of each tile stand, one below the other."""
    corners = np.array([_corner(target, number) for number in range(count)], float)
    x = np.repeat(corners[:, 0] + 0.5, TOP)
    y = (corners[:, 1, None] + 0.5 + BELOW + LINE * (np.arange(TOP)[::-1] - (TOP - 1) / 2)).ravel()
    return x.astype(np.float32), y.astype(np.float32)


def _lines(target: Target, shares: np.ndarray) -> dict[str, np.ndarray]:
    """Below each topic a line of its share, with gaps of NaN."""
    corners = (_corner(target, number) for number in range(len(shares)))
    return joined(
        {"x": np.array([left + 0.1, left + 0.1 + 0.8 * share], np.float32), "y": np.full(2, low + BELOW, np.float32)}
        for share, (left, low) in zip(shares, corners, strict=True)
    )
