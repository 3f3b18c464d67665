"""`python -m benchmarks.capabilities`: a table of everything that a user can do, each item tried from the outside."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
import traceback
from pathlib import Path
from typing import Any

from benchmarks.capabilities import commands, served

AREAS = ("Serve", "Lab", "Pages", "Share and export", "Python and command line", "Notebooks", "Promises")


def main() -> int:
    """Try what was asked for; 1 if something failed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.capabilities", description=__doc__)
    parser.add_argument("--only", metavar="AREA", help=f"{', '.join(AREAS)}; or words of a capability")
    parser.add_argument("--long", action="store_true", help="the full forms: a class of 30, all presets, all notebooks")
    parser.add_argument("--json", metavar="FILE", type=Path, help="write the rows there too")
    options = parser.parse_args()
    # Commands first: Playwright runs an event loop in this thread, which notebooks and clusters would meet.
    checks = [(*row, "command") for row in commands.TABLE] + [(*row, "browser") for row in served.TABLE]
    chosen = [row for row in checks if options.only in (None, row[0]) or options.only in row[1].__doc__]
    if not chosen:
        parser.error(f"nothing is called {options.only!r}; areas: {', '.join(AREAS)}")
    with tempfile.TemporaryDirectory(prefix="pmdviz-", ignore_cleanup_errors=True) as folder:
        desk = commands.Desk(Path(folder), options.long)
        with served.Stand(desk) as stand:
            rows = [tried(area, check, how, desk if how == "command" else stand) for area, check, how in chosen]
    failed = [row["capability"] for row in rows if not row["ok"]]
    print(f"{len(rows) - len(failed)} of {len(rows)} capabilities are there", *failed, sep="\nfailed: ")
    if options.json is not None:
        options.json.write_text(json.dumps(rows, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return int(bool(failed))


def tried(area: str, check: Any, how: str, place: Any) -> dict[str, Any]:
    """Run one check and print its line; where it fails, its traceback goes to standard error."""
    begun, words, ok = time.monotonic(), check.__doc__.rstrip("."), True
    try:
        said = check(place) or ""
    except Exception as error:  # whatever it is, the capability was not seen to work
        ok, said = False, f"{type(error).__name__}: {str(error).strip() or 'not true'}".splitlines()[0][:200]
        traceback.print_exc(limit=-3, file=sys.stderr)
    seconds = time.monotonic() - begun
    print(f"{area:24}{words:60}{how:9}{'ok' if ok else 'FAILED':7}{seconds:5.0f} s  {said}", flush=True)
    return {"area": area, "capability": words, "how": how, "ok": ok, "said": said, "seconds": round(seconds, 1)}


if __name__ == "__main__":
    sys.exit(main())
