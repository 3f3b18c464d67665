"""What pages of claims have in common: lines of verdicts, what was seen, and how such a page is printed."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.helpers.claims_rules import Answer, verdict_of
from benchmarks.helpers.claims_runs import read_rows

Answers = Mapping[str, Sequence[Answer]]  # by condition, one for each problem


def span(seeds: Sequence[int]) -> str:
    """Seeds in a row, in words."""
    return str(seeds[0]) if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]}"


def verdict_line(words: str, answers: Answers) -> str:
    """A claim's line in the table of verdicts."""
    under = "; ".join(f"{said}: {' / '.join(one.verdict for one in some)}" for said, some in answers.items())
    return f"| {words} | **{verdict_of([one for some in answers.values() for one in some])}** | {under} |"


def seen(words: str, answers: Answers, titles: Sequence[str]) -> str:
    """What a claim was judged by, problem by problem."""
    lines = [
        f"- {said}, {title}: {one.verdict} ({one.said})\n"
        for said, some in answers.items()
        for title, one in zip(titles, some, strict=True)
    ]
    return f"\n**{words}.**\n\n" + "".join(lines)


def measured_line(result: Mapping[str, Any]) -> str:
    """Where and when the figures were measured."""
    return f"\nMeasured at commit {result['commit']}, {result['cpu']}, in {result['seconds']:,.0f} s"


def print_page(page: Callable[[Mapping[str, Any], list[dict[str, str]]], str], file: str) -> int:
    """Print the page of the file named, and of the runs in the table beside it; the exit status."""
    path = Path(file)
    print(page(json.loads(path.read_text(encoding="utf-8")), read_rows(path.with_suffix(".csv"))), end="")
    return 0
