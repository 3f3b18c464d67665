"""Where the slope triangles of a chart stand: in a corner that is free, or in room made for them below the data.

Coordinates are shares of the axes, 0 to 1. Triangles of one sign share a corner and their upright sides, so that slopes
can be compared; what they mean stands in the legend.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

WIDTH, HEIGHT = 0.26, 0.3  # of the largest triangle
EDGE = 0.04  # between a triangle and everything else
FALLING = ((0, 0), (1, 1), (1, 0), (0, 1))  # corners (right?, top?) in the order in which they are tried
RISING = ((1, 0), (0, 1), (0, 0), (1, 1))


class Block(NamedTuple):
    """Triangles of one sign."""

    numbers: list[int]  # which of the slopes
    slants: list[np.ndarray]  # (2, 2) each: u of both ends, v of both ends
    leg: np.ndarray  # (2, n): u and v along the other sides


def placed(
    slopes: Sequence[tuple[str, float]], lengths: tuple[float, float], obstacles: np.ndarray
) -> tuple[list[Block], float]:
    """Blocks of triangles, and the share of the chart's height that was added at the bottom to make room."""
    blocks: list[Block] = []
    room = 0.0
    for rising, corners in ((False, FALLING), (True, RISING)):
        numbers = [k for k, (_, slope) in enumerate(slopes) if (slope > 0) == rising]
        if not numbers:
            continue
        steep = [slopes[k][1] * lengths[0] / lengths[1] * (1 - room) for k in numbers]
        taken = np.concatenate([obstacles, *(_outline(block) for block in blocks)])
        corner = next((each for each in corners if _is_free(steep, each, taken)), None)
        if corner is None:
            more = _size(steep)[1] + 2 * EDGE
            blocks = [_lifted(block, more) for block in blocks]
            obstacles = np.column_stack([obstacles[:, 0], more + (1 - more) * obstacles[:, 1]])
            steep, corner = [each * (1 - more) for each in steep], corners[0]
            if blocks and not _is_free(steep, corner, np.concatenate([_outline(block) for block in blocks])):
                corner = corners[2]
            room += more * (1 - room)
        blocks.append(_block(numbers, steep, corner))
    return blocks, room


def extended(start: float, length: float, room: float) -> float:
    """Where an axis begins that gets a share `room` of its new length more at the bottom."""
    return start - length * room / (1 - room)


def _size(steep: Sequence[float]) -> tuple[float, float]:
    widths = [_width(each) for each in steep]
    return max(widths), max(abs(each) * width for each, width in zip(steep, widths, strict=True))


def _width(steep: float) -> float:
    return min(WIDTH, HEIGHT / max(abs(steep), 1e-12))


def _box(steep: Sequence[float], corner: tuple[int, int]) -> tuple[float, float, float, float]:
    """Left, right, bottom and top of a block in a corner."""
    width, height = _size(steep)
    left = 1 - EDGE - width if corner[0] else EDGE
    bottom = 1 - EDGE - height if corner[1] else EDGE
    return left, left + width, bottom, bottom + height


def _is_free(steep: Sequence[float], corner: tuple[int, int], taken: np.ndarray) -> bool:
    left, right, bottom, top = _box(steep, corner)
    u, v = taken[:, 0], taken[:, 1]
    return not ((u > left - EDGE) & (u < right + EDGE) & (v > bottom - EDGE) & (v < top + EDGE)).any()


def _block(numbers: list[int], steep: Sequence[float], corner: tuple[int, int]) -> Block:
    """From the upper left for slopes that fall, from the lower left for those that rise."""
    left, _, bottom, top = _box(steep, corner)
    from_v = bottom if max(steep) > 0 else top
    slants = []
    for each in steep:
        width = _width(each)
        slants.append(np.array([[left, left + width], [from_v, from_v + each * width]]))
    ends_u, ends_v = (np.array([slant[k, 1] for slant in slants]) for k in (0, 1))
    far = int(np.argmax(np.abs(ends_v - from_v)))
    leg = np.array([[left, ends_u.max(), ends_u[far], ends_u[far]], [from_v, from_v, from_v, ends_v[far]]])
    return Block(numbers, slants, leg)


def _outline(block: Block) -> np.ndarray:
    corners = np.concatenate([block.leg, *block.slants], axis=1)
    (left, bottom), (right, top) = corners.min(axis=1), corners.max(axis=1)
    u, v = np.meshgrid(np.linspace(left, right, 12), np.linspace(bottom, top, 12))
    return np.column_stack([u.ravel(), v.ravel()])


def _lifted(block: Block, room: float) -> Block:
    """The same block once the chart has become higher by that share."""

    def up(line: np.ndarray) -> np.ndarray:
        return np.array([line[0], room + (1 - room) * line[1]])

    return Block(block.numbers, [up(slant) for slant in block.slants], up(block.leg))
