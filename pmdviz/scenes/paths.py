"""How a method moves, as segments: the way of a chain, the arrows of a force, the ellipses of Gaussians.

What there is to draw a method says itself: by its family, the density of its frame, and the `paths` of its step.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from pmdviz.methods import Method
from pmdviz.scenes.columns import EMPTY_LINE, EMPTY_PATHS

TRAIL, FAINTEST = 40, 0.08  # draws of a chain that leave a trace, and the opacity of its oldest part
ELLIPSES, CORNERS = 24, 28  # components that have one, and its corners
LONGEST = 0.08  # length of the longest arrow, in sides of the picture
HEAD, ANGLE = 0.3, 0.45  # of an arrow: its length in arrows, and its angle in radians
OF_TRAIL, OF_GAUSSIANS, OF_STEP = 0, 1, 2  # kinds of segments; from OF_STEP on the method's own, in their order
COLOURS = ("purple", "gold")  # of the method's own, in words; `style.paths` has them

Pair = tuple[int, int]


class Segments(NamedTuple):
    """Straight pieces of one kind in the picture's plane."""

    lines: np.ndarray  # (n, 2, 2): from and to, each a point
    kind: int
    opacity: np.ndarray | float = 1.0


def path_words(method: Method) -> str:
    """What the paths of a method are called in a legend; "" for a method without any."""
    if method.family == "parametric":
        return "1 sd of each Gaussian"
    own = [f"{path.words} ({colour})" for path, colour in zip(method.paths, COLOURS, strict=False)]
    trail = [f"last {TRAIL} draws" if not own else "path"] if method.family == "chain" else []
    return ", ".join([*trail, *own])


def path_columns(frame: Any, pair: Pair, side: float) -> dict[str, np.ndarray]:
    """The segments of a frame in two of its coordinates; `side` is the picture's, in their units."""
    method, chosen, parts = frame.method, list(pair), []
    if method.family == "chain":
        parts += [_trail(draws[:, chosen]) for draws in method.trails(frame.state, TRAIL + 1)]
    if method.family == "parametric":
        parts.append(_ellipses(frame.density, chosen))
    drawn = frame.info.paths() if frame.info is not None and method.paths else {}
    own = [(path.arrow, Segments(drawn[path.name][..., chosen], OF_STEP + k))
           for k, path in enumerate(method.paths) if path.name in drawn]  # fmt: skip
    scale = _arrow_scale([part.lines for arrow, part in own if arrow], side)
    return segment_columns([*parts, *(_arrows(part, scale) if arrow else part for arrow, part in own)])


def newest_draws(frame: Any, pair: Pair) -> dict[str, np.ndarray]:
    """Where each chain of a chain method stands; nothing of other families."""
    if frame.method.family != "chain":
        return EMPTY_LINE
    points = np.concatenate([draws[:, list(pair)] for draws in frame.method.trails(frame.state, 1)]).astype(np.float32)
    return {"x": points[:, 0].copy(), "y": points[:, 1].copy()}


def _trail(draws: np.ndarray) -> Segments:
    """The way from draw to draw (n, 2), the older the fainter."""
    lines = np.stack([draws[:-1], draws[1:]], axis=1)
    return Segments(lines, OF_TRAIL, np.linspace(FAINTEST, 1.0, TRAIL)[TRAIL - len(lines) :])


def _ellipses(density: Any, chosen: list[int]) -> Segments:
    """One sd of the Gaussians that q is made of; of many some, evenly chosen."""
    rows = np.linspace(0, len(density.centres) - 1, min(ELLIPSES, len(density.centres))).astype(np.int64)
    factors = density.choleskys[rows][:, chosen]  # (k, 2, d)
    roots = np.linalg.cholesky(np.einsum("kid,kjd->kij", factors, factors))
    turns = np.linspace(0, 2 * np.pi, CORNERS + 1)
    round_ = np.stack([np.cos(turns), np.sin(turns)], axis=1)
    points = density.centres[rows][:, chosen][:, None] + np.einsum("kij,nj->kni", roots, round_)
    return Segments(np.stack([points[:, :-1], points[:, 1:]], axis=2).reshape(-1, 2, 2), OF_GAUSSIANS)


def _arrow_scale(forces: list[np.ndarray], side: float) -> float:
    """One factor for all arrows of a step: the longest has `LONGEST` of the side."""
    lengths = [np.hypot(*(lines[:, 1] - lines[:, 0]).T).max(initial=0.0) for lines in forces]
    longest = max(lengths, default=0.0)
    return LONGEST * side / longest if longest > 0 else 0.0


def _arrows(part: Segments, scale: float) -> Segments:
    """The shafts of arrows, and the two sides of each head."""
    start, way = part.lines[:, 0], scale * (part.lines[:, 1] - part.lines[:, 0])
    end, turned = start + way, [_turned(way, angle) for angle in (ANGLE, -ANGLE)]
    heads = [np.stack([end, end - HEAD * back], axis=1) for back in turned]
    return part._replace(lines=np.concatenate([np.stack([start, end], axis=1), *heads]))


def _turned(way: np.ndarray, angle: float) -> np.ndarray:
    cos, sin = np.cos(angle), np.sin(angle)
    return way @ np.array([[cos, sin], [-sin, cos]])


def segment_columns(parts: Iterable[Segments]) -> dict[str, np.ndarray]:
    """All segments below one another."""
    found = [part for part in parts if len(part.lines)]
    if not found:
        return EMPTY_PATHS
    lines = np.concatenate([part.lines for part in found]).reshape(-1, 4).T.astype(np.float32)
    opacity = [np.broadcast_to(part.opacity, len(part.lines)) for part in found]
    kind = [np.full(len(part.lines), part.kind) for part in found]
    rest = [np.concatenate(each).astype(np.float32) for each in (opacity, kind)]
    return dict(zip(EMPTY_PATHS, [*(np.ascontiguousarray(line) for line in lines), *rest], strict=True))
