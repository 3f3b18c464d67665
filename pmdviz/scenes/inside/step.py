"""One step from the inside: what each of its terms did to each particle.

It reads what the step tells (`StepInfo.terms`, `numbers` and `parents`), and knows no method by its name.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

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
    placed = bool(scene.shows_theta) and _is_theta(after)
    drawn = columns or scene.columns(after, pair)
    earlier = scene.columns(before, pair)
    known = not update.fresh and (after.info.parents is not None or not after.info.rejuvenated)
    found = _population(update.kind, before, after, total, weights, known)
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
        "dots": _dots(update.kind, before, after, total, rows, pair, weights, placed, known),
        "old": _old(before, after, pair, limit, placed, update.fresh),
        "flat": after.target.dim == 1,
        "placed": placed,
        "axes": _axes(scene, after, pair, drawn),
        "lines": _lines(earlier, drawn) if placed else {},
        "paths": drawn.paths if placed else {},
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


def _population(
    kind: str, before: Any, after: Any, total: np.ndarray, weights: np.ndarray | None, known: bool
) -> Population:
    old = _weights(before, len(before.method.points(before.state)))
    n, gain, moved = len(total), None, None
    if kind == "weights" and weights is not None:
        kept = known and after.info.parents is None and old is not None and len(old) == n
        with np.errstate(divide="ignore", invalid="ignore"):
            gain = total[:, 0] - (np.log(old) if kept else -np.log(n))
    if kind == "ratio" or (gain is not None and kept):
        places = (frame.method.points(frame.state).reshape(n, -1) for frame in (before, after))
        moved = np.not_equal(*places).any(axis=1)
    fresh = after.method.update_of(after.info).fresh
    return Population(NOUNS[after.method.family], n, old, weights, total, gain, moved, fresh)


def _dots(
    kind: str,
    before: Any,
    after: Any,
    total: np.ndarray,
    rows: np.ndarray,
    pair: Pair,
    weights: np.ndarray | None,
    placed: bool,
    known: bool,
) -> dict[str, np.ndarray]:
    """The told particles: row, weights, parent and its children; where they are and where they come from."""
    parents, n = after.info.parents, len(total)
    found = {"row": rows}
    old = _weights(before, len(before.method.points(before.state)))
    origin = rows if parents is None else np.asarray(parents)[rows]
    if weights is not None:
        found["weight"] = weights[rows]
        if old is not None and known and (parents is not None or len(old) == n):
            found["weight0"] = old[origin]
    if parents is not None:
        found["parent"] = origin
        found["children"] = np.bincount(parents)[origin]
    if placed:
        places = _places(after, pair)
        now, then = places[rows], None
        if kind == "move":
            then = now - total[rows]
        elif known and (parents is not None or len(_places(before, pair)) == n):
            then = _places(before, pair)[origin]
        found |= dict(zip(("x", "y"), now.T, strict=False))
        found |= dict(zip(("x0", "y0"), then.T, strict=False)) if then is not None else {}
    return {name: _single(column) for name, column in found.items()}


def _old(before: Any, after: Any, pair: Pair, limit: int, placed: bool, fresh: bool) -> dict[str, np.ndarray]:
    """Some of the points before the step, where the step redrew them: places, weights and children."""
    parents = after.info.parents
    if not placed or (parents is None and not after.info.rejuvenated and not fresh):
        return {}
    places = _places(before, pair)
    weights = _weights(before, len(places))
    rows = _rows(weights, len(places), limit)
    found = dict(zip(("x", "y"), places[rows].T, strict=False))
    if weights is not None:
        found["weight"] = weights[rows]
    if parents is not None:
        found["children"] = np.bincount(parents, minlength=len(places))[rows]
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
