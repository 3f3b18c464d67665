"""The formats of files of data: each is read into one table of numbers, the class or outcome in its last column.

`.csv` goes line by line, `.npy` and IDX by memory map. All but `.npy` may be compressed (`.gz`, `.bz2`).
"""

from __future__ import annotations

import bz2
import gzip
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

import numpy as np

from pmdviz.errors import InputError

MOST_BYTES = 2_000_000_000  # of a file, of what it unpacks to, and of the table in memory
COMPRESSED: dict[str, Callable[..., IO[bytes]]] = {".gz": gzip.open, ".bz2": bz2.open}
IMAGES, LABELS = 0x803, 0x801  # IDX: bytes in three dimensions and in one
IDX = "idx3-ubyte"
Reader = Callable[[Path], np.ndarray]


def suffix_of(path: str) -> str | None:
    """The key of FORMATS that a file's name ends with, compressed or not; None for another file."""
    name = path.lower()
    for packed in COMPRESSED:
        if name.endswith(packed) and not name.removesuffix(packed).endswith(".npy"):
            name = name.removesuffix(packed)
            break
    return next((suffix for suffix in FORMATS if name.endswith(suffix)), None)


def parsed(path: Path) -> np.ndarray:
    """The table (n, k) of a file in one of the FORMATS, of whatever numbers it holds.

    Raises ValueError, OSError or EOFError for what is no table, and InputError where it is too large.
    """
    return FORMATS[suffix_of(path.name)](path)


def too_large(what: str) -> InputError:
    """Say that there is too much of it."""
    return InputError(f"{what} more than {MOST_BYTES:,} bytes; give its rows to a custom target")


class _Lines:
    """The lines of a file as bytes, a few at a time whatever its size; `read` is what marks it as a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> bytes:
        """All of them."""
        return b"".join(self)

    def __iter__(self) -> Iterator[bytes]:
        size = 0
        with _opened(self.path) as file:
            for line in file:
                size += len(line)
                if size > MOST_BYTES:
                    raise too_large(f"file {str(self.path)!r} unpacks to")
                yield line


def _opened(path: Path) -> IO[bytes]:
    return COMPRESSED.get(path.suffix.lower(), open)(path, "rb")


def _npy(path: Path) -> np.ndarray:
    return np.load(path, mmap_mode="r", allow_pickle=False)


def _csv(path: Path) -> np.ndarray:
    lines = iter(_Lines(path))
    first = next(lines, b"").removeprefix(b"\xef\xbb\xbf")  # the mark that some programs begin a file with
    if any(_is_number(cell) for cell in first.split(b",")):
        return np.loadtxt(_after(first, lines), delimiter=",", ndmin=2)
    return np.loadtxt(lines, delimiter=",", ndmin=2)  # without names of columns


def _after(first: bytes, lines: Iterator[bytes]) -> Iterator[bytes]:
    yield first
    yield from lines


def _is_number(cell: bytes) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _libsvm(path: Path) -> np.ndarray:
    """Lines "label index:value ...": features that a line does not name are 0."""
    try:
        from sklearn.datasets import load_svmlight_file
    except ImportError:
        raise InputError("a libsvm file needs scikit-learn: pip install 'pmdviz[data]'") from None
    features, labels = load_svmlight_file(_Lines(path))
    n, k = features.shape
    if 8 * n * (k + 1) > MOST_BYTES:
        raise too_large(f"file {str(path)!r} is a table of {n:,} x {k + 1:,} numbers, which take")
    table = np.empty((n, k + 1))
    table[:, :-1], table[:, -1] = features.toarray(), labels
    return table


def _idx(path: Path) -> np.ndarray:
    """Images (n, pixels) and, from the file of labels beside them, their classes, all bytes."""
    images, labels = _bytes_of(path, IMAGES), _bytes_of(labels_beside(path), LABELS)
    if len(images) != len(labels):
        raise ValueError(f"{len(images):,} images, but {len(labels):,} labels in {labels_beside(path).name}")
    return np.column_stack([images.reshape(len(images), -1), labels])


def labels_beside(path: Path) -> Path:
    """train-labels-idx1-ubyte for train-images-idx3-ubyte, compressed like it."""
    return path.with_name(path.name.replace("images", "labels").replace("idx3", "idx1"))


def _bytes_of(path: Path, wanted: int) -> np.ndarray:
    """The array of an IDX file: a number of type and dimensions, the sizes (big-endian), the bytes."""
    dims = wanted & 0xFF
    with _opened(path) as file:
        header = np.frombuffer(file.read(4 * (1 + dims)), ">u4")
        if len(header) != 1 + dims or header[0] != wanted:
            raise ValueError(f"{path.name} is no IDX file of bytes in {dims} dimension{'s' * (dims > 1)}")
        shape = tuple(int(size) for size in header[1:])
        size = int(np.prod(shape, dtype=object))
        if size > MOST_BYTES:
            raise too_large(f"file {str(path)!r} says that it holds")
        if path.suffix.lower() in COMPRESSED:
            found = np.frombuffer(file.read(size + 1), np.uint8)
        else:
            found = np.memmap(path, np.uint8, "r", offset=0)[4 * (1 + dims) :]
    if len(found) != size:
        raise ValueError(f"{path.name} should hold {size:,} bytes of data")
    return found.reshape(shape)


FORMATS: dict[str, Reader] = {".csv": _csv, ".npy": _npy, ".libsvm": _libsvm, ".svm": _libsvm, IDX: _idx}
