"""All pictures of the essay: computed by `python -m pmdviz.essay.pictures`, kept in one file, read from it."""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from pmdviz.essay import descent, particles, trouble
from pmdviz.essay.drawing import Picture, rounded
from pmdviz.files import atomic_write

FILE = Path(__file__).with_name("pictures.json.gz")
PICTURES: dict[str, Picture] = {
    picture.name: picture for part in (descent, particles, trouble) for picture in part.PICTURES
}


def computed(name: str) -> dict[str, Any]:
    """One picture as it is kept: panels and rows, {"panels": [...], "rows": {name: [...]}}."""
    return rounded(PICTURES[name].compute())


@cache
def kept() -> dict[str, dict[str, Any]]:
    """Every picture as the file has it, by name."""
    return json.loads(gzip.decompress(FILE.read_bytes()))


def write(names: Sequence[str] = ()) -> None:
    """Compute pictures anew, all or those named, and keep them. Nothing is written where one fails."""
    before = kept() if FILE.exists() else {}
    found = {name: computed(name) if name in (names or PICTURES) else before[name] for name in PICTURES}
    text = json.dumps(found, separators=(",", ":"), allow_nan=False, ensure_ascii=False)
    with atomic_write(FILE) as part:
        part.write_bytes(gzip.compress(text.encode(), 9, mtime=0))  # the same bytes for the same pictures
    kept.cache_clear()


if __name__ == "__main__":
    write(sys.argv[1:])
