"""Files are written aside and moved into place: a full disk leaves no half-written file; devices are written into."""

from __future__ import annotations

import contextlib
import errno
import json
import math
import os
import re
import secrets
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from pmdviz.errors import InputError, shown

Given = str | os.PathLike[str]
Json: TypeAlias = "None | bool | int | float | str | Sequence[Json] | Mapping[str, Json]"  # what JSON holds


def file_path(given: Given) -> Path:
    """`given` as the path of a file, "~" unfolded. Raises InputError for what no file can be called."""
    try:
        path = Path(os.path.expanduser(given))
        names_one = path.name not in ("", "..") and b"\0" not in os.fsencode(path)
    except (TypeError, ValueError):  # no path at all; a letter that no file system takes
        names_one = False
    if not names_one:
        raise InputError(f"a file needs a path that ends in its name, without zero bytes; got {shown(given)}")
    return path


PART = re.compile(r"^/[*/] == (\w+)\b.*\n", re.M)  # how a part of a script or style sheet begins: with its name


def static_text(path: Path, *parts: str) -> str:
    """The text of a script or style sheet; with `parts` the texts of its parts, in this order."""
    text = path.read_text(encoding="utf-8")
    _, *found = PART.split(text)
    named = dict(zip(found[::2], found[1::2], strict=True))
    return "".join(named[part] for part in parts) if parts else text


def script_json(value: Json) -> str:
    """JSON that may be written into a script of a page: nothing in it ends the script, or begins a comment there."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False).replace("<", "\\u003c")


def real_path(path: Path) -> Path:
    """The target of a symbolic link; any other path as it is."""
    return Path(os.path.realpath(path)) if os.path.islink(path) else path


@contextlib.contextmanager
def atomic_write(given: Given) -> Iterator[Path]:
    """A name to write a file to, which is at `given` when the block has ended; there is none if anything fails.

    A file that is there is replaced at once, and so is the one that a symbolic link names. Into a device or a FIFO the
    content is copied. An OSError, of the block too, becomes an InputError.
    """
    path = file_path(given)
    try:
        with _into_stream(path) if _is_stream(path) else _into_place(real_path(path)) as part:
            yield part
    except OSError as error:
        raise _cannot_write(path, error) from error


@contextlib.contextmanager
def _into_place(path: Path) -> Iterator[Path]:
    part = path.with_name(f".{path.name[:50]}.{secrets.token_hex(4)}.part")  # unique, and not too long
    try:
        yield part
        part.replace(path)
    finally:
        with contextlib.suppress(OSError):  # a missing folder, a name too long: the first error says it
            part.unlink()


@contextlib.contextmanager
def _into_stream(path: Path) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="pmdviz-") as folder:
        part = Path(folder) / "part"
        yield part
        with part.open("rb") as content, path.open("wb") as stream:
            shutil.copyfileobj(content, stream)


def _is_stream(path: Path) -> bool:
    """Whether a device, a FIFO or a socket is at `path`. OSError for a path that cannot exist at all."""
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


def check_writable(given: Given) -> Path:
    """`given` as the path of a file that can be written, as far as that shows beforehand. Raises InputError."""
    path = file_path(given)
    named, folder = shown(str(path), 200), real_path(path).parent
    inside = shown(str(folder), 200)
    try:
        if not folder.is_dir():
            raise InputError(f"cannot write {named}: no such folder {inside}; create it first")
        if path.is_dir():
            raise InputError(f"cannot write {named}: it is a folder; give the path of a file")
        if _is_stream(path):
            return path
        if not os.access(folder, os.W_OK):
            raise InputError(f"cannot write {named}: you may not write to the folder {inside}; choose another")
    except OSError as error:
        raise _cannot_write(path, error) from error
    return path


def made_folder(given: str) -> Path:
    """The folder of that name, which is created where it is missing. Raises InputError."""
    if not given:
        raise InputError("this needs the name of a folder, such as public, or . for the present one; got ''")
    try:
        Path(given).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot write to {shown(given, 200)}: {error.strerror}; name another folder") from error
    return Path(given)


def check_html_path(given: str, what: str) -> Path:
    """`given` as the path of a file that can be written and ends in .html. Raises InputError."""
    path = check_writable(given)
    if path.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"{what} writes a file that ends in .html, such as {what}.html; got {shown(given)}")
    return path


def check_text_path(given: str | None) -> None:
    """Raise InputError where `write_text` would: before the work is done. None means no file."""
    if given is not None and given != "-":
        check_writable(given)


def _cannot_write(path: Path, error: OSError) -> InputError:
    why = "the disk is full" if error.errno in (errno.ENOSPC, errno.EDQUOT) else error.strerror or str(error)
    return InputError(f"cannot write {shown(str(path), 200)}: {why}")


def put_text(path: Given, text: str) -> None:
    """Write a file that holds `text`. Raises InputError if that fails."""
    with atomic_write(path) as part:
        part.write_text(text, encoding="utf-8")


def write_text(path: str, text: str) -> None:
    """Write `text` and a line end to `path`, or to standard output for "-". Raises InputError if that fails."""
    if path == "-":
        sys.stdout.write(f"{text}\n")
    else:
        put_text(path, f"{text}\n")


def write_json(path: str, value: Json) -> None:
    """Write `value` as valid JSON to `path`, or on one line to standard output for "-". Raises InputError."""
    to_terminal = path == "-"  # which may not have every letter
    write_text(path, json.dumps(value, indent=None if to_terminal else 1, ensure_ascii=to_terminal, allow_nan=False))


def finite(value: Json) -> Json:
    """The value, or None for NaN and infinity, which JSON does not have; of mappings and lists all that is in them."""
    if isinstance(value, Mapping):
        return {name: finite(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
