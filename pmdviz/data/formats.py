"""The formats of files of data: each is read into one table of numbers, the class or outcome in its last column.

`.ldac` alone is word counts, a list of documents.

Tables in text form are read by `cells`, `.npy` and IDX by memory map. All but `.npy` may be compressed (`.gz`,
`.bz2`). A batch of CIFAR-10, `data_batch_1` to `data_batch_5` or `test_batch`, is a pickle, and none of what it asks
for is run.
"""

from __future__ import annotations

import bz2
import gzip
import io
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

import numpy as np

from pmdviz.data.batches import read_batch
from pmdviz.data.cells import Cells, Limits, read_cells
from pmdviz.errors import InputError, shown

MOST_BYTES = 2_000_000_000  # of a file, of what it unpacks to, and of the table in memory
MOST_CELLS = 1_000_000_000, 100_000  # rows and columns of a table in text form
COMPRESSED: dict[str, Callable[..., IO[bytes]]] = {".gz": gzip.open, ".bz2": bz2.open}
IMAGES, LABELS = 0x803, 0x801  # IDX: bytes in three dimensions and in one
IDX, BATCH = "idx3-ubyte", "_batch"
NUMBERED = re.compile(r"(_batch)_\d$")  # of several batches
LDAC = re.compile(r"\s*(\d{1,9})((?:\s+\d{1,9}:\d{1,9})*)\s*")
Documents = list[tuple[np.ndarray, np.ndarray]]  # of each the numbers of its words, and how often each occurs
Reader = Callable[[Path], np.ndarray | Documents | Cells]


def suffix_of(path: str) -> str | None:
    """The key of FORMATS that a file's name ends with, compressed or not; None for another file."""
    name = path.lower()
    for packed in COMPRESSED:
        if name.endswith(packed) and not name.removesuffix(packed).endswith(".npy"):
            name = name.removesuffix(packed)
            break
    name = NUMBERED.sub(r"\1", name)
    return next((suffix for suffix in FORMATS if name.endswith(suffix)), None)


def parsed(path: Path) -> np.ndarray | Documents | Cells:
    """The table (n, k) of a file in one of the FORMATS, of whatever numbers it holds; a table in text form as cells.

    Raises ValueError, OSError or EOFError for what is no table, and InputError where it is too large.
    """
    return FORMATS.get(suffix_of(path.name) or "", _text)(path)


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


def _text(path: Path) -> Cells:
    try:
        with _opened(path) as file:
            return read_cells(file, Limits(MOST_BYTES, *MOST_CELLS), suffix_of(path.name) == ".data")
    except InputError as error:
        raise InputError(f"file {shown(str(path))}: {error}") from None


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


def _batch(path: Path) -> np.ndarray:
    """Images (n, pixels) of a Python batch with their classes, all bytes."""
    with _opened(path) as file:
        content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise too_large(f"file {str(path)!r} unpacks to")
    return read_batch(io.BytesIO(content))


def parse_ldac(path: Path) -> Documents:
    """Documents, one a line: how many different words, then word:count for each. Raises InputError naming the line."""
    documents = []
    for number, line in enumerate(_Lines(path), 1):
        text = line.decode("utf-8", "replace").rstrip("\r\n")
        found, pairs = LDAC.fullmatch(text), [pair.split(":") for pair in text.split()[1:]]
        if not found or int(found[1]) != len(pairs) or len({int(word) for word, _ in pairs}) < len(pairs):
            raise InputError(
                f"file {shown(str(path))} has in line {number:,} no document: write the number of different words, "
                f"then word:count for each, as in '2 0:1 7:3'; given: {shown(text[:60])}"
            )
        table = np.array(pairs, dtype=float).reshape(-1, 2)
        table = table[np.argsort(table[:, 0])]
        documents.append((table[:, 0].astype(np.int64), table[:, 1]))
    if len(documents) < 2:
        raise InputError(f"file {shown(str(path))} must hold at least 2 documents; it holds {len(documents)}")
    return documents


def tokens_beside(path: Path) -> tuple[str, ...]:
    """The words of FILE.ldac, by the lines of FILE.tokens; () where there is no such file."""
    tokens = path.with_name(path.name[: path.name.lower().index(".ldac")] + ".tokens")
    return tuple(tokens.read_text(encoding="utf-8", errors="replace").split()) if tokens.exists() else ()


FORMATS: dict[str, Reader] = {
    ".csv": _text,
    ".tsv": _text,
    ".txt": _text,
    ".dat": _text,
    ".data": _text,  # as the UCI repository calls them
    ".npy": _npy,
    ".libsvm": _libsvm,
    ".svm": _libsvm,
    ".ldac": parse_ldac,
    BATCH: _batch,
    IDX: _idx,
}
