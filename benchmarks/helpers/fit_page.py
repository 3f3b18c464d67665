"""docs/claims-fit.md, of `bench fit-and-aggregation`: `python -m benchmarks.helpers.fit_page FILE > PAGE`."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.helpers.claims_words import measured_line, seen, verdict_line
from benchmarks.helpers.fit_claims import CLAIMS
from benchmarks.helpers.fit_rules import small
from pmdviz.experiments.aggregation.combine import COMBINERS

HEAD = """# Claims about tests of samples and about combined models, measured

What a thesis says of its tests of samples and of combined models, claim by claim, and whether it held here.

Written by `python -m benchmarks.helpers.fit_page docs/measured/fit-and-aggregation.json`, from a file of
`python -m pmdviz bench fit-and-aggregation --json docs/measured/fit-and-aggregation.json`. Each row is an experiment of
`pmdviz experiment`, with the settings that stand in the file. Its tables are gone on with by the same command, so that
the seconds told at the end may be those of its last part.

J. Han's thesis (*Scalable Approximate Inference and Some Applications*, Dartmouth College 2019) tests samples on
discrete states by a gradient-free kernel Stein discrepancy (GF-KSD, Algorithm 10), and combines models that machines
fitted to their own data (Algorithms 11 and 12). Lattices and machines are of the same kind as there and of sizes with
exact draws; its tables (SensIT, Covertype, Epsilon) have others in their place: digits, breast cancer, visits to
doctors (a file of Covertype or in libsvm's format can be given). A test's rates are of 200 samples with Wilson's 95 %
interval, errors of combined models of 20 repetitions (3 where d is varied with BIC, 2 at d = 80). Yes and no ask for
intervals that are apart, or for more than two standard errors; everything between is open.

{remarks}

## Verdicts

| claim | verdict | under each condition |
|---|---|---|
{verdicts}

## What was seen
"""
REMARKS = """\
**What is not as in the thesis.** For spins the order of its Figures 28 and 29 is reversed: DKSD is ahead of GF-KSD at
every sample size and distance. On the machine, whose weights get independent noise, DKSD and GF-KSD are alike and MMD
is ahead of both. (Until the noise came from a stream of its own it was proportional to the weights, and DKSD rejected
nearly every sample.) The thesis' smooth surrogate (0.124) to (0.126) changes little on spins; on the machine it
rejects somewhat more than the base alone. Its figures cannot come from the bootstrap as printed. Integrating out the
latent point, which costs nothing, makes up part of the gap on 3 x 3 and 4 x 4 spins, and on the machine is the best
of the Stein tests; on 10 x 10 spins 1/p differs so much between states that a few pairs decide, and no version sees
anything. Pearson's chi-square over all 256 states is best on the machine and worst on spins. **Several bandwidths**
combined gain most where one rule is a poor guess (MMD on 4 x 4 spins), and cost a little where it is a good one (KSD
of Gaussians).

**Machines with biases** are left out of the power curves: too many right samples of theirs are rejected by every
Stein test at 200 points (0.13 to 0.20 at the level 0.05, eight units and five hidden), since the bootstrap needs many
pairs that count. `note` warns of it.

**Combined models.** All slopes are as in Figure 31. Control variates do not gain from more machines: the information
of a machine is computed from the draws that its refit was fitted to, a bias of order 1/n that all machines share;
with other draws most of it is gone. **The order of Figure 33 turns round as the dimension grows**: with covariances of
all entries a machine refits d (d + 3) / 2 parameters per component to n = 600 points. The weights
p(x | θ_k) / p(x | θ̃_k) then do harm from d = 17 on. The thesis has 10 true components; here they are 3 with N = 100,000
(2 with N = 30,000 at d = 80), because more takes hours. Weights as printed, (0.139), and ours of mean 1 and at most 10
give the same errors from about 300 draws on; with 37 draws from each of 40 machines one point may decide as printed.

Matched means of parameters are best of all on data drawn from the model, whose
parameters can be told apart, and worst on two of the three tables. On tables of a few hundred rows what a model of
two components loses is decided by which maximum EM has found, and weighted and plain draws are alike. Errors of
mixtures are distances from a quadrature of the KL average, which shares no draws with any combiner. What the thesis
says is not applicable to PPCA (means, control variates) is, once the loadings are turned to one orientation."""

Table = Callable[[Mapping[str, Any]], str]


def page(path: Path) -> str:
    """The page of a measured file."""
    result = json.loads(path.read_text(encoding="utf-8"))
    found = result["figures"]
    judged = [(words, {said: [rule(found["measured"])] for said, rule in cases.items()}) for words, cases in CLAIMS]
    verdicts = "\n".join(verdict_line(words, answers) for words, answers in judged)
    parts = [HEAD.format(verdicts=verdicts, remarks=REMARKS), *(seen(words, some, [""]) for words, some in judged)]
    parts += [_bars(found["bars"]), _sizes(found["sizes"]), _zeros(found["zero_means"])]
    parts += [TABLES[name](found["measured"]) for name in TABLES]
    return "".join([*parts, f"\n{measured_line(result)}.\n"]).replace(", : ", ": ")


def _table(title: str, about: str, heads: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    rule = "|" + "---|" * len(heads)
    body = "\n".join("| " + " | ".join(line) + " |" for line in lines)
    return f"\n## {title}\n\n{about}\n\n| " + " | ".join(heads) + f" |\n{rule}\n{body}\n"


def _bars(bars: Mapping[str, Any]) -> str:
    lines = [(words, f"{one['found']:g}", "yes" if one["met"] else "**no**") for words, one in bars.items()]
    return _table("Bars", "Those of the specification.", ("bar", "found", "met"), lines)


def _sizes(sizes: Mapping[str, Any]) -> str:
    about = "How often runs that have their target right are rejected at the level 0.05."
    lines = [
        (words, one["test"], _rate(one), f"{one['runs']}", f"{one['points']}", f"{one['refused']}")
        for words, one in sizes.items()
    ]
    heads = ("points of a run", "test", "rejected", "runs", "points tested, mean", "too few points")
    return _table("Size, by how the points come out of a run", about, heads, lines)


def _zeros(zeros: Mapping[str, Any]) -> str:
    lines = [(words, ", ".join(f"{name} {value:.1g}" for name, value in one.items())) for words, one in zeros.items()]
    about = "Of each kernel over all pairs of states, as a share of the mean of its absolute value."
    return _table("Means that have to be zero", about, ("target", "mean"), lines)


def _rate(one: Mapping[str, Any]) -> str:
    return f"{one['rejected']:.2f} [{one['low']:.2f}, {one['high']:.2f}]"


def _rates(measured: Mapping[str, Any]) -> str:
    lines = [
        (words, entry["test"], f"{entry['num_points']}", f"{entry['perturbation']:g}", _rate(entry))
        for words, one in measured.items()
        if one["experiment"] == "goodness_of_fit"
        for entry in one["summary"]
    ]
    about = "With Wilson's 95 % intervals; without a perturbation it is the size."
    return _table("Every rejection rate", about, ("samples", "test", "n", "perturbation", "rejected"), lines)


def _errors(measured: Mapping[str, Any]) -> str:
    lines = [
        (words, _title(entry["combiner"]), f"{entry['level']:,}", _pair(entry["error"]), _pair(entry["gap"]))
        for words, one in measured.items()
        if one["experiment"] == "aggregation"
        for entry in one["levels"]
    ]
    about = (
        "Squared distance of the parameters from the exact KL average, and held-out log likelihood below that of all"
    )
    about += " data on one machine, nats a point: means and standard errors."
    return _table("Every combined model", about, ("model", "combined by", "n, K, N or d", "error", "loss"), lines)


def _title(name: str) -> str:
    return COMBINERS[name].title if name in COMBINERS else name


def _pair(found: Sequence[float | None]) -> str:
    mean, error = found
    return "" if mean is None or error is None else small(mean, error)


def _others(measured: Mapping[str, Any]) -> str:
    lines = [
        (words, entry.get("combiner", entry.get("method", "")), f"{entry.get('K', entry.get('d'))}", _mean(entry))
        for words, one in measured.items()
        if one["experiment"] in ("sharded_posterior", "dimension")
        for entry in one["summary"]
    ]
    about = "Total variation or KL of moments of posteriors put together from shards, and errors against d."
    return _table("Posteriors on shards and in more dimensions", about, ("posterior", "by", "K or d", "error"), lines)


def _mean(entry: Mapping[str, Any]) -> str:
    return _pair((entry["mean"], entry["standard error"]))


TABLES: Mapping[str, Table] = {"rates": _rates, "errors": _errors, "others": _others}

if __name__ == "__main__":
    print(page(Path(sys.argv[1])), end="")
