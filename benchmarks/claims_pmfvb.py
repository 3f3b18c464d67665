"""What Tran, Tseng and Kohn claim of particle mean-field VB: the rows of `bench pmfvb`, and every claim's verdict."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from benchmarks import pmfvb
from benchmarks.helpers.claims_rules import verdict_of
from benchmarks.helpers.pmfvb_claims import CLAIMS


def run(options: Namespace) -> dict[str, Any]:
    """The figures of `bench pmfvb`, and of every claim the verdict and what each condition was answered by."""
    figures, runs = pmfvb.figures_and_runs(options)
    answers = {words: {said: rule(runs) for said, rule in cases.items()} for words, cases in CLAIMS}
    verdicts = {
        words: {"verdict": verdict_of([*found.values()]), "conditions": {said: one.said for said, one in found.items()}}
        for words, found in answers.items()
    }
    return {**figures, "verdicts": verdicts}
