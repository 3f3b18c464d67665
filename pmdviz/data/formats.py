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
import pickletools
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from pmdviz.data.cells import Cells, Limits, read_cells
from pmdviz.errors import InputError, shown

# A Python batch of CIFAR-10: a pickle, of which nothing is run.

RECONSTRUCT, NDARRAY, DTYPE, ENCODE = "multiarray _reconstruct", "numpy ndarray", "numpy dtype", "_codecs encode"
NAMES = {
    "numpy.core.multiarray _reconstruct": RECONSTRUCT,
    "numpy._core.multiarray _reconstruct": RECONSTRUCT,
    "numpy ndarray": NDARRAY,
    "numpy dtype": DTYPE,
    "_codecs encode": ENCODE,
}
BYTES = {"u1", "uint8"}  # the types of number that an array may have
LATIN = {"BINSTRING", "SHORT_BINSTRING"}  # Python 2's texts, which are bytes
VALUES = LATIN | {
    "BININT", "BININT1", "BININT2", "INT", "LONG", "LONG1", "BINBYTES", "SHORT_BINBYTES", "BINBYTES8", "BINUNICODE",
    "SHORT_BINUNICODE", "BINUNICODE8",
}  # fmt: skip
CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
EMPTY = {"EMPTY_DICT": dict, "EMPTY_LIST": list, "EMPTY_TUPLE": tuple}
TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}
MARK = object()


class _Name(NamedTuple):
    """What an instruction names; it is never looked up."""

    name: str


class _Type:
    """A type of number, by its code."""

    def __init__(self, code: str) -> None:
        self.code = code


class _Array:
    """An array that is being built."""

    values: np.ndarray | None = None


def read_batch(file: IO[bytes]) -> np.ndarray:
    """The images of a batch and their classes, one a row (n, pixels + 1), all bytes.

    Raises ValueError for a pickle that is no such batch, before anything in it could be run.
    """
    found = _followed(file)
    if not isinstance(found, dict):
        raise ValueError("the pickle holds no dictionary of data and labels")
    parts = {_text(key): value for key, value in found.items()}
    data, labels = parts.get("data"), parts.get("labels")
    images = data.values if isinstance(data, _Array) else None
    if images is None or images.ndim != 2 or not isinstance(labels, list) or len(labels) != len(images):
        raise ValueError("the pickle must hold data, an array of bytes with a row for each image, and as many labels")
    if not all(isinstance(label, int) and 0 <= label < 256 for label in labels):
        raise ValueError("the labels of the pickle must be whole numbers from 0 to 255")
    return np.column_stack([images, np.array(labels, np.uint8)])


def _followed(file: IO[bytes]) -> Any:
    """What is left at the end."""
    stack: list[Any] = []
    memo: dict[int, Any] = {}
    try:
        for code, argument, _ in pickletools.genops(file):
            if code.name == "STOP":
                return stack.pop()
            _follow(code.name, argument, stack, memo)
    except (IndexError, KeyError, TypeError, UnicodeError) as error:
        raise ValueError(f"the pickle is broken ({error})") from None
    raise ValueError("the pickle is cut off")


def _follow(name: str, argument: Any, stack: list[Any], memo: dict[int, Any]) -> None:
    """One instruction. Raises ValueError for one that a batch has no need of."""
    if name in ("PROTO", "FRAME"):
        return
    if name in VALUES:
        stack.append(argument.encode("latin-1") if name in LATIN else argument)
    elif name in CONSTANTS:
        stack.append(CONSTANTS[name])
    elif name in EMPTY:
        stack.append(EMPTY[name]())
    elif name == "MARK":
        stack.append(MARK)
    elif name in ("PUT", "BINPUT", "LONG_BINPUT", "MEMOIZE"):
        memo[len(memo) if name == "MEMOIZE" else argument] = stack[-1]
    elif name in ("GET", "BINGET", "LONG_BINGET"):
        stack.append(memo[argument])
    elif name in TUPLES:
        stack.append(tuple(_taken(stack, TUPLES[name])))
    elif name == "TUPLE":
        stack.append(tuple(_marked(stack)))
    elif name in ("APPEND", "APPENDS"):
        values = _taken(stack, 1) if name == "APPEND" else _marked(stack)
        _checked(stack[-1], list).extend(values)
    elif name in ("SETITEM", "SETITEMS"):
        values = _taken(stack, 2) if name == "SETITEM" else _marked(stack)
        _checked(stack[-1], dict).update(zip(values[::2], values[1::2], strict=True))
    elif name in ("GLOBAL", "STACK_GLOBAL"):
        stack.append(_known(argument if name == "GLOBAL" else " ".join(map(_text, _taken(stack, 2)))))
    elif name == "REDUCE":
        stack.append(_made(*_taken(stack, 2)))
    elif name == "BUILD":
        _build(stack[-2], stack[-1])
        stack.pop()
    else:
        raise ValueError(f"it is a pickle with {name}, which no batch of images needs; nothing in it was run")


def _taken(stack: list[Any], count: int) -> list[Any]:
    if len(stack) < count:
        raise IndexError("too few values")
    values = stack[-count:]
    del stack[-count:]
    return values


def _marked(stack: list[Any]) -> list[Any]:
    at = next(k for k in range(len(stack) - 1, -2, -1) if k < 0 or stack[k] is MARK)
    if at < 0:
        raise IndexError("no mark")
    values = stack[at + 1 :]
    del stack[at:]
    return values


def _checked(value: Any, kind: type) -> Any:
    if not isinstance(value, kind):
        raise TypeError(f"{type(value).__name__} in place of {kind.__name__}")
    return value


def _text(value: Any) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else _checked(value, str)


def _known(name: str) -> _Name:
    if name not in NAMES:
        called = name.replace(" ", ".")
        raise ValueError(
            f"it is a pickle that asks for {called}, which no batch of images needs; nothing in it was run"
        )
    return _Name(NAMES[name])


def _made(what: Any, arguments: Any) -> Any:
    """What a call would give of the few names that are known."""
    name = _checked(what, _Name).name
    if name == RECONSTRUCT:
        return _Array()
    if name == DTYPE:
        return _Type(_text(arguments[0]))
    if name == ENCODE:
        return _checked(arguments[0], str).encode("latin-1")
    raise TypeError(f"a call of {name}")


def _build(thing: Any, state: Any) -> None:
    """The state of an array: a version, the shape, the type, whether by columns, the bytes; of a type nothing."""
    if isinstance(thing, _Type):
        return
    _, shape, kind, by_columns, content = _checked(state, tuple)
    code = _checked(kind, _Type).code
    if code not in BYTES:
        raise ValueError(f"the arrays of the pickle must hold bytes; given: numbers of type {code}")
    values = np.frombuffer(_checked(content, bytes), np.uint8)
    if values.size != int(np.prod([int(side) for side in shape], dtype=object)):
        raise TypeError(f"{values.size:,} bytes for shape {shape}")
    _checked(thing, _Array).values = values.reshape(shape, order="F" if by_columns else "C")


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
    return FORMATS.get(suffix_of(path.name) or "", _text_formats)(path)


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


def _text_formats(path: Path) -> Cells:
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
    ".csv": _text_formats,
    ".tsv": _text_formats,
    ".txt": _text_formats,
    ".dat": _text_formats,
    ".data": _text_formats,  # as the UCI repository calls them
    ".npy": _npy,
    ".libsvm": _libsvm,
    ".svm": _libsvm,
    ".ldac": parse_ldac,
    BATCH: _batch,
    IDX: _idx,
}
