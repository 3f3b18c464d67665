"""Pictures in cells: states of few values (lattices, bars, quantile bins, signs of weights), and topics."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pmdviz.engine.frame import Frame
from pmdviz.methods import Method
from pmdviz.methods.stein.discrete_gf_svgd import DiscreteGFSVGD, QuantileBins, quantile_bins
from pmdviz.pictures import Axis
from pmdviz.scenes import columns as col
from pmdviz.scenes.stage import Pair, Scene, bare_axes, cell_axes
from pmdviz.targets import Target
from pmdviz.targets.space import Discrete

GAP = 1  # cells between two lattices or images
COLOURS = "orange: lowest value, green: highest"


class LatticeScene(Scene):
    """Each coordinate is a cell, from the lowest value (0) to the highest (1); the first row is on top.

    The means have frames: pale cells would not be seen as a lattice.
    """

    name = "lattice"
    title = "Lattice"
    order = 10
    legend = {"exact": "exact mean", "approximate": "mean of draws"}

    def applies(self, target: Target, method: Method) -> bool:
        """To discrete states."""
        return isinstance(target.space, Discrete)

    def axes(self, target: Target, pair: Pair, top: float) -> tuple[Axis, Axis]:
        """Which lattice is which, in their order, and what the colours say."""
        rows, columns = shape_of(target)
        exact = " · exact mean" if _panels(target) > 2 else ""
        words = f"newest state · mean of draws{exact}", COLOURS
        return cell_axes(words, rows, _panels(target) * (columns + GAP) - GAP)

    def columns(self, frame: Frame, pair: Pair, limit: int = col.MAX_DRAWN) -> col.StageColumns:
        """One image of two or three lattices."""
        target = frame.target
        states = [frame.particles[-1], frame.density.mean]
        states += [target.reference().mean] if _panels(target) > 2 else []
        rows, columns = shape_of(target)
        drawn = mosaic([cells(target, state) for state in states], len(states))
        wide = columns + GAP
        means = [framed(k * wide, k * wide + columns, rows) for k in range(1, len(states))]
        return col.StageColumns(means[1] if means[1:] else col.EMPTY_LINE, means[0], image=col.Image.of_cells(drawn))


def mosaic(images: Sequence[np.ndarray], across: int, gap: int = GAP, under: int = GAP, foot: int = 0) -> np.ndarray:
    """Images row by row, the first on top, so many in a row; row 0 is at the bottom.

    NaN is in the gaps between two of them, `gap` cells across and `under` upwards, and in `foot` cells below them all.
    """
    rows, columns = images[0].shape
    down = -(-len(images) // across)
    cells = np.full((down, rows + under, across, columns + gap), np.nan, np.float32)
    for k, image in enumerate(images):
        cells[k // across, :rows, k % across, :columns] = image
    return cells.reshape(down * (rows + under), -1)[: foot - under or None, :-gap][::-1].copy()


def shape_of(target: Target) -> tuple[int, int]:
    """Rows and columns; a list of states is one row."""
    shape = target.space.shape
    return (shape[0], shape[1]) if len(shape) == 2 else (1, target.dim)


def cells(target: Target, state: np.ndarray) -> np.ndarray:
    """A state or a mean of states (d,) as an array of rows and columns, the lowest value 0 and the highest 1."""
    values = np.array(target.states.values, float)
    return ((state - values.min()) / np.ptp(values)).reshape(shape_of(target))


def framed(left: float, right: float, top: float) -> dict[str, np.ndarray]:
    """The outline of a lattice whose corner is at 0."""
    return col.curve_columns(np.array([left, right, right, left, left]), np.array([0.0, 0.0, top, top, 0.0]))


def _panels(target: Target) -> int:
    return 3 if target.reference() is not None else 2


# What some particles of a method say of discrete states, one lattice each, over the mean of all and the exact mean.

ACROSS, DOWN = 4, 2  # lattices of particles
LARGER = 2  # times as large as one of theirs belongs to a mean


class LatticeStripScene(Scene):
    """The eight heaviest particles, of equal ones the first, and below them the mean of all and the exact one.

    A cell is a coordinate, from the lowest value (0) to the highest (1); the first row is on top. A place stays empty
    where there are fewer particles. The means have frames: pale cells would not be seen as a lattice.
    """

    name = "lattice_strip"
    title = "Lattices of particles"
    order = 9
    legend = {"exact": "exact mean", "approximate": "mean of all"}

    def applies(self, target: Target, method: Method) -> bool:
        """To particles that are discrete states."""
        return isinstance(target.space, Discrete) and method.family == "particles"

    def axes(self, target: Target, pair: Pair, top: float) -> tuple[Axis, Axis]:
        """Which lattice is which, and what the colours say."""
        exact = " · exact mean" if target.reference() is not None else ""
        words = f"above: {ACROSS * DOWN} particles; below: mean of all{exact}", COLOURS
        return cell_axes(words, *_extent(target))

    def columns(self, frame: Frame, pair: Pair, limit: int = col.MAX_DRAWN) -> col.StageColumns:
        """One image of all lattices."""
        target, weights = frame.target, frame.weights
        heaviest = np.argsort(-weights, kind="stable")[: ACROSS * DOWN]
        rows, columns = shape_of(target)
        drawn = np.full(_extent(target), np.nan, np.float32)
        strip = mosaic([cells(target, state) for state in frame.particles[heaviest]], ACROSS)
        drawn[-len(strip) :] = strip
        reference = target.reference()
        means = [frame.density.mean] + ([reference.mean] if reference is not None else [])
        below = mosaic([cells(target, mean) for mean in means], len(means)).repeat(LARGER, 0).repeat(LARGER, 1)
        drawn[: len(below), : below.shape[1]] = below
        lefts = [place * LARGER * (columns + GAP) for place in range(len(means))]
        frames = [framed(left, left + LARGER * columns, LARGER * rows) for left in lefts]
        exact = col.joined(frames[1:]) if frames[1:] else col.EMPTY_LINE
        return col.StageColumns(exact, frames[0], image=col.Image.of_cells(drawn))


def _extent(target: Target) -> tuple[int, int]:
    """Cells down and across."""
    rows, columns = shape_of(target)
    return DOWN * (rows + GAP) + LARGER * rows, ACROSS * (columns + GAP) - GAP


# One coordinate of a few values: a bar for each, of the particles' share next to the exact probability.

HALF, SIDE = 0.4, 0.7  # of a bar, and of the room outside the outer ones, in the least distance of two values
HEADROOM = 1.35  # times the highest exact probability


class ValueBarsScene(Scene):
    """Side by side at each value: exact, where it is known, and the approximation's share."""

    name = "value_bars"
    title = "Probabilities"
    order = 8
    legend = {"exact": "exact probability", "approximate": "share of the particles"}

    def applies(self, target: Target, method: Method) -> bool:
        """To one coordinate of discrete states."""
        return "discrete" in target.offers and target.dim == 1

    def axes(self, target: Target, pair: Pair, top: float) -> tuple[Axis, Axis]:
        """All values."""
        values, gap = np.sort(target.space.values), _least_distance(target)
        x = Axis(f"value of {target.parameter_names[0]}", values[0] - SIDE * gap, values[-1] + SIDE * gap)
        return x, Axis("probability", 0.0, HEADROOM * highest(target))

    def columns(self, frame: Frame, pair: Pair, limit: int = col.MAX_DRAWN) -> col.StageColumns:
        """Two rows of bars."""
        values, half = np.sort(frame.target.space.values), HALF * _least_distance(frame.target)
        exact, share = probabilities(frame)
        return col.StageColumns(bars(values - half, values, exact), bars(values, values + half, share))


def _least_distance(target: Target) -> float:
    return float(np.diff(np.sort(target.space.values)).min())


def highest(target: Target) -> float:
    """The highest exact probability; 1 where none is known."""
    exact = target.exact
    return float(np.exp(exact.log_density(_states(target))).max()) if exact is not None else 1.0


def probabilities(frame: Frame) -> tuple[np.ndarray, np.ndarray]:
    """Exact probabilities (NaN where they are not known) and the approximation's, of the values in ascending order."""
    target, q = frame.target, frame.density
    states = _states(target)
    share = ((q.particles == states[:, 0]) * q.weights[:, None]).sum(axis=0)
    exact = target.exact
    return (np.full(len(states), np.nan) if exact is None else np.exp(exact.log_density(states))), share


def _states(target: Target) -> np.ndarray:
    return np.sort(target.space.values)[:, None]


def bars(left: np.ndarray, right: np.ndarray, heights: np.ndarray, foot: float = 0.0) -> col.Columns:
    """The outlines of bars (K,) that start at `foot`, with gaps of NaN."""
    nan, low = np.full(len(left), np.nan), np.full(len(left), foot)
    x = np.stack([left, left, right, right, left, nan], axis=1)
    y = np.stack([low, foot + heights, foot + heights, low, low, nan], axis=1)
    return col.curve_columns(x.ravel(), y.ravel())


# Latent points on a line cut into quantile bins: p_c in steps over the base p0, and the bins' bars above.

SDS = 3.2  # of the base's outer components, to either side
POINTS = 600  # of a curve, and columns of shade
FLOOR, BARS, TOP = -0.12, 1.15, 2.15  # of the dots, of the bars' feet, of the picture; a curve's peak is at 1
SHADE = 0.35  # how far the bins' shades lie apart, from the neutral half
WIDE = 0.3  # of a bar at most, in units of the base's sd
LARGEST = 9.0  # px, of a dot


class QuantileBinsScene(Scene):
    """p_c(x) = K p0(x) p(Gamma(x)) and p0 on the latent axis, the particles under it, and above each bin two bars.

    The bins are shaded by their value; bars are the exact probability and the particles' share.
    """

    name = "quantile_bins"
    title = "Quantile bins"
    order = 7
    legend = {
        "prior": "base p₀",
        "exact": "target in steps; exact probability",
        "approximate": "share of the particles",
        "particles": "latent points",
    }

    def applies(self, target: Target, method: Method) -> bool:
        """To latent points of one coordinate."""
        return isinstance(method, DiscreteGFSVGD) and "discrete" in target.offers and target.dim == 1

    def axes(self, target: Target, pair: Pair, top: float) -> tuple[Axis, Axis]:
        """In units in which the base reaches from -1 to 1."""
        above = f"density of x below, probability of {target.parameter_names[0]} above"
        return bare_axes(("latent x, in bins of equal mass under p₀", above), ((-1.0, 1.0), (2 * FLOOR, TOP)))

    def columns(self, frame: Frame, pair: Pair, limit: int = col.MAX_DRAWN) -> col.StageColumns:
        """Shades, two curves, bars and dots."""
        target, m = frame.target, len(frame.weights)
        bins = quantile_bins(target, frame.knobs)
        reach = min(bins.base.clip, float(bins.base.centres[-1]) + SDS)
        exact, share = probabilities(frame)
        x = np.linspace(-reach, reach, POINTS)
        base = np.exp(bins.base.log_density(x))
        at = np.searchsorted(bins.values, bins(x))
        steps = len(exact) * base * exact[at]
        top = float(np.nanmax([base.max(), np.nanmax(np.append(steps, 0.0))]))
        ends = np.concatenate([[-reach], np.clip(bins.edges, -reach, reach), [reach]]) / reach
        left, right, value = ends[:-1], ends[1:], np.arange(bins.num_bins) % len(bins.values)  # the row of its value
        middle, high = 0.5 * (left + right), HEADROOM * float(np.nanmax(np.append(exact, share.max())))
        half = np.minimum(0.45 * (right - left), WIDE / reach)
        each = bins.num_bins // len(exact)  # bins that share a value's probability
        dots = _dots(frame, reach, limit)
        shades = (0.5 + SHADE * (at / (len(exact) - 1) - 0.5))[None].astype(np.float32)  # of each bin by its value
        bars = _bars(middle - half, middle, exact[value] / each / high)
        return col.StageColumns(
            exact=col.joined([col.curve_columns(x / reach, steps / top), bars]),
            approximate=_bars(middle, middle + half, _shares(frame, bins) / high),
            particles=dots,
            drawn=len(dots["x"]),
            num_particles=m,
            image=col.Image(shades, (-1.0, 1.0), (2 * FLOOR, TOP)),
            prior=col.curve_columns(x / reach, base / top) if m else col.EMPTY_LINE,
            words=col.Words.at(*((x, TOP - 0.08, f"{bins.values[k]:g}") for x, k in zip(middle, value, strict=True))),
        )


def _shares(frame: Frame, bins: QuantileBins) -> np.ndarray:
    """Of the particles in every bin, (Q,)."""
    latent: np.ndarray = frame.state.latent
    numbers = np.searchsorted(bins.edges, latent[:, 0], side="right")
    return np.bincount(numbers, weights=frame.weights, minlength=bins.num_bins)


def _bars(left: np.ndarray, right: np.ndarray, heights: np.ndarray) -> dict[str, np.ndarray]:
    return bars(left, right, heights * (TOP - BARS), BARS)


def _dots(frame: Frame, reach: float, limit: int) -> dict[str, np.ndarray]:
    """The latent points under the axis."""
    rows = col.drawn_rows(frame.weights, limit)
    x = frame.state.latent[rows, 0] / reach
    return col.weighted_dots(x, np.full(len(x), FLOOR), frame.weights, rows, LARGEST)


# What the hidden units of a net look for: the signs of their weights, as one small image a unit.

MOST = 64  # units that are drawn
UNITS_ACROSS = 8  # images in a row of a half
BETWEEN = 6  # cells between the halves, with room for words
ABOVE = 2.5  # cells from the images to the words


class WeightSignsScene(Scene):
    """Above the mean sign over q of every weight, below one net's; an image is one hidden unit.

    Any target with a `first_layer` of weights -1 and 1 from the pixels of images (`image_shape`) has it.
    """

    name = "weight_signs"
    title = "Hidden units"
    order = 6
    legend = {}

    def applies(self, target: Target, method: Method) -> bool:
        """To nets that look at images."""
        return getattr(target, "image_shape", None) is not None and hasattr(target, "first_layer")

    def axes(self, target: Target, pair: Pair, top: float) -> tuple[Axis, Axis]:
        """The places of the maps, and the meaning of the colours."""
        words = "above: mean sign over all nets · below: one net", "orange: weight -1, green: weight 1"
        return cell_axes(words, *_cells(target), edge=1.5, over=ABOVE)

    def columns(self, frame: Frame, pair: Pair, limit: int = col.MAX_DRAWN) -> col.StageColumns:
        """Two tables of images, and over each how often it is right on held-out rows."""
        target, weights = frame.target, frame.weights
        one = frame.particles[np.flatnonzero(weights == weights.max())[-1]]
        halves = [_table(target, theta) for theta in (frame.density.mean, one)]
        gap = np.full((BETWEEN, halves[0].shape[1]), np.nan)
        cells = np.concatenate([halves[1], gap, halves[0]]).astype(np.float32)
        return col.StageColumns(image=col.Image.of_cells(cells), words=_said(frame, cells.shape))


def _shape(target: Target) -> tuple[int, int, int, int]:
    """Units that are drawn, images in a row, and rows and columns of pixels."""
    units = min(target.shape.hidden, MOST)
    return units, min(units, UNITS_ACROSS), *target.image_shape[1:]


def _cells(target: Target) -> tuple[int, int]:
    """Rows and columns of the whole picture."""
    units, across, rows, columns = _shape(target)
    down = -(-units // across)
    return 2 * (down * (rows + GAP) - GAP) + BETWEEN, across * (columns + GAP) - GAP


def _table(target: Target, theta: np.ndarray) -> np.ndarray:
    """The images of the units of one net (d,), or of means of nets; of colours their mean; row 0 is at the bottom."""
    units, across, *_ = _shape(target)
    images = target.first_layer(theta[None])[0, :units].reshape(units, *target.image_shape).mean(axis=1)
    return mosaic(0.5 * (1 + images), across)


def _said(frame: Frame, shape: tuple[int, int]) -> col.Words:
    """Over the upper half how many held-out rows all nets together tell right, over the lower one how many one does."""
    (rows, columns), told = shape, frame.metrics
    above = rows + ABOVE, f"together {told['accuracy']:.1%} right"
    below = 0.5 * (rows - BETWEEN) + ABOVE, f"each alone {told['single_accuracy']:.1%}"
    return col.Words.at(*((0.5 * columns, *said) for said in (above, below)))


# Topics of a text or of images, how much of each a document has, and images of which pixels were observed.

WIDER = 1.3  # tiles in a row for each row of tiles
NEUTRAL, FAINT = 0.5, 0.04  # of an image: nothing, and how far from it a word is that a tile lacks
DOCUMENTS = 20  # held-out ones that can be chosen
MOST_TOPICS, WORDS_SIDE = 24, 10  # topics as words that have room, and cells of a side of their tiles


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

    def axes(self, target: Target, pair: Pair, top: float) -> tuple[Axis, Axis]:
        """Which tile is which."""
        number, shown = target.options.num_topics, _shown(target)
        some = f"{number} topics" if shown == number else f"the first {shown} of {number} topics"
        words = f"{some}, row by row; last: held-out document {pair[0] + 1}", "words"
        return cell_axes(words, *_size_in_cells(target))

    def columns(self, frame: Frame, pair: Pair, limit: int = col.MAX_DRAWN) -> col.StageColumns:
        """One image of all tiles, and a line below each topic."""
        target, topics, shares, document = _read(frame, pair)
        image = col.Image.of_cells(_tiles(target, topics, document))
        return col.StageColumns(approximate=_lines(target, shares), image=image)


def _read(frame: Frame, pair: Pair) -> tuple[Target, np.ndarray, np.ndarray, np.ndarray]:
    """Target, topics (W, K) of the heaviest particle, of equal ones of the last, their shares (K,), the document (W,).

    The document is the chosen held-out one: how often each word occurs in it.
    """
    target, weights = frame.target, frame.weights
    topics = target.topics(frame.particles[np.flatnonzero(weights == weights.max())[-1:]])[0]
    row, corpus = target.test_data[min(pair[0], len(target.test_data) - 1)], target.corpus
    document = np.bincount(corpus.words[row[0] : row[2]], corpus.counts[row[0] : row[2]], target.num_words)
    shown = _shown(target)
    return target, topics[:, :shown], target.shares(topics[None], row[None])[0, 0, :shown], document


def _shown(target: Target) -> int:
    """How many topics have room."""
    return min(target.options.num_topics, MOST_TOPICS) if target.corpus.names else target.options.num_topics


def _tile(target: Target) -> tuple[int, int]:
    """Rows and columns of a tile; of words that have names of a tile for words."""
    side = WORDS_SIDE if target.corpus.names else int(np.ceil(np.sqrt(target.num_words)))
    return target.image_shape or (side, side)


def _layout(target: Target) -> tuple[int, int, int]:
    """Rows and columns of tiles, the document's among them, and the cells between two tiles."""
    count = _shown(target) + 1
    columns = min(count, int(np.ceil(np.sqrt(WIDER * count))))
    return -(-count // columns), columns, max(1, _tile(target)[0] // 5)


def _size_in_cells(target: Target) -> tuple[int, int]:
    """Rows and columns of cells; below each tile there is room for a line."""
    (tall, wide), (rows, columns, gap) = _tile(target), _layout(target)
    return rows * (tall + 2 * gap), columns * (wide + gap) - gap


def _corner(target: Target, number: int) -> tuple[int, int]:
    """The lowest row and the leftmost column of a tile; the first tile is on top."""
    (tall, wide), (rows, columns, gap) = _tile(target), _layout(target)
    return (rows - 1 - number // columns) * (tall + 2 * gap) + 2 * gap, number % columns * (wide + gap)


def _tiles(target: Target, topics: np.ndarray, document: np.ndarray) -> np.ndarray:
    """Cells of all tiles from the bottom: a topic's above neutral, the document's below."""
    (tall, wide), (_, columns, gap) = _tile(target), _layout(target)
    shown = [FAINT + (NEUTRAL - FAINT) * counts / counts.max() for counts in (*topics.T, document)]
    tiles = [NEUTRAL + topic for topic in shown[:-1]] + [NEUTRAL - shown[-1]]
    padded = [np.append(values, np.full(tall * wide - len(values), np.nan)) for values in tiles]
    return mosaic([values.reshape(tall, wide) for values in padded], columns, gap, 2 * gap, 2 * gap)


def _lines(target: Target, shares: np.ndarray) -> dict[str, np.ndarray]:
    """Below each topic a line of its share, with gaps of NaN."""
    wide, gap = _tile(target)[1], _layout(target)[2]
    corners = (_corner(target, number) for number in range(len(shares)))
    return col.joined(
        col.curve_columns(np.array([left, left + share * wide]), np.full(2, bottom - 0.6 * gap))
        for share, (bottom, left) in zip(shares, corners, strict=True)
    )


# Topics of a text as their most probable words, and how much of each a held-out document has.

TOP_WORDS, LETTERS = 5, 12  # words of a topic, and letters of a word, that are shown


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

    def columns(self, frame: Frame, pair: Pair, limit: int = col.MAX_DRAWN) -> col.StageColumns:
        """Words in tiles, and a line below each topic."""
        target, topics, shares, document = _read(frame, pair)
        tiles = enumerate([*topics.T, document])
        words = col.Words.at(*(place for number, tile in tiles for place in _top_words(target, number, tile)))
        return col.StageColumns(approximate=_lines(target, shares), words=words)


def _top_words(target: Target, number: int, values: np.ndarray) -> list[tuple[float, float, str]]:
    """The words with the largest values, none of those with value 0, at their places in a tile."""
    (bottom, left), (tall, wide) = _corner(target, number), _tile(target)
    best = enumerate(np.argsort(-values, kind="stable")[:TOP_WORDS])
    height = tall / TOP_WORDS
    places = [(left + 0.5 * wide, bottom + tall - (k + 0.5) * height, w) for k, w in best if values[w] > 0]
    return [(x, y, target.word_names[w][:LETTERS]) for x, y, w in places]


class ReconstructionScene(Scene):
    """The image with gaps for pixels not observed; decoded, the mean of q, one point, and the exact mean.

    The point is the heaviest particle or the newest draw. Any target with an `image`, its `observed` pixels and a
    decoder (`decoded`) has it.
    """

    name = "reconstruction"
    title = "Image"
    order = 6
    legend = {}

    def applies(self, target: Target, method: Method) -> bool:
        """To targets whose theta decodes to an image."""
        return hasattr(target, "decoded")

    def axes(self, target: Target, pair: Pair, top: float) -> tuple[Axis, Axis]:
        """Which image is which, in their order, and what the colours say."""
        words = "observed · mean of q · one point · exact mean", "orange: dark, green: bright"
        return cell_axes(words, target.image_shape[0], 4 * (target.image_shape[1] + GAP) - GAP)

    def columns(self, frame: Frame, pair: Pair, limit: int = col.MAX_DRAWN) -> col.StageColumns:
        """One image of four."""
        target, weights = frame.target, frame.weights
        heaviest = frame.particles[np.flatnonzero(weights == weights.max())[-1]]
        observed = np.full(target.image.size, np.nan)
        observed[target.observed] = target.image[target.observed]
        points = np.stack([frame.density.mean, heaviest, target.exact.mean])
        images = [observed, *np.clip(target.decoded(points), 0.0, 1.0)]
        cells = mosaic([image.reshape(target.image_shape) for image in images], len(images))
        return col.StageColumns(image=col.Image.of_cells(cells))
