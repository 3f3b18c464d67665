"""docs/claims.md, of what `bench claims` measured: `python -m benchmarks.helpers.claims_page FILE.json > FILE`."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.helpers.claims_verdicts import ERRORS, NEARLY_ALL
from pmdviz.engine.recipe.formats import KNOBS

HEAD = """# The paper's claims, measured

Written by `python -m benchmarks.helpers.claims_page docs/measured/claims.json`, from a file of
`python -m pmdviz bench claims --json FILE`.

Dai, He, Dai, Song 2016 compare Particle Mirror Descent with five methods on a mixture with two modes (section 6,
appendix H.1). Here the same comparison stands on data whose modes are well separated ({setting}), over
{data_seeds} data sets and {run_seeds} runs of each ({slow} for methods that take seconds a run), at {budget:,} data
visited. Every baseline runs at the best setting that a small search finds (on other run seeds), and at the paper's.
Errors are over data sets. A difference counts when it is more than {errors:g} standard errors; in the first two claims
also when PMD is lower in at least {nearly_all:.0%} of the runs and on every data set, as cross entropies have so heavy
a tail that a large mean difference can be within its standard error.
"""
SETTINGS = """
## Settings and figures

TV and cross entropy (nats) at the end, mean ± standard error over data sets; `sd` is that of TV over runs of the same
data. "One mode": the share of runs with less than 2 % of q in the other mode; of a chain with less than 2 % of the
later half of its draws there, as the first ones may still be on their way from the prior to a mode
([baselines.md](baselines.md) says how long that lasts). Knobs that are not named are at their defaults
([knobs.md](knobs.md)).

| method | setting | TV | sd | cross entropy | one mode | visited | runs |
|---|---|---|---|---|---|---|---|
"""


def _defaults(found: Mapping[str, Any]) -> str:
    """Whose defaults those knobs have that are not named; a file of before format 2 does not say so."""
    version = found.get("format", 1)
    earlier = [f"`{name}` {value}" for name, value in KNOBS.get(version, {}).items()]
    return ", ".join([f"with the defaults of recipe format {version}", *earlier])


def page(result: Mapping[str, Any]) -> str:
    """The page of a result of `bench claims`."""
    found = result["figures"]
    setting = ", ".join(f"{name} = {value:,}" for name, value in found["target"].items())
    head = HEAD.format(
        setting=setting,
        data_seeds=found["data_seeds"],
        run_seeds=found["run_seeds"],
        slow=found["run_seeds_of_slow_methods"],
        budget=found["budget"],
        errors=ERRORS,
        nearly_all=NEARLY_ALL,
    )
    claims = ["", "| claim | verdict |", "|---|---|"]
    claims += [f"| {claim['claim']} | **{claim['verdict']}** |" for claim in found["claims"]]
    said = ["", "## What was seen", ""]
    said += [f"- **{claim['claim']}**: {claim['verdict']}. {claim['said']}" for claim in found["claims"]]
    rows = [row for entrant in found["entrants"].values() for row in _rows(entrant)]
    when = f"\nMeasured at commit {result['commit']}, {result['cpu']}, in {result['seconds']:,.0f} s"
    when += f", {_defaults(found)}.\n"
    return head + "\n".join([*claims, *said]) + "\n" + SETTINGS + "\n".join(rows) + "\n" + _by_budget(found) + when


def _rows(entrant: Mapping[str, Any]) -> list[str]:
    best = entrant["best"]
    tried = entrant["settings_tried"]
    words = f"best of {tried}" if tried > 1 else "as it is"
    rows = [_row(entrant["title"], f"{words}: {_knobs(best['knobs'])}", best)]
    if "paper" in entrant:
        rows.append(_row(entrant["title"], f"paper's: {_knobs(entrant['paper']['knobs'])}", entrant["paper"]))
    return rows


def _row(title: str, setting: str, ends: Mapping[str, Any]) -> str:
    tv, entropy = (_with_error(ends, name) for name in ("tv", "cross_entropy"))
    sd = "" if ends["tv_sd_over_runs"] is None else f"{ends['tv_sd_over_runs']:.3f}"
    cells = (title, setting, tv, sd, entropy, f"{ends['runs_in_one_mode']:.0%}", f"{ends['visited']:,}", ends["runs"])
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


def _with_error(ends: Mapping[str, Any], name: str) -> str:
    return f"{ends[name]:.3f} ± {ends[f'{name}_standard_error']:.3f}"


def _knobs(knobs: Mapping[str, Any]) -> str:
    shown = (
        f"`{name}` {value:.4g}" if isinstance(value, float) else f"`{name}` {value}" for name, value in knobs.items()
    )
    return ", ".join(shown) or "defaults"


def _by_budget(found: Mapping[str, Any]) -> str:
    entrants = [e for e in found["entrants"].values() if len(e["best"]["tv_by_budget"]) > 1]
    budgets = list(entrants[0]["best"]["tv_by_budget"])
    lines = ["", "## TV by data visited, at the best settings", ""]
    lines += ["| method | " + " | ".join(f"{int(b):,}" for b in budgets) + " |", "|---" * (len(budgets) + 1) + "|"]
    for entrant in entrants:
        values = entrant["best"]["tv_by_budget"].values()
        lines.append(f"| {entrant['title']} | " + " | ".join(f"{v:.3f}" for v in values) + " |")
    return "\n".join([*lines, ""])


def main(arguments: list[str]) -> int:
    """Print the page of the file named."""
    print(page(json.loads(Path(arguments[0]).read_text(encoding="utf-8"))), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
