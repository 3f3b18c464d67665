"""Files are written to a temporary name and moved into place, so that a full disk leaves no half file."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

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


def write_json(path: str, value: Any) -> None:
    """Write `value` as valid JSON to `path`, or on one line to standard output for "-". Raises InputError."""
    to_terminal = path == "-"  # which may not have every letter
    write_text(path, json.dumps(value, indent=None if to_terminal else 1, ensure_ascii=to_terminal, allow_nan=False))


def finite(value: Any) -> Any:
    """The value, or None for NaN and infinity, which JSON does not have."""
    return None if isinstance(value, float) and not math.isfinite(value) else value
