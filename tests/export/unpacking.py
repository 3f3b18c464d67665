"""The numbers of a player as its script reads them."""

import base64
import zlib
from copy import deepcopy

import numpy as np

from pmdviz.export.player import GAP


def unpacked(text: str) -> np.ndarray:
    planes = np.frombuffer(zlib.decompress(base64.b64decode(text)), np.uint8).astype(np.uint16)
    high, low = np.split(planes, 2)
    return high * 256 + low


def merged(base, change):
    """As the script of the page puts a change in its place."""
    if not isinstance(change, dict):
        return change
    both = dict(base) if isinstance(base, dict) else {}
    for name, part in change.items():
        both[name] = merged(both.get(name), part)
    return {name: part for name, part in both.items() if part is not None}


def opened(payload, frame, k=0):
    """The k-th picture of a frame, its columns as arrays."""
    numbers, picture = unpacked(payload["numbers"]), merged(deepcopy(payload["pictures"][k]), frame["pictures"][k])
    for mark in picture["marks"].values():
        for name, part in mark["columns"].items():
            if isinstance(part, dict):
                start, length, *scale = part["at"]
                found = numbers[start : start + length]
                if not scale:
                    low, high = np.split(found.astype("<u4"), 2)
                    mark["columns"][name] = (high << 16 | low).view("<f4")
                    continue
                low, step, *log = payload["scales"][scale[0]]
                values = np.where(found == GAP, np.nan, low + step * found)
                mark["columns"][name] = 10**values if log else values
    return picture
