"""One step from the inside: what each of its terms did to each particle.

It reads what the step tells (`StepInfo.terms`, `numbers` and `parents`), and knows no method by its name.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from pmdviz.engine.frame import Frame
from pmdviz.files import Json
from pmdviz.methods.step import Term, Update
from pmdviz.pictures import Axis
from pmdviz.scenes import data_columns
from pmdviz.scenes.columns import EMPTY_LINE, Columns, StageColumns, drawn_rows
from pmdviz.scenes.stage import Pair, Scene
from pmdviz.scenes.words import count, number
from pmdviz.targets import Target

Told: TypeAlias = "None | bool | int | float | str | np.ndarray | Sequence[Told] | Mapping[str, Told]"
Put = Callable[[str, np.ndarray], Json]

# The batch of one step among all data, and the density of new data that the batch alone implies.

DOTS, TICKS = 500, 400  # of all data and of a batch, drawn at most
THETAS = 300  # over which the density is averaged


def batch_picture(frame: Frame) -> Told:
    """The batch that led to `frame`; None where the data cannot be drawn, or the step was given none."""
    target, rows = frame.target, frame.batch_rows
    if rows is None or not data_columns.applies(target):
        return None
    batch = target.data_rows[rows]
    if not len(batch):
        return None
    ground, points = data_columns.ground_of(target), data_columns.plane(target, batch)
    shown, dots = points[data_columns.evenly(len(points), TICKS)], _single(ground.marks["data dots"].columns)
    flat, whole = points.shape[1] == 1, len(batch) == target.num_data
    curve = _implied(target, frame.particles, batch, (ground.x.low, ground.x.high)) if flat else EMPTY_LINE
    height = 1.05 * max([ground.y.high, *curve["y"]]) if flat else 0.0
    return {
        "title": f"The batch: {'all' if whole else f'{count(len(batch))} of'} {count(target.num_data)} data points",
        "words": _words(flat, len(curve["x"]) > 0),
        "flat": flat,
        **_axes(ground.x, ground.y._replace(high=float(height)) if flat else ground.y),
        "bars": _single(ground.marks["data"].columns),
        "dots": {name: each[data_columns.evenly(len(each), DOTS)] for name, each in dots.items()},
        "exact": _single(ground.marks["exact"].columns),
        "batch": _single(dict(zip("xy", shown.T, strict=False))),
        "curve": _single(curve),
    }


def _implied(target: Target, particles: np.ndarray, batch: np.ndarray, across: tuple[float, float]) -> Columns:
    """Σ w p(x | θ) with weights w ∝ p(batch | θ), over some particles; nothing where a row has no density."""
    if "row_density" not in target.offers:
        return EMPTY_LINE
    thetas = particles[data_columns.evenly(len(particles), THETAS)]
    log_weights = target.log_likelihood(thetas, batch)
    weights = np.exp(log_weights - log_weights.max())
    x = np.linspace(*across, data_columns.CURVE)
    rows = x.reshape(-1, *target.data_rows.shape[1:])
    return {"x": x, "y": weights @ np.exp(target.row_log_likelihood(thetas, rows)) / weights.sum()}


def _words(flat: bool, curve: bool) -> str:
    if not flat:
        return "Large dots: the batch; small dots: all data."
    drawn = "Bars: all data; ticks: the batch."
    return f"{drawn} Dashed: the density that the batch alone implies, averaged over the particles." if curve else drawn


def _single(columns: Mapping[str, Any]) -> Columns:
    return {name: np.asarray(values, np.float32) for name, values in columns.items()}


# The formula of a step: the words of each of its terms, with this step's numbers instead of symbols.

SMALLEST = 1e-4  # smaller numbers are written with a power of ten
TWO_NUMBERS = re.compile(r"(?<=[\d}]) (?=\d)")


def filled(formula: str, numbers: Mapping[str, float]) -> str:
    """The formula with numbers instead of their symbols: "+ γ N/B Σ log p" -> "+ 0.12 × 100 Σ log p".

    A symbol that is part of a longer word, or has something below or above it, stays.
    """
    if not numbers:
        return formula
    symbols = "|".join(re.escape(name) for name in sorted(numbers, key=len, reverse=True))
    known = re.compile(rf"(?<![\w.^])(?:{symbols})(?![\w^{{′̃])")
    return TWO_NUMBERS.sub(" × ", known.sub(lambda found: _written(numbers[found[0]]), formula))


def _written(value: float) -> str:
    size = abs(value)
    if 0 < size < SMALLEST:
        figures, exponent = f"{size:.1e}".split("e")
        return f"{'−' if value < 0 else ''}{figures} × 10^{{−{-int(exponent)}}}"
    text = number(size)
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return f"(−{text})" if value < 0 else text


def term_words(term: Term, numbers: Mapping[str, float]) -> Mapping[str, Told]:
    """A term as a person reads it; `filled` is "" where its formula has no number to put in."""
    numbered = filled(term.formula, numbers)
    return {
        "name": term.name,
        "title": term.title,
        "formula": term.formula,
        "filled": "" if numbered == term.formula else numbered,
        "about": term.about,
    }


# The four pictures of a step in words: a title and a sentence on what happened in this one.


@dataclass(frozen=True)
class _Step:
    """What the pictures share: the frames of a step, its sums, and weights where points have some; all rows of them."""

    update: Update
    before: Frame
    after: Frame
    pair: Pair
    total: np.ndarray  # (n, k) sums of the terms
    weights: np.ndarray | None  # (n,) after the step; None of unweighted points
    old: np.ndarray | None  # (n0,) before it
    placed: bool  # whether points have a place on the stage

    @property
    def noun(self) -> str:
        """What each row is, in the singular."""
        return NOUNS[self.after.method.family]

    @property
    def plural(self) -> str:
        """How many there are, with their noun."""
        size = len(self.total)
        return f"{count(size)} {self.noun}{'s' * (size != 1)}"

    @property
    def parents(self) -> np.ndarray | None:
        """For each point the row of the one that it was drawn from."""
        return self.after.info.parents

    @property
    def redrawn(self) -> bool:
        """Whether the points of before are no longer there."""
        return self.update.fresh or self.parents is not None or bool(self.after.info.rejuvenated)

    @property
    def kept(self) -> bool:
        """Whether each point and its weight were there before."""
        return not self.redrawn and self.old is not None and len(self.old) == len(self.total)

    @cached_property
    def gain(self) -> np.ndarray | None:
        """(n,) by how much the log-weight grew, nats; None where the step is not about weights."""
        if self.update.kind != "weights" or self.weights is None:
            return None
        with np.errstate(divide="ignore", invalid="ignore"):
            return self.total[:, 0] - (np.log(self.old) if self.kept else -np.log(len(self.total)))

    @cached_property
    def moved(self) -> np.ndarray | None:
        """(n,) whether each is elsewhere after the step; None where it was redrawn."""
        if self.update.kind != "ratio" and not (self.gain is not None and self.kept):
            return None
        frames = (self.before, self.after)
        places = (frame.method.points(frame.state).reshape(len(self.total), -1) for frame in frames)
        return np.not_equal(*places).any(axis=1)

    def origins(self, rows: np.ndarray, number: int) -> np.ndarray | None:
        """Which of the `number` points some rows were before; None where that is not known."""
        if self.parents is not None:
            return np.asarray(self.parents)[rows]
        return None if self.redrawn or number != len(self.total) else rows


def pictures(step: _Step) -> list[dict[str, str]]:
    """Titles and sentences, in the order of the algorithm."""
    kind, after = step.update.kind, step.after
    pull = {"weights": _gain, "move": _arrows, "ratio": _ratio}[kind](step)
    end = {"weights": _reweighted, "move": _moved, "ratio": _decided}[kind](step)
    rows = after.batch_rows
    partial = rows is not None and not isinstance(rows, slice) and len(rows) < after.target.num_data
    title = "The proposal" if kind == "ratio" else "The pull of the batch" if partial else "The pull"
    shortened = after.info.limited
    last = f"{end[1]} The step was shortened: {shortened}." if shortened else end[1]
    said = [_before(step), _redrawn(step), (title, pull), (end[0], last)]
    return [{"title": title, "sentence": sentence} for title, sentence in said]


def _before(step: _Step) -> tuple[str, str]:
    at = f"Iteration {count(step.before.iteration)}"
    if step.old is None:
        them = "it" if len(step.total) == 1 else "them"
        return "Before the step", f"{at}: {step.plural}, where the step finds {them}."
    m = len(step.old)
    return "Before the step", f"{at}: {count(m)} particles, worth {_effective(step.old)} of equal weight."


def _redrawn(step: _Step) -> tuple[str, str]:
    info = step.after.info
    if info.parents is not None:
        parents = len(np.unique(info.parents))
        reason = f"New particles: {info.rejuvenated}." if info.rejuvenated else "New particles."
        return "Redrawn", f"{reason} {count(parents)} of the old ones have children."
    if info.rejuvenated:
        return "Redrawn", f"New particles: {info.rejuvenated}."
    if step.update.fresh:
        return "Redrawn", f"New {step.noun}s, as at every step: they do not descend from the old ones."
    if len(step.total) == 1:
        return "Kept", f"The {step.noun} goes on from where it is."
    return "Kept", f"{step.noun.capitalize()}s kept: this step redraws none."


def _gain(step: _Step) -> str:
    share = float(np.mean(step.gain > 0)) if step.gain is not None else 0.0
    return f"{100 * share:.0f}% of the particles gain weight (orange), the others lose it (blue)."


def _arrows(step: _Step) -> str:
    return "Each arrow is one term; one behind the other they lead to the new place."


def _ratio(step: _Step) -> str:
    ratio = float(step.total[0, 0])
    chance = number(float(np.exp(min(ratio, 0.0))))
    first = "" if len(step.total) == 1 else "Chain 0: "
    signed = f"−{number(-ratio)}" if ratio < 0 else number(ratio)
    return f"{first}log α = {signed}, so the proposal is accepted with probability {chance}."


def _reweighted(step: _Step) -> tuple[str, str]:
    if step.old is None or step.weights is None:
        return "Reweighted", "The new weights."
    was, now, m = _effective(step.old), _effective(step.weights), count(len(step.weights))
    ess = f"Effective sample size before the step {was}, now {now} of {m}."
    if step.moved is not None and step.moved.any():
        return "Reweighted and moved", f"{ess} The particles moved besides."
    return "Reweighted", ess


def _moved(step: _Step) -> tuple[str, str]:
    length = float(np.sqrt((step.total**2).sum(axis=1)).mean())
    what = f"The {step.noun}" if len(step.total) == 1 else f"On average a {step.noun}"
    return "Moved", f"{what} moved by {number(length)}."


def _decided(step: _Step) -> tuple[str, str]:
    moved = int(step.moved.sum())
    if len(step.total) == 1:
        return ("Accepted", "The chain moves on.") if moved else ("Rejected", "The chain stays where it is.")
    return "Accepted or rejected", f"{count(moved)} of {step.plural} moved, the others stay where they are."


def _effective(weights: np.ndarray) -> str:
    return count(round(1.0 / float((weights**2).sum())))


LIMIT = 300  # particles whose terms are shown
POINTS = 600  # of the contours before the step, which are drawn faintly or not for long
START = "Press Step or Play: then this shows what the step did to each particle."
NO_TERMS = "A step of this method is not a sum of terms."
THIS_STEP = "This step is not a sum of terms; other steps of this method are."
NOUNS = {"chain": "chain", "parametric": "mean", "structured": "particle", "particles": "particle"}  # by family
WEIGHTED = ("particles", "structured")  # families whose points have weights


def inside(
    before: Frame, after: Frame, scene: Scene, pair: Pair, limit: int = LIMIT, columns: StageColumns | None = None
) -> Mapping[str, Told]:
    """The step from the frame `before` to `after`, in the picture that `scene` makes of a pair of coordinates.

    Words, numbers and float32 arrays, for a script that draws them; with a `note` there is no more.

    Of more than `limit` particles some are shown, the heaviest among them. `columns` are the scene's of `after`, where
    they are known. This function does not change the frames.
    """
    update = after.method.update_of(after.info)
    if after.info is None or update is None:
        note = START if not after.iteration else THIS_STEP if after.method.update else NO_TERMS
        return {"iteration": after.iteration, "note": note}
    terms = [term for term in update.terms if term.name in after.info.terms]
    values = [_table(after.info.terms[term.name], pair) for term in terms]
    with np.errstate(invalid="ignore"):
        total = np.sum(values, axis=0)
    n = len(total)
    weights = _weights(after, n)
    rows = _rows(weights, n, limit)
    old = _weights(before, len(before.method.points(before.state)))
    points = np.asarray(after.method.points(after.state))  # latent ones and parameters of q have no place on the stage
    placed = bool(scene.shows_theta) and points.ndim == 2 and points.shape[1] == after.target.dim
    step = _Step(update, before, after, pair, total, weights, old, placed)
    drawn = columns or scene.columns(after, pair)
    earlier = scene.columns(before, pair)
    told: dict[str, Told] = {
        "iteration": after.iteration,
        "kind": update.kind,
        "noun": step.noun,
        "size": n,
        "title": f"Iteration {count(after.iteration)}: {after.info.words}",
        "sum": {"title": update.title, "formula": update.formula, "unit": update.unit},
        "terms": [
            {**term_words(term, after.info.numbers), "values": _components(value[rows])}
            for term, value in zip(terms, values, strict=True)
        ],
        "total": _components(total[rows]),
        "components": [] if total.shape[1] == 1 else [after.target.parameter_names[k] for k in pair],
        "dots": _dots(step, rows),
        "old": _old(step, limit),
        "flat": after.target.dim == 1,
        "placed": step.placed,
        "axes": _axes(*scene.axes(after.target, pair, drawn.top)),
        "lines": _lines(earlier, drawn) if step.placed else {},
        "paths": drawn.paths if step.placed else {},
        "pictures": pictures(step),
        "batch": batch_picture(after),
    }
    if step.gain is not None:
        told["gain"] = np.asarray(step.gain[rows], np.float32)
    return told


def _table(values: np.ndarray, pair: Pair) -> np.ndarray:
    """A term as (n, k): one number of a row, or its coordinates in the picture."""
    values = np.asarray(values, float)
    if values.ndim == 1:
        return values[:, None]
    flat = values.reshape(len(values), -1)
    return flat[:, [k for k in pair if k < flat.shape[1]]]


def _components(values: np.ndarray) -> list[np.ndarray]:
    return [np.asarray(column, np.float32) for column in values.T]


def _weights(frame: Frame, n: int) -> np.ndarray | None:
    """Weights of n points; None where they have none."""
    fits = frame.method.family in WEIGHTED and len(frame.weights) == n
    return np.asarray(frame.weights) if fits else None


def _rows(weights: np.ndarray | None, n: int, limit: int) -> np.ndarray:
    """The rows that are shown, the heaviest among them, in rising order."""
    if weights is None:
        return data_columns.evenly(n, limit)
    return np.union1d(drawn_rows(weights, limit), [int(np.argmax(weights))])


def _dots(step: _Step, rows: np.ndarray) -> Columns:
    """The told particles: row, weights, parent and its children; where they are and where they come from."""
    found = {"row": rows}
    if step.weights is not None:
        found["weight"] = step.weights[rows]
        if step.old is not None and (origins := step.origins(rows, len(step.old))) is not None:
            found["weight0"] = step.old[origins]
    if step.parents is not None:
        found["parent"] = step.origins(rows, 0)
        found["children"] = np.bincount(step.parents)[found["parent"]]
    if step.placed:
        found |= _way(step, rows)
    return _single(found)


def _way(step: _Step, rows: np.ndarray) -> Columns:
    """Where points of some rows are, and, where that is known, where they come from."""
    now, then = _places(step.after, step.pair)[rows], None
    if step.update.kind == "move":
        then = now - step.total[rows]
    else:
        places = _places(step.before, step.pair)
        origins = step.origins(rows, len(places))
        then = None if origins is None else places[origins]
    found = dict(zip(("x", "y"), now.T, strict=False))
    return found if then is None else found | dict(zip(("x0", "y0"), then.T, strict=False))


def _old(step: _Step, limit: int) -> Columns:
    """Some of the points before the step, where the step redrew them: places, weights and children."""
    if not step.placed or not step.redrawn:
        return {}
    places = _places(step.before, step.pair)
    rows = _rows(step.old, len(places), limit)
    found = dict(zip(("x", "y"), places[rows].T, strict=False))
    if step.old is not None:
        found["weight"] = step.old[rows]
    if step.parents is not None:
        found["children"] = np.bincount(step.parents, minlength=len(places))[rows]
    return _single(found)


def _places(frame: Frame, pair: Pair) -> np.ndarray:
    """The points in the coordinates of the picture, (n, 2) or (n, 1)."""
    points = np.asarray(frame.method.points(frame.state), float)
    return points[:, [k for k in pair if k < points.shape[1]]]


def _axes(x: Axis, y: Axis) -> Mapping[str, Told]:
    return {"x": [float(x.low), float(x.high)], "y": [float(y.low), float(y.high)], "labels": [x.label, y.label]}


def _lines(earlier: StageColumns, drawn: StageColumns) -> dict[str, Columns]:
    return {"exact": drawn.exact, "before": _thinned(earlier.approximate), "after": drawn.approximate}


def _thinned(line: Columns) -> Columns:
    """A line with gaps, of at most about so many points: every k-th of each piece, and its ends."""
    gaps = np.isnan(line["x"])
    if len(gaps) <= POINTS:
        return line
    every = -(-len(gaps) // POINTS)
    ends = np.convolve(gaps, [1, 1, 1], "same") > 0
    rows = np.flatnonzero(ends | (np.arange(len(gaps)) % every == 0))
    return {name: values[rows] for name, values in line.items()}


def base64_floats(name: str, values: np.ndarray) -> Json:
    """An array as base64 of 32-bit floats."""
    return {"f4": base64.b64encode(np.asarray(values, "<f4").tobytes()).decode()}


def payload(told: Told, put: Put = base64_floats, name: str = "") -> Json:
    """What `inside` found, or a part of it with a name, as plain JSON values; each array is what `put` makes of it."""
    if isinstance(told, np.ndarray):
        return put(name, told)
    if isinstance(told, Mapping):
        return {key: payload(value, put, key) for key, value in told.items()}
    if isinstance(told, Sequence) and not isinstance(told, str):
        return [payload(value, put, name) for value in told]
    return told
