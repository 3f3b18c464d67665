"""One step from the inside: what each of its terms did to each particle.

It reads what the step tells (`StepInfo.terms`, `numbers` and `parents`), and knows no method by its name.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from pmdviz.methods.step import Update
from pmdviz.scenes.columns import StageColumns, drawn_rows
from pmdviz.scenes.inside.batch import batch_picture
from pmdviz.scenes.inside.formula import sum_words, term_words
from pmdviz.scenes.inside.told import Population, pictures
from pmdviz.scenes.stage import Pair, Scene
from pmdviz.scenes.words import count

LIMIT = 300  # particles of which the terms are told
POINTS = 600  # of the contours before the step, which are drawn faintly or not for long
START = "Press Step or Play: then this shows what the step did to each particle."
NO_TERMS = "A step of this method is not a sum of terms."
THIS_STEP = "This step is not a sum of terms; other steps of this method are."
NOUNS = {"chain": "chain", "parametric": "mean", "structured": "particle", "particles": "particle"}  # by family
WEIGHTED = ("particles", "structured")  # families whose points have weights


class Inside(NamedTuple):
    """Words, numbers and float32 arrays of one step, for a script that draws them; with a `note` there is no more."""

    told: dict[str, Any]

    def payload(self, put: Callable[[str, np.ndarray], Any] | None = None) -> dict[str, Any]:
        """Plain JSON values; each array is what `put(name, array)` makes of it, by default base64 of 32-bit floats."""
        return _plain("", self.told, put or _text)


def inside(
    before: Any, after: Any, scene: Scene, pair: Pair, limit: int = LIMIT, columns: StageColumns | None = None
) -> Inside:
    """The step from the frame `before` to `after`, in the picture that `scene` makes of a pair of coordinates.

    Of more than `limit` particles a part is told, the heaviest among them. `columns` are the scene's of `after`, where
    they are known. Nothing in the frames changes.
    """
    update = after.method.update_of(after.info)
    if after.info is None or update is None:
        note = START if not after.iteration else THIS_STEP if after.method.update else NO_TERMS
        return Inside({"iteration": after.iteration, "note": note})
    terms = [term for term in update.terms if term.name in after.info.terms]
    values = [_table(after.info.terms[term.name], pair) for term in terms]
    with np.errstate(invalid="ignore"):
        total = np.sum(values, axis=0)
    n = len(total)
    weights = _weights(after, n)
    rows = _rows(weights, n, limit)
    old = _weights(before, len(before.method.points(before.state)))
    step = _Step(update, before, after, pair, total, weights, old, bool(scene.shows_theta) and _is_theta(after))
    drawn = columns or scene.columns(after, pair)
    earlier = scene.columns(before, pair)
    found = _population(step)
    told = {
        "iteration": after.iteration,
        "kind": update.kind,
        "noun": found.noun,
        "size": n,
        "title": f"Iteration {count(after.iteration)}: {after.info.words}",
        "sum": sum_words(update),
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
        "axes": _axes(scene, after, pair, drawn),
        "lines": _lines(earlier, drawn) if step.placed else {},
        "paths": drawn.paths if step.placed else {},
        "pictures": pictures(update.kind, before, after, found),
        "batch": batch_picture(after),
    }
    if found.gain is not None:
        told["gain"] = _single(found.gain[rows])
    return Inside(told)


def _table(values: np.ndarray, pair: Pair) -> np.ndarray:
    """A term as (n, k): one number of a row, or its coordinates in the picture."""
    values = np.asarray(values, float)
    if values.ndim == 1:
        return values[:, None]
    flat = values.reshape(len(values), -1)
    return flat[:, [k for k in pair if k < flat.shape[1]]]


def _components(values: np.ndarray) -> list[np.ndarray]:
    return [_single(column) for column in values.T]


def _weights(frame: Any, n: int) -> np.ndarray | None:
    """Weights of n points; None where they have none."""
    fits = frame.method.family in WEIGHTED and len(frame.weights) == n
    return np.asarray(frame.weights) if fits else None


def _rows(weights: np.ndarray | None, n: int, limit: int) -> np.ndarray:
    """The rows that are told, the heaviest among them, in rising order."""
    if weights is None:
        return np.linspace(0, n - 1, min(n, limit)).astype(np.int64)
    return np.union1d(drawn_rows(weights, limit), [int(np.argmax(weights))])


def _is_theta(frame: Any) -> bool:
    """Whether the points of the step have the target's coordinates: latent ones and parameters of q have no place."""
    points = np.asarray(frame.method.points(frame.state))
    return points.ndim == 2 and points.shape[1] == frame.target.dim


class _Step(NamedTuple):
    """What all parts of the picture ask of a step: its frames, its sums, and weights where points have some."""

    update: Update
    before: Any
    after: Any
    pair: Pair
    total: np.ndarray  # (n, k)
    weights: np.ndarray | None  # (n,) after the step
    old: np.ndarray | None  # (n0,) before it
    placed: bool  # whether points have a place on the stage

    @property
    def parents(self) -> np.ndarray | None:
        """For each point the row of the one that it was drawn from."""
        return self.after.info.parents

    @property
    def redrawn(self) -> bool:
        """Whether the points of before are no longer there."""
        return self.update.fresh or self.parents is not None or bool(self.after.info.rejuvenated)

    def origins(self, rows: np.ndarray, number: int) -> np.ndarray | None:
        """Which of the `number` points of before those of some rows were; None where that is not known."""
        if self.parents is not None:
            return np.asarray(self.parents)[rows]
        return None if self.redrawn or number != len(self.total) else rows


def _population(step: _Step) -> Population:
    n, gain, moved = len(step.total), None, None
    if step.update.kind == "weights" and step.weights is not None:
        kept = not step.redrawn and step.old is not None and len(step.old) == n
        with np.errstate(divide="ignore", invalid="ignore"):
            gain = step.total[:, 0] - (np.log(step.old) if kept else -np.log(n))
    if step.update.kind == "ratio" or (gain is not None and kept):
        places = (frame.method.points(frame.state).reshape(n, -1) for frame in (step.before, step.after))
        moved = np.not_equal(*places).any(axis=1)
    noun = NOUNS[step.after.method.family]
    return Population(noun, n, step.old, step.weights, step.total, gain, moved, step.update.fresh)


def _dots(step: _Step, rows: np.ndarray) -> dict[str, np.ndarray]:
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
    return {name: _single(column) for name, column in found.items()}


def _way(step: _Step, rows: np.ndarray) -> dict[str, np.ndarray]:
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


def _old(step: _Step, limit: int) -> dict[str, np.ndarray]:
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
    return {name: _single(column) for name, column in found.items()}


def _places(frame: Any, pair: Pair) -> np.ndarray:
    """The points in the coordinates of the picture, (n, 2) or (n, 1)."""
    points = np.asarray(frame.method.points(frame.state), float)
    return points[:, [k for k in pair if k < points.shape[1]]]


def _axes(scene: Scene, frame: Any, pair: Pair, drawn: StageColumns) -> dict[str, Any]:
    x, y = scene.ranges(frame.target, pair, drawn.top)
    return {"x": list(map(float, x)), "y": list(map(float, y)), "labels": list(scene.axis_labels(frame.target, pair))}


def _lines(earlier: StageColumns, drawn: StageColumns) -> dict[str, dict[str, np.ndarray]]:
    return {"exact": drawn.exact, "before": _thinned(earlier.approximate), "after": drawn.approximate}


def _thinned(line: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """A line with gaps, of at most about so many points: every k-th of each piece, and its ends."""
    gaps = np.isnan(line["x"])
    if len(gaps) <= POINTS:
        return line
    every = -(-len(gaps) // POINTS)
    ends = np.convolve(gaps, [1, 1, 1], "same") > 0
    rows = np.flatnonzero(ends | (np.arange(len(gaps)) % every == 0))
    return {name: values[rows] for name, values in line.items()}


def _single(values: np.ndarray) -> np.ndarray:
    return np.asarray(values, np.float32)


def _text(name: str, values: np.ndarray) -> dict[str, str]:
    return {"f4": base64.b64encode(np.asarray(values, "<f4").tobytes()).decode()}


def _plain(name: str, told: Any, put: Callable[[str, np.ndarray], Any]) -> Any:
    if isinstance(told, np.ndarray):
        return put(name, told)
    if isinstance(told, dict):
        return {key: _plain(key, value, put) for key, value in told.items()}
    if isinstance(told, list):
        return [_plain(name, value, put) for value in told]
    return told
