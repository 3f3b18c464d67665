"""Plants faults, one small change each, in a copy of the checkout, and reports which of them the tests catch.

    python -m benchmarks.faults run --json faults.json     # all of them, against both tiers: for a night
    python -m benchmarks.faults run --kind listed --names exp-low-half imq-cube
    python -m benchmarks.faults draw > benchmarks/faults/sampled.yaml     # draws again, from the code of today

The `listed` faults are promises whose loss would hurt most, each with the tests that should see it. The `sampled` ones
are 120 statements of lab, serve, views, scenes, export, experiments and engine, drawn with a committed seed. For each
fault the command runs the test functions that execute its statement, the cheapest first, and then, for code of a served
page, the tests in a browser. Exit status 1: a listed fault survives, or less than 70 % of the sampled ones are caught.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections import Counter
from pathlib import Path

from benchmarks.faults import sample
from benchmarks.faults.planting import Fault, listed
from benchmarks.faults.running import TIERS, Covered, Outcome, covered_by, try_all

LEAST_CAUGHT = {"listed": 1.0, "sampled": 0.7}  # shares; equivalent faults and those whose place is gone left out
ENDINGS = (*TIERS, "survived", "equivalent", "place gone")


def table(outcomes: list[Outcome]) -> str:
    """Folder by folder the number of faults that each tier catches first, and of the others."""
    counts = {folder: Counter() for folder in sorted({each.fault.folder for each in outcomes})}
    for each in outcomes:
        counts[each.fault.folder][each.status] += 1
    counts["all"] = Counter(each.status for each in outcomes)
    lines = [f"{'':<12}" + "".join(f"{name:>12}" for name in ENDINGS) + f"{'caught':>12}"]
    for folder, count in counts.items():
        lines.append(f"{folder:<12}" + "".join(f"{count[name]:>12}" for name in ENDINGS) + f"{share(count):>12.0%}")
    return "\n".join(lines)


def share(count: Counter[str]) -> float:
    """The share of the faults that could be caught and were."""
    found = sum(count[tier] for tier in TIERS)
    return found / (found + count["survived"]) if found + count["survived"] else 1.0


def as_json(outcomes: list[Outcome]) -> str:
    """Every outcome, by the name of its fault."""
    rows = {
        each.fault.name: {
            "where": each.fault.where, "find": each.fault.find, "replace": each.fault.replace,
            "status": each.status, "by": each.by, "tried": each.tried, "gone": each.gone,
        }
        for each in outcomes
    }  # fmt: skip
    return json.dumps(rows, indent=1, ensure_ascii=False)


def covering(options: argparse.Namespace, faults: list[Fault], tiers: list[str]) -> Covered:
    """Which tests run which fault: from the file of an earlier run, or by running the tests once."""
    if options.covered and options.covered.exists():
        return json.loads(options.covered.read_text(encoding="utf-8"))
    covered = covered_by(faults, " or ".join(f"({TIERS[tier]})" for tier in tiers), jobs=options.jobs)
    if options.covered:
        options.covered.write_text(json.dumps(covered), encoding="utf-8")
    return covered


def run(options: argparse.Namespace) -> int:
    """Try the faults and print what became of each, then the table."""
    tiers = [*TIERS][: [*TIERS].index(options.tier) + 1]
    kinds = {kind: listed(kind) for kind in options.kind}
    everything = [fault for faults in kinds.values() for fault in faults]
    unknown = {*options.names} - {fault.name for fault in everything}
    if unknown:
        print(f"no {' or '.join(kinds)} fault is named {', '.join(sorted(unknown))}", file=sys.stderr)
        return 2
    faults = [fault for fault in everything if not options.names or fault.name in options.names]
    how = {"tiers": tiers, "seconds": options.seconds, "browser": not options.no_browser}
    outcomes = []
    for each in try_all(faults, options.jobs, covered=covering(options, faults, tiers), **how):
        outcomes.append(each)
        print(
            f"{each.fault.name:<28} {each.status:<11} {each.by or each.fault.where + ': ' + each.fault.replace}",
            flush=True,
        )
        if each.gone:
            print(f"{'':<28} no longer there: {', '.join(each.gone)}")
        if options.json:
            options.json.write_text(as_json(outcomes), encoding="utf-8")
    wrong = False
    for kind, faults in kinds.items():
        mine = [each for each in outcomes if each.fault in faults]
        print(f"\n{kind}\n{table(mine)}")
        caught = share(Counter(each.status for each in mine))
        wrong |= bool(mine) and caught < LEAST_CAUGHT[kind]
    return int(wrong)


def main() -> int:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.faults", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(required=True)
    runs = commands.add_parser("run", help="plant the faults and report")
    runs.add_argument("--tier", choices=TIERS, default="ci", help="the tests that may catch them; ci includes default")
    runs.add_argument("--kind", nargs="*", choices=LEAST_CAUGHT, default=[*LEAST_CAUGHT], help="of faults; all without")
    runs.add_argument("--names", nargs="*", default=[], metavar="NAME", help="of faults; all without")
    runs.add_argument("--jobs", type=int, default=os.cpu_count(), metavar="N", help="how many at a time")
    runs.add_argument("--seconds", type=float, default=60, metavar="S", help="CPU seconds of tests for each fault")
    runs.add_argument("--no-browser", action="store_true", help="leave out the tests in a browser")
    runs.add_argument("--covered", type=Path, metavar="FILE", help="which tests run which fault: read, or else written")
    runs.add_argument("--json", type=Path, metavar="FILE", help="write what became of each fault")
    runs.set_defaults(act=run)
    draws = commands.add_parser("draw", help="draw the sample and print its data file; needs mutmut")
    draws.set_defaults(act=lambda _: print(sample.text(sample.draw()), end="") or 0)
    options = parser.parse_args()
    return options.act(options)


if __name__ == "__main__":
    sys.exit(main())
