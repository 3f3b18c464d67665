"""One reader of tables in text form, for the page, Python and the command line. No input is ever executed.

Pandas divides the text and reads the numbers. Done here, before and after: encodings, comment lines, the delimiter,
decimal commas, and a sentence with line and column for what cannot be read.
"""

from __future__ import annotations

import codecs
import csv
import io
import itertools
import re
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import IO, TYPE_CHECKING, NamedTuple

import numpy as np

from pmdviz.errors import InputError, shown

if TYPE_CHECKING:
    import pandas as pd

MOST_BYTES = 4_000_000  # of a table that a page is given; a server may allow less
MOST_ROWS, MOST_COLUMNS, LONGEST_NAME, MOST_CLASSES = 100_000, 200, 40, 100
LONGEST_LINE = 50_000_000  # characters
SAMPLE, AT_ONCE = 20, 50  # lines that tell the delimiter; that pandas is given together
NUMBERS, WORDS, EMPTY = "numbers", "words", "empty"  # kinds of columns
MISSING = frozenset(
    "|na|n/a|nan|-nan|null|none|?|-|--|.|\\n|#n/a|#na|<na>|#value!|#div/0!|#ref!|#num!|#name?|#null!".split("|")
)
ABSENT = [each for word in MISSING for each in {word, word.upper(), word.capitalize(), word.replace("nan", "NaN")}]
OTHER_FILES = {
    b"PK\x03\x04": "a workbook or an archive",
    b"\xd0\xcf\x11\xe0": "a workbook",
    b"%PDF": "a PDF",
    b"\x1f\x8b": "a compressed file",
    b"\x89PNG": "a picture",
    b"\x80": "a pickle, which is never opened",
}
FORMULAS = "=+-@ "  # what a cell begins with that spreadsheets compute
CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
COMMENT = re.compile(  # neither #N/A nor a column called #; and the head of KEEL's and Weka's files
    r"\s*#(?!(N/?A|[A-Z/0]+[!?])?\s*([,;\t|]|$))|@(relation|attribute|inputs?|outputs?|data)\b", re.IGNORECASE
)
SEPARATOR = re.compile(r"sep=([,;\t|])\s*")  # the first line of some spreadsheets' files
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
DECIMAL_COMMA = re.compile(r"[+-]?((\d+|\d{1,3}(\.\d{3})+),\d*|,\d+)([eE][+-]?\d+)?")  # 1,5 and 1.234,5 and ,5
THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d*)?")  # 1,234 and 1,234.5
GROUPED = re.compile(r"[+-]?\d{1,3}(\.\d{3})+")  # 1.234, where other cells are 1.234,5
TRUTHS = {"true": 1.0, "false": 0.0}


@dataclass(frozen=True)
class Column:
    """A column as it was brought: its numbers (n,), NaN where there is none, or its words, None where there is none."""

    name: str
    kind: str  # NUMBERS, WORDS or EMPTY
    numbers: np.ndarray = field(repr=False)
    words: np.ndarray | None = field(default=None, repr=False)  # of a column that is not all numbers
    misfit: str = ""  # of a column of words with a number among them: "'x' in line 3"
    note: str = ""

    @property
    def cells(self) -> np.ndarray:
        """Its numbers or its words (n,)."""
        return self.numbers if self.words is None else self.words

    @cached_property
    def there(self) -> np.ndarray:
        """Which rows (n,) have one."""
        return np.isfinite(self.numbers) if self.words is None else self.words != None  # noqa: E711

    @cached_property
    def known(self) -> np.ndarray:
        """Those of the rows that have one."""
        return self.cells[self.there]

    @cached_property
    def values(self) -> tuple[str, ...]:
        """The different ones, sorted, as far as MOST_CLASSES + 1 of them."""
        found = np.unique(self.known) if self.words is None else sorted({*self.known})
        return tuple(f"{value:g}" if self.words is None else value for value in found[: MOST_CLASSES + 1])

    @property
    def missing(self) -> int:
        """How many rows have none."""
        return len(self.numbers) - len(self.known)

    @cached_property
    def counts_rows(self) -> bool:
        """Whether it is 1, 2, 3, ... down the rows."""
        known = self.known
        return len(known) > 2 and known[0] in (0, 1) and bool((np.diff(known) == 1).all())

    @property
    def said(self) -> str:
        """Its kind in words, such as "two words: no, yes"."""
        missing = f", {self.missing:,} missing" if self.missing and self.kind != EMPTY else ""
        if self.kind == WORDS and len(self.values) == 2:
            return f"two words: {', '.join(cut(value) for value in self.values)}{missing}"
        return f"{self.kind}{missing}{self.note}"


@dataclass(frozen=True)
class Cells:
    """A table as it was brought: its columns, all of one length, and its first rows as texts."""

    columns: tuple[Column, ...]
    first: list[list[str]] = field(default_factory=list)
    words: bool = False  # whether columns of words are inputs, the last column is the outcome: UCI's files

    def __len__(self) -> int:
        return len(self.columns[0].numbers)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its columns."""
        return tuple(column.name for column in self.columns)


def cut(text: str) -> str:
    """A text as a page shows it in a cell."""
    return text if len(text) <= 24 else f"{text[:23]}…"


class Limits(NamedTuple):
    """How large a table may be: an endless one is refused in time."""

    bytes: int
    rows: int = MOST_ROWS
    columns: int = MOST_COLUMNS


def read_cells(source: bytes | str | IO[bytes], limits: Limits | None = None, uci: bool = False) -> Cells:
    """The table of a text: a file that is open for reading, its bytes, or pasted rows.

    Cells are divided by commas, semicolons, tabs, bars or spaces. The first row names the columns if no cell of it is a
    number; a header that is one cell short leaves out the names of the rows. Comment lines (#), blank lines, a byte
    order mark and spaces around a cell are left out. Of the files of UCI's repository (`uci`) so are lines that begin
    with a bar and the full stop that ends a line. Raises InputError with one sentence if it is not a table.
    """
    limits = limits or Limits(MOST_BYTES)
    if isinstance(source, str):
        source = source.encode("utf-8", "replace")
    if isinstance(source, bytes):
        if len(source) > limits.bytes:
            raise InputError(f"a table may have at most {limits.bytes:,} bytes here; this one has {len(source):,}")
        source = io.BytesIO(source)
    lines = _Lines(source, limits, uci)
    names, first = lines.begin()
    frame = _frame(lines)
    style = "us" if lines.delimiter == "," else "eu"
    return Cells(_columns(names or [""] * len(first[0]), frame, style, lines.numbers), first, uci)


def cells_of(frame: pd.DataFrame) -> Cells:
    """A data frame as the table that its CSV file would be; its index is left out."""
    if 0 in frame.shape:
        raise InputError(f"a data frame needs rows and columns; this one has shape {frame.shape}")
    return Cells(_columns([str(name) for name in frame.columns], frame, "us", range(1, len(frame) + 1), "row"))


class _Lines:
    """The lines of a text without comments and blank ones; `read` is what pandas takes them by."""

    def __init__(self, file: IO[bytes], limits: Limits, uci: bool) -> None:
        self.limits, self.uci, self.delimiter = limits, uci, ","
        self.numbers = array("q")  # in the file, of the line that each row begins in
        self._kept, self._width, self._comment = self._plain(file), 0, ""

    def begin(self) -> tuple[list[str], list[list[str]]]:
        """Names of the columns, [] where there are none, and the first rows; the delimiter is found."""
        sample = [*itertools.islice(self._kept, SAMPLE)]
        given = SEPARATOR.fullmatch(sample[0][1]) if sample else None
        sample = sample[1:] if given else sample
        if not sample:
            raise InputError("the table is empty; give rows of numbers, such as 'height,weight' and '170,65' below it")
        texts = [text for _, text in sample]
        self.delimiter = given[1] if given else _delimiter(texts)
        (head, taken), *rest = _split(texts, self.delimiter)
        rows = [row for row, _ in rest]
        names = [cell[1:-1] if len(cell) > 2 and cell[0] == cell[-1] == "'" else cell for cell in head]
        if not _is_header(head, rows):
            rows, names, taken = [head, *rows], [], 0
        elif not rows:
            raise InputError("the table has names of columns and no rows; give at least one row of numbers")
        elif len(rows[0]) == len(head) + 1 and self.delimiter != ",":
            names = ["", *names]  # as R writes the names of rows
        if not names and self._comment:  # as NumPy writes them
            said = _split([self._comment.lstrip("# ")], self.delimiter)[0][0]
            names = said if len(said) == len(rows[0]) and not any(map(_is_number, said)) else []
        if len(names) > 1 and not names[0]:
            names[0] = "row"
        self._width = len(names or rows[0])
        if self._width > self.limits.columns:
            raise InputError(f"a table may have at most {self.limits.columns:,} columns; this one has {self._width:,}")
        self._kept = itertools.chain(sample[taken:], self._kept)
        self._rows = self._checked()
        return names, rows[:8]

    def read(self, size: int = -1) -> str:
        """The next lines, whatever their size. Raises InputError for a row of another length."""
        return "".join(itertools.islice(self._rows, AT_ONCE))

    def __iter__(self) -> Iterator[str]:
        return iter(())  # pandas wants one, and reads

    def _checked(self) -> Iterator[str]:
        inside = False  # a quoted cell that has begun in an earlier line
        for number, line in self._kept:
            line = _joined(line) if self.delimiter == " " else line
            if inside:
                inside = not line.count('"') % 2
            else:
                self.numbers.append(number)
                if len(self.numbers) > self.limits.rows:
                    raise too_long()
                count, inside = self._count(line)
                if not inside and count != self._width:
                    words = f"{count} cells, and the first has {self._width}; make them equal"
                    raise InputError(f"line {number:,} has {words}")
            yield line

    def _count(self, line: str) -> tuple[int, bool]:
        """How many cells a line has, and whether the last of them goes on in the next line."""
        if '"' not in line:
            return line.count(self.delimiter) + 1, False
        try:
            return len(next(csv.reader([line], delimiter=self.delimiter, skipinitialspace=True, strict=True))), False
        except csv.Error as error:
            if "end of data" in str(error):
                return 0, True
            raise InputError(f"line {self.numbers[-1]:,} cannot be read: {error}") from None

    def _plain(self, file: IO[bytes]) -> Iterator[tuple[int, str]]:
        start = file.read(8)
        file.seek(0)
        if found := next((words for mark, words in OTHER_FILES.items() if start.startswith(mark)), ""):
            raise InputError(f"this is {found}, not a table in text form: save the table as CSV first")
        wide = start.startswith((b"\xff\xfe", b"\xfe\xff"))
        encoding, errors = ("utf-16", "strict") if wide else ("utf-8-sig", "windows")
        size, began = 0, False
        with io.TextIOWrapper(file, encoding, errors) as text:
            for number in itertools.count(1):
                try:
                    line = text.readline(LONGEST_LINE)
                except UnicodeDecodeError:
                    words = "it begins like UTF-16, and the rest is not UTF-16; save it as UTF-8"
                    raise InputError(f"this is not text: {words}") from None
                if not line:
                    return
                size += len(line)
                if size > self.limits.bytes or len(line) == LONGEST_LINE:
                    words = f"it unpacks to more than {self.limits.bytes:,} bytes, or to an endless line"
                    raise InputError(f"{words}; give a part of it")
                line = line.replace("\u2212", "-").removeprefix("\ufeff").rstrip("\x1a\n")  # Ctrl-Z ended a file once
                if odd := CONTROL.search(line):
                    words = f"it holds the control character {odd[0]!r}; save the table as CSV first"
                    raise InputError(f"this is not text: {words}")
                if COMMENT.match(line):
                    self._comment = self._comment if began else line
                elif line.strip() and not (self.uci and line.startswith("|")):
                    began = True
                    yield number, f"{line.rstrip().removesuffix('.') if self.uci else line}\n"


def _windows(error: UnicodeError) -> tuple[str, int]:
    """Bytes that are not UTF-8 as the characters of Windows."""
    assert isinstance(error, UnicodeDecodeError)
    return error.object[error.start : error.end].decode("cp1252", "replace"), error.end


codecs.register_error("windows", _windows)


def _joined(line: str) -> str:
    return f"{' '.join(line.split())}\n"


def _split(lines: Sequence[str], delimiter: str) -> list[tuple[list[str], int]]:
    """Rows of cells, and up to which line each goes."""
    reader = csv.reader(map(_joined, lines) if delimiter == " " else lines, delimiter=delimiter, skipinitialspace=True)
    try:
        return [([cell.strip() for cell in row], reader.line_num) for row in reader]
    except csv.Error as error:
        raise InputError(f"row {reader.line_num} cannot be read: {error}") from None


def _delimiter(lines: Sequence[str]) -> str:
    """The delimiter that divides lines into equally many cells, more than one; a header may be one cell short."""
    if "," not in lines[0] and len(lines) > 1 and all(DECIMAL_COMMA.fullmatch(line.strip()) for line in lines[1:]):
        return "\t"  # one column with decimal commas
    words = [cell for row, _ in _split(lines[1:] or lines, " ") for cell in row]
    numbers = sum(_is_number(word) or word.lower() in MISSING for word in words)
    spaced = len(words) > len(lines[1:] or lines) and 2 * numbers >= len(words)  # words have spaces too
    for delimiter in (*";\t|,", *([" "] if spaced else [])):  # commas may be decimal commas: the others go first
        rows = [row for row, _ in _split(lines, delimiter)]
        rows = rows[:-1] if len(rows) > 2 and len(lines) == SAMPLE else rows  # the last may continue
        widths = {len(row) for row in rows[1:]} or {len(rows[0])}
        short = len(rows[0]) + 1 in widths and delimiter != "," and not any(map(_is_number, rows[0]))
        if len(widths) == 1 and widths != {1} and (short or {len(rows[0])} == widths):
            return delimiter
    best = max(",;\t|", key=lines[0].count)
    best = best if 2 * sum(best in line for line in lines) > len(lines) else ","
    return " " if spaced and best not in lines[0] else best


def _frame(lines: _Lines) -> pd.DataFrame:
    """The rows as pandas reads them: a column is of numbers, or of texts."""
    import pandas as pd  # a third of a second, and few runs read a table

    exact = {} if pd.__version__ >= "3.1" else {"float_precision": "round_trip"}
    try:
        return pd.read_csv(
            lines, sep=lines.delimiter, header=None, keep_default_na=False, na_values=ABSENT, skipinitialspace=True,
            skip_blank_lines=False, low_memory=False, engine="c", **exact,
        )  # fmt: skip
    except pd.errors.ParserError as error:
        if "EOF inside string" in str(error):
            opened = f"{lines.numbers[-1]:,}"
            raise InputError(f"the quote that opens in line {opened} does not close; add the closing quote") from None
        raise InputError(f"it cannot be read as a table: {' '.join(str(error).split())[:120]}") from None


def _columns(
    names: Sequence[str], frame: pd.DataFrame, usual: str, at: Sequence[int], unit: str = "line"
) -> tuple[Column, ...]:
    """The columns of a frame; a number with a comma is read as others of its column, of the table, or as is `usual`."""
    texts = [_texts(frame.iloc[:, k]) for k in range(frame.shape[1])]
    styles = [_style(each[1]) if isinstance(each, tuple) else "" for each in texts]
    known = next(filter(None, styles), "")
    return tuple(
        _of_texts(name, *each, style or known, usual, at, unit)
        if isinstance(each, tuple)
        else Column(name, NUMBERS if np.isfinite(each).any() else EMPTY, each)
        for name, each, style in zip(safe_names(names), texts, styles, strict=True)
    )


def _texts(series: pd.Series) -> np.ndarray | tuple[np.ndarray, list[str]]:
    """The numbers of a column, or of texts the code (n,) of each, -1 where there is none, and the different ones."""
    import pandas as pd

    if pd.api.types.is_numeric_dtype(series.dtype) and not pd.api.types.is_complex_dtype(series.dtype):
        numbers = series.to_numpy(dtype=float, na_value=np.nan)
        if not np.isinf(numbers).any():
            return numbers
    codes, different = pd.factorize(series.to_numpy(dtype=object))
    texts = [str(each).strip() for each in different]
    missing = np.array([text.lower() in MISSING for text in texts] + [True])
    return np.where(missing[codes], -1, codes), texts


def _style(texts: Iterable[str]) -> str:
    """How numbers with commas are written: "eu" (1.234,5), "us" (1,234.5), or "" where the texts do not tell."""
    for text in (each for each in texts if "," in each):
        decimal, grouped = DECIMAL_COMMA.fullmatch(text), THOUSANDS.fullmatch(text)
        if bool(decimal) != bool(grouped):
            return "eu" if decimal else "us"
    return ""


def _of_texts(
    name: str, codes: np.ndarray, texts: list[str], style: str, usual: str, at: Sequence[int], unit: str
) -> Column:
    dotted = any("," in text and "." in text for text in texts)
    values = np.array([*(_number(text, style or usual, dotted) for text in texts), np.nan])
    used = np.unique(codes[codes >= 0])
    if {texts[k].lower() for k in used} <= {*TRUTHS} and len(used):
        values = np.array([*(TRUTHS.get(text.lower(), np.nan) for text in texts), np.nan])
    numbers = values[codes]
    wrong = np.flatnonzero((codes >= 0) & ~np.isfinite(numbers))
    if not len(wrong):
        unsure = next((text for text in texts if "," in text), "") if not style else ""
        note = f" ({unsure} read as {_number(unsure, usual, dotted):.9g})" if unsure else ""
        return Column(name, NUMBERS if len(used) else EMPTY, numbers, note=note)
    words = np.array([*texts, None], object)[codes]
    misfit = f"{shown(words[wrong[0]], 30)} in {unit} {at[wrong[0]]:,}"
    return Column(name, WORDS, numbers, words, misfit)


def _number(text: str, style: str, dotted: bool = False) -> float:
    if not text.isascii():
        return np.nan
    if style == "eu" and (DECIMAL_COMMA.fullmatch(text) or (dotted and GROUPED.fullmatch(text))):
        text = text.replace(".", "").replace(",", ".")
    elif style == "us" and THOUSANDS.fullmatch(text):
        text = text.replace(",", "")
    return float(text) if NUMBER.fullmatch(text) else np.nan


def _is_header(head: list[str], rows: list[list[str]]) -> bool:
    """Whether a first row is names: no number is in it, or a word above numbers, or years in order."""
    numbers = [float(cell) for cell in head if NUMBER.fullmatch(cell)]
    if not numbers and not any(map(_is_number, head)):
        return True
    years = len(numbers) > 2 and numbers[0] > 1000 and bool((np.diff(numbers) == 1).all())
    above = zip(head, *(row for row in rows if len(row) == len(head)), strict=True) if rows else ()
    return years or any(
        not _is_number(cell) and cell.lower() not in MISSING and below and all(map(_is_number, below))
        for cell, *below in above
    )


def _is_number(cell: str) -> bool:
    return bool(NUMBER.fullmatch(cell) or DECIMAL_COMMA.fullmatch(cell) or THOUSANDS.fullmatch(cell))


def too_long() -> InputError:
    """The refusal of a table with more than MOST_ROWS rows."""
    return InputError(f"a table may have at most {MOST_ROWS:,} rows, and this one has more: take a part of them")


def safe_names(cells: Sequence[str]) -> tuple[str, ...]:
    """Names that a page can show, and that no reader takes for a number or a spreadsheet for a formula, each once.

    Names so made stay as they are.
    """
    names: dict[str, None] = {}
    for k, cell in enumerate(cells, 1):
        kept = "".join(c for c in cell.replace("\u2212", "-") if c.isprintable() and c not in '#,"')  # as it is read
        name = kept.lstrip(FORMULAS)[:LONGEST_NAME].strip()
        name = f"column {name}".strip()[:LONGEST_NAME].strip() if reads_as_number(name) else name or f"column {k}"
        more = k
        while name in names:
            end = f" ({more})"
            name, more = name[: LONGEST_NAME - len(end)].strip() + end, more + 1
        names[name] = None
    return tuple(names)


def reads_as_number(cell: str) -> bool:
    """Whether any of those who read CSV files would: Python takes inf, nan and 1_000 for numbers too."""
    try:
        float(cell)
    except ValueError:
        return False
    return True
