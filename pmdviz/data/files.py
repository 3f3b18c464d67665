"""Files of data: their formats, and the names by which recipes refer to what they hold.

The formats of files of data: each is read into one table of numbers, the class or outcome in its last column.

`.ldac` alone is word counts, a list of documents.

Tables in text form are read by `cells`, `.npy` and IDX by memory map. All but `.npy` may be compressed (`.gz`,
`.bz2`). A batch of CIFAR-10, `data_batch_1` to `data_batch_5` or `test_batch`, is a pickle, and none of the code that
it names is run.
"""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import os
import pickle
import re
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import IO, TypeGuard

import numpy as np

from pmdviz.data.cells import NUMBERS, Cells, Limits, read_cells
from pmdviz.data.tables import DIGITS, Table, held, hold
from pmdviz.errors import InputError, shown
from pmdviz.files import Json

# A Python batch of CIFAR-10: a pickle, in which four names alone are known, and those mean code of this file.


class _Array:
    """An array that is being built."""

    values: np.ndarray | None = None

    def __setstate__(self, state: tuple[int, tuple[int, ...], _Type, bool, bytes]) -> None:
        _, shape, kind, by_columns, content = state
        if kind.code not in ("u1", "uint8"):
            raise ValueError(f"the arrays of the pickle must hold bytes; got numbers of type {kind.code}")
        self.values = np.frombuffer(content, np.uint8).reshape(shape, order="F" if by_columns else "C")


class _Type:
    """A type of number, by its code."""

    def __init__(self, code: str | bytes, *_: bool) -> None:
        self.code = code.decode("latin-1") if isinstance(code, bytes) else code

    def __setstate__(self, state: tuple) -> None:
        pass


class _Unpickler(pickle.Unpickler):
    """Gives a new function for a name that batches have: no pickle can change what another one finds."""

    def find_class(self, module: str, name: str) -> Callable[..., _Array | _Type | bytes | None]:
        """Raises ValueError for any other name."""
        found: dict[str, Callable[..., _Array | _Type | bytes | None]] = {
            "numpy.core.multiarray._reconstruct": lambda *_: _Array(),
            "numpy._core.multiarray._reconstruct": lambda *_: _Array(),
            "numpy.dtype": lambda *given: _Type(*given),
            "numpy.ndarray": lambda: None,  # an argument of the first
            "_codecs.encode": lambda text, _: text.encode("latin-1"),
        }
        if (called := f"{module}.{name}") not in found:
            words = "which no batch of images needs; nothing in it was run"
            raise ValueError(f"it is a pickle that loads {called}, {words}")
        return found[called]


def read_batch(file: IO[bytes]) -> np.ndarray:
    """The images of a batch and their classes, one a row (n, pixels + 1), all bytes.

    Raises ValueError for any other pickle, before anything in it could be run.
    """
    try:
        found = _Unpickler(file, encoding="bytes").load()
    except (ValueError, MemoryError):
        raise
    except Exception as error:  # of many kinds, because the pickle is broken
        raise ValueError(f"the pickle is broken ({error})") from None
    if not isinstance(found, dict):
        raise ValueError("the pickle holds no dictionary of data and labels")
    data, labels = (found.get(name, found.get(name.encode())) for name in ("data", "labels"))
    images = data.values if isinstance(data, _Array) else None
    if images is None or images.ndim != 2 or not isinstance(labels, list) or len(labels) != len(images):
        raise ValueError("the pickle must hold data, an array of bytes with a row for each image, and as many labels")
    if not all(isinstance(label, int) and 0 <= label < 256 for label in labels):
        raise ValueError("the labels of the pickle must be whole numbers from 0 to 255")
    return np.column_stack([images, np.array(labels, np.uint8)])


MOST_BYTES = 2_000_000_000  # of a file, of what it unpacks to, and of the table in memory
MOST_CELLS = 1_000_000_000, 100_000  # rows and columns of a table in text form
COMPRESSED: dict[str, Callable] = {".gz": gzip.open, ".bz2": bz2.open}
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

    Raises ValueError, OSError or EOFError for a file that is not a table, and InputError where it is too large.
    """
    return FORMATS.get(suffix_of(path.name) or "", _text_formats)(path)


def too_large(what: str) -> InputError:
    """Say that there is too much of it."""
    return InputError(f"{what} more than {MOST_BYTES:,} bytes; give its rows to a custom target")


def _opened(path: Path) -> IO[bytes]:
    return COMPRESSED.get(path.suffix.lower(), open)(path, "rb")


def _unpacked(path: Path) -> IO[bytes]:
    """A file that is open for reading; of a compressed one all its content, if that is not too large."""
    file = _opened(path)
    if path.suffix.lower() not in COMPRESSED:
        return file
    with file:
        content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise too_large(f"file {str(path)!r} unpacks to")
    return io.BytesIO(content)


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
    with _unpacked(path) as file:
        features, labels = load_svmlight_file(file)
    n, k = features.shape
    if 8 * n * (k + 1) > MOST_BYTES:
        raise too_large(f"file {str(path)!r} is a table of {n:,} x {k + 1:,} numbers, which take")
    table = np.empty((n, k + 1))
    table[:, :-1], table[:, -1] = features.toarray(), labels
    return table


def _idx(path: Path) -> np.ndarray:
    """Images (n, pixels) and, from the file of labels next to them, their classes, all bytes."""
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
            raise ValueError(f"{path.name} is not an IDX file of bytes in {dims} dimension{'s' * (dims > 1)}")
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
    with _unpacked(path) as file:
        return read_batch(file)


def parse_ldac(path: Path) -> Documents:
    """Documents, one a line: how many different words, then word:count for each. Raises InputError naming the line."""
    documents = []
    with _unpacked(path) as file:
        lines = file.readlines()
    for number, line in enumerate(lines, 1):
        text = line.decode("utf-8", "replace").rstrip("\r\n")
        found, pairs = LDAC.fullmatch(text), [pair.split(":") for pair in text.split()[1:]]
        if not found or int(found[1]) != len(pairs) or len({int(word) for word, _ in pairs}) < len(pairs):
            form = "write the number of different words, then word:count for each, as in '2 0:1 7:3'"
            where = f"file {shown(str(path))} has in line {number:,} no document"
            raise InputError(f"{where}: {form}; got {shown(text[:60])}")
        table = np.array(pairs, dtype=float).reshape(-1, 2)
        table = table[np.argsort(table[:, 0])]
        documents.append((table[:, 0].astype(np.int64), table[:, 1]))
    if len(documents) < 2:
        raise InputError(f"file {shown(str(path))} must hold at least 2 documents; it holds {len(documents)}")
    return documents


def tokens_beside(path: Path) -> tuple[str, ...]:
    """The words of FILE.ldac, by the lines of FILE.tokens; () without such a file."""
    tokens = path.with_name(path.name[: path.name.lower().index(".ldac")] + ".tokens")
    return tuple(tokens.read_text(encoding="utf-8", errors="replace").split()) if tokens.exists() else ()


FORMATS: dict[str, Reader] = {
    **dict.fromkeys(
        (".csv", ".tsv", ".txt", ".dat", ".data"), _text_formats
    ),  # the last: as UCI's repository calls them
    ".npy": partial(np.load, mmap_mode="r", allow_pickle=False),
    **dict.fromkeys((".libsvm", ".svm"), _libsvm),
    ".ldac": parse_ldac,
    BATCH: _batch,
    IDX: _idx,
}


# Data that a person brings in a file: named in a recipe by the path and the first digits of the content's SHA-256.
#
# A served page reads no file that a visitor names; one that the process has read before stays readable.

SUFFIXES_IN_WORDS = f"{', '.join([*FORMATS][:-1])} or {[*FORMATS][-1]}"
PINNED = re.compile(rf"(.+)#([0-9a-f]{{{DIGITS}}})")
ROWS_CHECKED = 10_000

Content = np.ndarray | Documents | Cells | Table
_read: dict[str, Content] = {}  # by the pinned name
_lock = threading.RLock()
_forbidden = False


def names_file(text: Json | np.generic | bytes) -> TypeGuard[str]:
    """Whether a text is meant as the path of a file of data, pinned or not."""
    return isinstance(text, str) and suffix_of(_split(text)[0]) is not None


def holds_images(text: str) -> bool:
    """Whether a file holds images, bytes from 0 to 255."""
    return suffix_of(_split(text)[0]) in (IDX, BATCH)


def forbid_reading() -> None:
    """From here on only files that were read before can be used: this process serves pages to others."""
    global _forbidden
    _forbidden = True


def pinned(text: str) -> str:
    """`text` as "path#digits" of what the file holds now.

    Raises InputError for a file that cannot be read or that has changed since it was pinned.
    """
    with _lock:
        if text in _read or held(text) is not None:
            return text
        if _forbidden and PINNED.fullmatch(text):
            words = "a link holds data up to 2 kB; open the run's JSON file, or bring the table again"
            raise InputError(f"the data {shown(_split(text)[0])} are not here: {words}")
        if _forbidden:
            words = "use pmdviz.run, pmdviz.Lab or the command line"
            raise InputError(f"a served page cannot read files; {words}; got {shown(text)}")
        return _pin(*_split(text))


def content_of(text: str) -> Content:
    """The content of a pinned file, read once, or the table held under that name. Raises InputError as `pinned`."""
    if table := held(text):
        return table
    with _lock:
        return _read[pinned(text)]


def cells_in(path: str | os.PathLike[str]) -> Cells:
    """A file as a table in text form, whatever its name ends with. Raises InputError."""
    if _forbidden:
        raise InputError("a served page cannot read files; use pmdviz.read_table, or *Your own data* on the page")
    found = _parsed(os.fspath(path))
    if not isinstance(found, Cells):
        raise InputError(f"file {shown(os.fspath(path))} is not a table in text form; give a .csv file")
    return found


def words_of(text: str) -> tuple[str, ...]:
    """The words of a pinned file of word counts, where they are known."""
    return tokens_beside(Path(path_of(text)).expanduser())


def path_of(text: str) -> str:
    """The path of a pinned file."""
    return _split(text)[0]


def _split(text: str) -> tuple[str, str]:
    match = PINNED.fullmatch(text)
    return (match[1], match[2]) if match else (text, "")


def _pin(path: str, wanted: str) -> str:
    digits = _digest(path)
    found: Content | None = None
    if wanted and digits != wanted:  # a table as a page used it: all its numbers, however they are written
        cells = _parsed(path)
        if isinstance(cells, Cells) and all(each.kind == NUMBERS and not each.missing for each in cells.columns):
            table = hold(path, cells.names, np.column_stack([column.numbers for column in cells.columns]))
            digits, found = (wanted, table) if table.digits == wanted else (digits, None)
    if wanted and digits != wanted:
        words = f"(SHA-256 {digits}, then {wanted}); restore that version, or make a new recipe"
        raise InputError(f"file {shown(path)} has changed since the recipe was made {words}")
    name = f"{path}#{digits}"
    if name not in _read:
        found = _parsed(path) if found is None else found
        _read[name] = _checked(path, found) if isinstance(found, np.ndarray) else found
    return name


def _digest(path: str) -> str:
    """The first digits of the SHA-256 of a file, and of the labels next to its images."""
    try:
        found = hashlib.sha256()
        for file in _files(path):
            if file.stat().st_size > MOST_BYTES:
                raise too_large(f"file {shown(path)} has")
            with file.open("rb") as content:
                hashlib.file_digest(content, lambda: found)
        return found.hexdigest()[:DIGITS]
    except OSError as error:
        where = "" if error.filename is None or Path(error.filename) == _files(path)[0] else f" ({error.filename})"
        words = f"{error.strerror or error}{where}; the path starts from {os.getcwd()}"
        raise InputError(f"file {shown(path)} cannot be read: {words}") from None


def _files(path: str) -> list[Path]:
    file = Path(path).expanduser()
    return [file, labels_beside(file)] if suffix_of(path) == IDX else [file]


def _parsed(path: str) -> np.ndarray | Documents | Cells:
    try:
        return parsed(Path(path).expanduser())
    except InputError:
        raise
    except MemoryError:
        raise InputError(f"file {shown(path)} does not fit into this machine's memory; take a part of it") from None
    except (ValueError, OSError, EOFError) as error:
        words = (str(error).splitlines() or ["it is cut off"])[0]
        words = f"holds no table of numbers: {words}; give a row per line, such as 1.5,0"
        raise InputError(f"file {shown(path)} {words}") from None


def too_small(path: str, table: np.ndarray) -> InputError:
    """The refusal of a table with less than two rows or columns."""
    words = f"at least 2 rows and 2 columns; it holds {table.dtype} of shape {table.shape}"
    return InputError(f"file {shown(path)} must hold a table of numbers, {words}")


def _checked(path: str, table: np.ndarray) -> np.ndarray:
    if table.dtype.kind not in "biuf" or table.ndim != 2 or 0 in table.shape:
        raise too_small(path, table)
    rows = np.array(table, order="C")  # a copy: what happens to the file from here on changes nothing
    for start in range(0, len(rows), ROWS_CHECKED):
        bad = np.argwhere(~np.isfinite(rows[start : start + ROWS_CHECKED]))
        if len(bad):
            row, column = bad[0] + (start, 0)
            raise InputError(f"file {shown(path)} has {rows[row, column]} in row {row + 1}, column {column + 1}")
    rows.flags.writeable = False
    return rows
