"""Topics of a text or of images, how much of each a document has, and images of which pixels were observed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pmdviz.engine.frame import Frame
from pmdviz.methods import Method
from pmdviz.scenes.columns import MAX_DRAWN, Image, StageColumns, Words, curve_columns, joined
from pmdviz.scenes.stage import Pair, Ranges, Scene, around_cells
from pmdviz.scenes.stage.discrete import GAP, side_by_side
from pmdviz.targets import Target

WIDER = 1.3  # tiles in a row for each row of tiles
NEUTRAL, FAINT = 0.5, 0.04  # of an image: nothing, and how far from it a word is that a tile lacks
DOCUMENTS = 20  # held-out ones that can be chosen


class TopicsScene(Scene):
    """The topics of the heaviest particle, of a chain the ones of its newest draw, each brightest where it is largest.

    Below each topic lies a line as long as the topic's share in one held-out document, of the tile's width; the
    document itself is the last tile. Words that are not pixels are laid out row by row in a square.
    """

    name = "topics"
    title = "Topics"
    order = 3
    legend = {"approximate": "share of the topic in the document (last tile)"}

    def applies(self, target: Target, method: Method) -> bool:
        """To models of documents whose words have no names: pixels, or numbers."""
        return target.predicts == "words" and not target.corpus.names

    def choices(self, target: Target) -> dict[str, Sequence[str]]:
        """Which of the held-out documents."""
        count = min(DOCUMENTS, len(target.test_data), target.dim)
        return {"Document": tuple(f"held-out {k + 1}" for k in range(count))}

    def ranges(self, target: Target, pair: Pair, top: float) -> Ranges:
        """Square cells."""
        return around_cells(*_extent(target))

    def axis_labels(self, target: Target, pair: Pair) -> tuple[str, str]:
        """Which tile is which."""
        return f"{target.options.num_topics} topics, row by row; last: held-out document {pair[0] + 1}", "words"

    def columns(self, frame: Frame, pair: Pair, limit: int = MAX_DRAWN) -> StageColumns:
        """One image of all tiles, and a line below each topic."""
        target, topics = frame.target, heaviest_topics(frame)
        row, document = document_of(target, pair)
        shares = target.shares(topics[None], row[None])[0, 0]
        image = Image.of_cells(_cells(target, topics, document))
        return StageColumns(approximate=_lines(target, shares), image=image)


def heaviest_topics(frame: Frame) -> np.ndarray:
    """Topics (W, K) of the heaviest particle, and of equal ones of the last."""
    weights = frame.weights
    return frame.target.topics(frame.particles[np.flatnonzero(weights == weights.max())[-1:]])[0]


def document_of(target: Target, pair: Pair) -> tuple[np.ndarray, np.ndarray]:
    """The row of the chosen held-out document, and how often each word occurs in it, (W,)."""
    row, corpus = target.test_data[min(pair[0], len(target.test_data) - 1)], target.corpus
    return row, np.bincount(corpus.words[row[0] : row[2]], corpus.counts[row[0] : row[2]], target.num_words)


def _tile(target: Target) -> tuple[int, int]:
    """Rows and columns of a tile."""
    side = int(np.ceil(np.sqrt(target.num_words)))
    return target.image_shape or (side, side)


def _layout(target: Target) -> tuple[int, int, int]:
    """Rows and columns of tiles, the document's among them, and the cells between two tiles."""
    count = target.options.num_topics + 1
    columns = min(count, int(np.ceil(np.sqrt(WIDER * count))))
    return -(-count // columns), columns, max(1, _tile(target)[0] // 5)


def _extent(target: Target) -> tuple[int, int]:
    """Rows and columns of cells; below each tile there is room for a line."""
    (tall, wide), (rows, columns, gap) = _tile(target), _layout(target)
    return rows * (tall + 2 * gap), columns * (wide + gap) - gap


def _corner(target: Target, number: int) -> tuple[int, int]:
    """The lowest row and the leftmost column of a tile; the first tile is on top."""
    (tall, wide), (rows, columns, gap) = _tile(target), _layout(target)
    return (rows - 1 - number // columns) * (tall + 2 * gap) + 2 * gap, number % columns * (wide + gap)


def _cells(target: Target, topics: np.ndarray, document: np.ndarray) -> np.ndarray:
    """Cells of all tiles from the bottom: a topic's above neutral, the document's below."""
    tall, wide = _tile(target)
    cells = np.full(_extent(target), np.nan, np.float32)
    shown = [FAINT + (NEUTRAL - FAINT) * counts / counts.max() for counts in (*topics.T, document)]
    tiles = [NEUTRAL + topic for topic in shown[:-1]] + [NEUTRAL - shown[-1]]
    for number, values in enumerate(tiles):
        bottom, left = _corner(target, number)
        padded = np.full(tall * wide, np.nan, np.float32)
        padded[: len(values)] = values
        cells[bottom : bottom + tall, left : left + wide] = padded.reshape(tall, wide)[::-1]
    return cells


def _lines(target: Target, shares: np.ndarray) -> dict[str, np.ndarray]:
    """Below each topic a line of its share, with gaps of NaN."""
    wide, gap = _tile(target)[1], _layout(target)[2]
    corners = (_corner(target, number) for number in range(len(shares)))
    return joined(
        curve_columns(np.array([left, left + share * wide]), np.full(2, bottom - 0.6 * gap))
        for share, (bottom, left) in zip(shares, corners, strict=True)
    )


# Topics of a text as their most probable words, and how much of each a held-out document has.

TOP, LETTERS = 5, 12  # words of a topic, and letters of a word, that are shown
MOST = 24  # topics that have room
LINE, BELOW = 0.15, 0.06  # between two words, and from the tile's lower edge to its line, in tiles


class TopWordsScene(TopicsScene):
    """The five most probable words of each topic of the heaviest particle, of a chain the ones of its newest draw.

    Below them lies a line as long as the topic's share in one held-out document, whose own most frequent words are the
    last tile. Of more than 24 topics the first are shown.
    """

    name = "top_words"
    title = "Top words"

    def applies(self, target: Target, method: Method) -> bool:
        """To models of documents whose words have names."""
        return target.predicts == "words" and bool(target.corpus.names)

    def ranges(self, target: Target, pair: Pair, top: float) -> Ranges:
        """As many square tiles as there are topics, and the document's."""
        side = float(_side(target))
        return (0.0, side), (0.0, side)

    def axis_labels(self, target: Target, pair: Pair) -> tuple[str, str]:
        """Which tile is which."""
        number = target.options.num_topics
        some = f"{number} topics" if number <= MOST else f"the first {MOST} of {number} topics"
        return f"{some}, row by row; last: held-out document {pair[0] + 1}", "top words"

    def columns(self, frame: Frame, pair: Pair, limit: int = MAX_DRAWN) -> StageColumns:
        """Words in tiles, and a line below each topic."""
        target, topics = frame.target, heaviest_topics(frame)
        row, document = document_of(target, pair)
        shares = target.shares(topics[None], row[None])[0, 0]
        tiles = [*topics.T[:MOST], document]
        words = Words(*_places(target, len(tiles)), tuple(word for tile in tiles for word in _top(target, tile)))
        return StageColumns(approximate=_word_lines(target, shares[:MOST]), words=words)


def _side(target: Target) -> int:
    """Tiles in a row."""
    return int(np.ceil(np.sqrt(min(target.options.num_topics, MOST) + 1)))


def _top(target: Target, values: np.ndarray) -> list[str]:
    """The words with the largest values, none of those with value 0, always as many."""
    best = np.argsort(-values, kind="stable")[:TOP]
    names = [target.word_names[w][:LETTERS] if values[w] > 0 else "" for w in best]
    return names + [""] * (TOP - len(names))


def _word_corner(target: Target, number: int) -> tuple[int, int]:
    """The left and the lower edge of a tile; the first is at the top left."""
    side = _side(target)
    return number % side, side - 1 - number // side


def _places(target: Target, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Where the words of each tile stand, one below the other."""
    corners = np.array([_word_corner(target, number) for number in range(count)], float)
    x = np.repeat(corners[:, 0] + 0.5, TOP)
    y = (corners[:, 1, None] + 0.5 + BELOW + LINE * (np.arange(TOP)[::-1] - (TOP - 1) / 2)).ravel()
    return x.astype(np.float32), y.astype(np.float32)


def _word_lines(target: Target, shares: np.ndarray) -> dict[str, np.ndarray]:
    """Below each topic a line of its share, with gaps of NaN."""
    corners = (_word_corner(target, number) for number in range(len(shares)))
    return joined(
        curve_columns(np.array([left + 0.1, left + 0.1 + 0.8 * share]), np.full(2, low + BELOW))
        for share, (left, low) in zip(shares, corners, strict=True)
    )


class ReconstructionScene(Scene):
    """The image with gaps for pixels not observed; decoded, the mean of q, one point, and the exact mean.

    The point is the heaviest particle or the newest draw. Any target with an `image`, its `observed` pixels and a
    decoder (`decoded`) has it.
    """

    name = "reconstruction"
    title = "Image"
    numbered = False
    order = 6
    legend = {}

    def applies(self, target: Target, method: Method) -> bool:
        """To targets whose theta decodes to an image."""
        return hasattr(target, "decoded")

    def ranges(self, target: Target, pair: Pair, top: float) -> Ranges:
        """Square cells."""
        rows, columns = target.image_shape
        return around_cells(rows, 4 * (columns + GAP) - GAP)

    def axis_labels(self, target: Target, pair: Pair) -> tuple[str, str]:
        """Which image is which, in their order, and what the colours say."""
        return "observed · mean of q · one point · exact mean", "orange: dark, green: bright"

    def columns(self, frame: Frame, pair: Pair, limit: int = MAX_DRAWN) -> StageColumns:
        """One image of four."""
        target, weights = frame.target, frame.weights
        heaviest = frame.particles[np.flatnonzero(weights == weights.max())[-1]]
        observed = np.full(target.image.size, np.nan)
        observed[target.observed] = target.image[target.observed]
        points = np.stack([frame.density.mean, heaviest, target.exact.mean])
        images = [observed, *np.clip(target.decoded(points), 0.0, 1.0)]
        cells = side_by_side([image.reshape(target.image_shape)[::-1] for image in images])
        return StageColumns(image=Image.of_cells(cells))
