"""Files are written to a temporary name and moved into place, so that a full disk leaves no half file."""

from __future__ import annotations

from pathlib import Path

from pmdviz.errors import InputError


def write_text(path: str, text: str) -> None:
    """Write `text` and a line end to `path`, or to standard output for "-". Raises InputError if that fails."""
    if path == "-":
        print(text)
        return
    temporary = Path(f"{path}.part")
    try:
        temporary.write_text(text + "\n", encoding="utf-8")
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise InputError(f"cannot write {path!r}: {error}") from error
