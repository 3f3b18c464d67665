"""The numbers of a player as its script reads them."""

import base64
import zlib

import numpy as np


def unpacked(text: str) -> np.ndarray:
    planes = np.frombuffer(zlib.decompress(base64.b64decode(text)), np.uint8).astype(np.uint16)
    high, low = np.split(planes, 2)
    return high * 256 + low
