"""`python -m benchmarks.capabilities`: what a user can do, tried by the tests that tables/capabilities.yaml names."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from functools import cache
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[1]
TABLE: dict[str, dict[str, str]] = yaml.safe_load((ROOT / "benchmarks/tables/capabilities.yaml").read_text("utf-8"))
PIPES: dict[str, Any] = {"cwd": ROOT, "capture_output": True, "text": True, "timeout": 3600}


def main() -> int:
    """Try what was asked for; 1 if something failed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.capabilities", description=__doc__)
    parser.add_argument("--only", metavar="AREA", help=f"{', '.join(TABLE)}; or words of a capability")
    parser.add_argument("--long", action="store_true", help="the benches in their full forms: a class of 30")
    parser.add_argument("--json", metavar="FILE", type=Path, help="write the rows there too")
    options = parser.parse_args()
    every = [(area, words, by) for area, entries in TABLE.items() for words, by in entries.items()]
    chosen = [row for row in every if options.only in (None, row[0]) or options.only in row[1]]
    if not chosen:
        parser.error(f"nothing is called {options.only!r}; areas: {', '.join(TABLE)}")
    rows = [tried(area, words, by, options.long) for area, words, by in chosen]
    failed = [row["capability"] for row in rows if not row["ok"]]
    print(f"{len(rows) - len(failed)} of {len(rows)} capabilities are there", *failed, sep="\nfailed: ")
    if options.json is not None:
        options.json.write_text(json.dumps(rows, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return int(bool(failed))


def tried(area: str, words: str, by: str, long: bool) -> dict[str, Any]:
    """Run the tests or the bench of a capability and print its line."""
    begun, (kind, *names) = time.monotonic(), by.split()
    try:
        found = [by_bench(names[0], long)] if kind == "bench" else [by_tests(name) for name in (kind, *names)]
        ok, said = all(ok for ok, _ in found), "; ".join(said for _, said in found)
    except subprocess.SubprocessError as error:
        ok, said = False, str(error)[:200]
    seconds = time.monotonic() - begun
    print(f"{area:24}{words:90}{'ok' if ok else 'FAILED':7}{seconds:5.0f} s  {said}", flush=True)
    return {"area": area, "capability": words, "ok": ok, "said": said, "seconds": round(seconds, 1)}


@cache
def by_tests(name: str) -> tuple[bool, str]:
    """Whether a file or folder passes, all tiers of it; its failed tests and pytest's last line. A skip fails."""
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-m", "", "-p", "no:cacheprovider", f"tests/{name}"]
    done = subprocess.run(command, env={**os.environ, "CI": "1"}, **PIPES)
    *lines, last = done.stdout.strip().splitlines()
    return done.returncode == 0, "; ".join([*(line for line in lines if line.startswith(("FAILED", "ERROR"))), last])


def by_bench(name: str, long: bool) -> tuple[bool, str]:
    """Whether a bench ends without errors of a session or the server."""
    command = [sys.executable, "-m", "pmdviz", "bench", name, *([] if long else ["--quick"]), "--json", "-"]
    found = json.loads(subprocess.run(command, check=True, **PIPES).stdout)["figures"]
    return found["errors"] == [], f"{found['sessions']} sessions; errors: {found['errors']}"


if __name__ == "__main__":
    sys.exit(main())
