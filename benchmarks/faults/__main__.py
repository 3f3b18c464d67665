"""Plants faults, one small change each, in copies of the checkout, and reports which of them the tests catch.

    python -m benchmarks.faults --json faults.json     # all of them, against both tiers: for a night
    python -m benchmarks.faults --kind listed --names exp-low-half imq-cube

The `listed` faults are promises whose loss would hurt most, each with the tests that should see it. The `sampled` ones
are 120 statements of lab, serve, views, scenes, export, experiments and engine, drawn with a seed; the tests of their
folder are run, and then, for code of a served page, those in a browser. Exit status 1: a listed fault survives, or less
than 70 % of the sampled ones are caught.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections import Counter
from pathlib import Path

from benchmarks.faults.planting import listed
from benchmarks.faults.running import TIERS, Outcome, try_all
from benchmarks.faults.sample import drawn

KINDS = {"listed": (listed, 1.0), "sampled": (drawn, 0.7)}  # and the share that must be caught of those that can be


def as_json(outcomes: list[Outcome]) -> str:
    """Every outcome, by the name of its fault."""
    rows = {
        fault.name: {"where": fault.where, "find": fault.find, "replace": fault.replace, "status": status, "by": by}
        for fault, status, by in outcomes
    }
    return json.dumps(rows, indent=1, ensure_ascii=False)


def main() -> int:
    """Try the faults, print what became of each, and how many ended how."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.faults", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--tier", choices=TIERS, default="ci", help="the tests that may catch them; ci includes default"
    )
    parser.add_argument("--kind", nargs="*", choices=KINDS, default=[*KINDS], help="of faults; all without")
    parser.add_argument("--names", nargs="*", default=[], metavar="NAME", help="of faults; all without")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), metavar="N", help="how many at a time")
    parser.add_argument("--no-browser", action="store_true", help="leave out the tests in a browser")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write what became of each fault")
    options = parser.parse_args()
    kinds = {kind: KINDS[kind][0]() for kind in options.kind}
    if unknown := {*options.names} - {fault.name for faults in kinds.values() for fault in faults}:
        print(f"no {' or '.join(kinds)} fault is named {', '.join(sorted(unknown))}", file=sys.stderr)
        return 2
    tiers, outcomes, wrong = [*TIERS][: [*TIERS].index(options.tier) + 1], [], False
    for kind, faults in kinds.items():
        chosen, count = [fault for fault in faults if not options.names or fault.name in options.names], Counter()
        for each in try_all(chosen, options.jobs, tiers, not options.no_browser):
            outcomes.append(each)
            count[each.status] += 1
            print(f"{each.fault.name:<28} {each.status:<11} {each.by or each.fault.where}", flush=True)
            if options.json:
                options.json.write_text(as_json(outcomes), encoding="utf-8")
        found = sum(count[tier] for tier in TIERS)
        wrong |= found < KINDS[kind][1] * (found + count["survived"])
        print(f"{kind}: {found} of {found + count['survived']} are caught; {dict(count)}")
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
