"""`python -m benchmarks.capabilities`: a table of everything that a user can do, each item tried from the outside.

A capability that tests try is those tests, and one of many sessions is a bench. The others are tried in a browser by
`served.py`.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.capabilities import served

ROOT = Path(__file__).parents[2]
TESTED = {  # area -> capability -> its files or folders of tests
    "Serve": {
        "pmdviz serve.": "browser/test_page.py",
        "panel serve.": "serve/test_panel_serve.py",
        "--num-procs.": "serve/test_many.py",
        "Reconnect after a restart.": "browser/test_faults.py",
    },
    "Lab": {
        "Play, pause, step, back, restart, replay, seed, speed, budget, end, continue, keys.": "browser/test_page.py",
        "Time line, branch with ghost, keep, swap, drop, undo.": "browser/test_timeline.py",
        "Inside this step.": "browser/test_inside.py",
        "Drag modes; data by a click; own table: file or paste.": "browser/test_own_data.py",
        "Formula.": "browser/test_formula.py",
        "Traces of every metric against four clocks.": "views/test_traces.py lab/test_past.py",
        "Pictures, ancestors.": "scenes views/test_pictures.py",
        "Other seeds as a band, diagnosis.": "lab/test_luck.py lab/test_diagnosis.py",
        "Goodness-of-fit card.": "lab/test_fit.py",
        "Cancel.": "lab/test_live.py lab/test_task.py",
        "Layers on and off.": "browser/test_stage.py",
        "Compare two settings, a film, presenter mode.": "browser/test_tasks.py",
    },
    "Pages": {
        "Race: play, table, bands, entrants, link, inside.": "browser/test_race.py",
        "Race: two clocks.": "lab/test_race.py",
        "Theory: experiments, progress, cancel, link, CSV.": "browser/test_theory.py",
        "Geometry: mirror against gradient steps; both themes.": "browser/test_addresses.py",
        "Methods: cells run. Lessons: their list.": "browser/test_methods_and_lessons.py",
        "Lessons: question, run, verdict.": "browser/test_lessons.py",
        "Essay.": "browser/test_essay.py",
    },
    "Share and export": {
        "Link of a run.": "browser/test_links.py",
        "QR code; a recipe's file is opened.": "lab/test_link_builder.py lab/test_recipe_file.py",
        "Files of a run from the page.": "browser/test_export.py",
        "Files of a race from the page; cancel.": "lab/test_export.py",
        "A run and a race in ten kinds of file, from Python.": "export",
        "HTML player with inside view.": "browser/test_player.py",
    },
    "Python and command line": {
        "Run; 23 targets, 35 methods, and every other table.": "test_api.py",
        "Session: advance, set, seek, restart, replay, reseed.": "engine/test_session.py",
        "Recipe: JSON, link, Python.": "engine/test_recipe.py lab/test_links.py",
        "23 targets with options, exact posteriors.": "targets/test_targets.py",
        "35 methods with settings.": "methods/test_contract.py test_knobs.py",
        "Recipes of 59 presets.": "presets/test_presets.py",
        "Race by two clocks, seeds.": "experiments/race",
        "Sweep on processes and on Dask; resumed after a crash.": "experiments/sweep/test_sweep.py",
        "Experiment.": "experiments/test_contract.py",
        "test_fit.": "experiments/goodness_of_fit/test_sample.py",
        "custom_target.": "targets/test_custom.py",
        "Own table, formula.": "targets/test_own_tables.py engine/test_own_data.py",
        "Question, check.": "lessons/test_questions.py lessons/test_check.py",
        "pmdviz run.": "cli/test_cli.py",
        "pmdviz race, sweep, export, lessons, notebooks, bench.": "cli/test_commands.py",
        "pmdviz list, experiment, and every other command of the README.": "structure/test_readme.py test_docs.py",
        "pmdviz essay.": "essay/test_page.py",
        "pmdviz docs.": "docs_site",
        "Wrong input: one line, status 2.": "cli/test_refusals.py",
    },
    "Notebooks": {
        "Lab and Race as widgets with traits.": "lab/test_notebook.py lab/test_lab.py",
        "23 notebooks.": "notebooks",
        "JupyterLab, saved picture, offline.": "browser/test_jupyter.py",
        "marimo, offline.": "browser/test_marimo.py",
    },
    "Promises": {
        "Same bits: process, threads, compile cache.": "engine/test_replay.py",
    },
}
BENCHES = {"A class on one server.": ("Serve", "load"), "Memory flat over sessions.": ("Promises", "soak")}


def main() -> int:
    """Try what was asked for; 1 if something failed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.capabilities", description=__doc__)
    parser.add_argument("--only", metavar="AREA", help=f"{', '.join(TESTED)}; or words of a capability")
    parser.add_argument("--long", action="store_true", help="the full forms: a class of 30, every entry of every menu")
    parser.add_argument("--json", metavar="FILE", type=Path, help="write the rows there too")
    options = parser.parse_args()
    checks: list[tuple[str, str, Callable[[Any], str | None]]] = [
        (area, words, partial(by_tests, names.split()))
        for area, tests in TESTED.items()
        for words, names in tests.items()
    ]
    checks += [(area, words, partial(by_bench, name)) for words, (area, name) in BENCHES.items()]
    # Tests first: Playwright runs an event loop in this process.
    checks += [(area, check.__doc__ or "", check) for area, check in served.TABLE]
    chosen = [row for row in checks if options.only in (None, row[0]) or options.only in row[1]]
    if not chosen:
        parser.error(f"nothing is called {options.only!r}; areas: {', '.join(TESTED)}")
    with tempfile.TemporaryDirectory(prefix="pmdviz-", ignore_cleanup_errors=True) as folder:
        with served.Stand(Path(folder), options.long) as stand:
            rows = [tried(area, words.rstrip("."), check, stand) for area, words, check in chosen]
    failed = [row["capability"] for row in rows if not row["ok"]]
    print(f"{len(rows) - len(failed)} of {len(rows)} capabilities are there", *failed, sep="\nfailed: ")
    if options.json is not None:
        options.json.write_text(json.dumps(rows, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return int(bool(failed))


def tried(area: str, words: str, check: Callable[[Any], str | None], stand: served.Stand) -> dict[str, Any]:
    """Run one check and print its line; where it fails, its traceback goes to standard error."""
    begun, ok = time.monotonic(), True
    try:
        said = check(stand) or ""
    except Exception as error:  # whatever it is, the capability was not seen to work
        ok, said = False, f"{type(error).__name__}: {str(error).strip() or 'not true'}".splitlines()[0][:200]
        traceback.print_exc(limit=-3, file=sys.stderr)
    seconds = time.monotonic() - begun
    print(f"{area:24}{words:90}{'ok' if ok else 'FAILED':7}{seconds:5.0f} s  {said}", flush=True)
    return {"area": area, "capability": words, "ok": ok, "said": said, "seconds": round(seconds, 1)}


def by_tests(names: list[str], stand: served.Stand) -> str:
    """Run files of tests, all tiers of them. Raises AssertionError where one fails; where CI is set, a skip fails."""
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-m", "", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, *(f"tests/{name}" for name in names)],
        cwd=ROOT,
        env={**os.environ, "CI": "1"},
        capture_output=True,
        text=True,
        timeout=3600,
    )
    last = done.stdout.strip().splitlines()[-1]
    assert done.returncode == 0, last
    return last


def by_bench(name: str, stand: served.Stand) -> str:
    """Run a bench; the full form where it is asked for. Raises AssertionError for errors of a session or the server."""
    quick = [] if stand.long else ["--quick"]
    command = [sys.executable, "-m", "pmdviz", "bench", name, *quick, "--json", "-"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=3600)
    found = json.loads(done.stdout)["figures"]
    assert found["errors"] == [], found["errors"]
    return f"{found['sessions']} sessions"


if __name__ == "__main__":
    sys.exit(main())
