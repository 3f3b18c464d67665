"""docs/verdicts.md, of the pages of claims: `python -m benchmarks.helpers.claims_overview docs > docs/verdicts.md`."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

PAGES = {  # of the docs, each with a table of verdicts
    "claims.md": "A mixture with two modes (appendix H.1)",
    "logistic.md": "Logistic regression (appendix H.2)",
    "claims-gp.md": "Sparse Gaussian processes (appendix H.3)",
    "claims-topics.md": "Topics (appendix H.4)",
    "claims-stein.md": "Stein methods and annealing (Han 2019)",
    "claims-fit.md": "Tests of samples, and combined models (Han 2019)",
    "claims-pmfvb.md": "Particle mean-field variational Bayes (Tran, Tseng, Kohn 2023)",
}
HEAD = """# Every claim of the papers' experiments, and whether it held

All claims of three works on one page, each with its verdict: yes, no, or open.

Written by `python -m benchmarks.helpers.claims_overview docs`, from the pages that it links.

Dai, He, Dai, Song 2016 compare Particle Mirror Descent with other methods on four models (section 6), Han 2019 (thesis)
Stein methods with others, tests of samples, and models of many machines combined, and Tran, Tseng, Kohn 2023 mean-field
particles with chains. These are their claims, and a few of ours, marked so. The figures with their errors, the rules
behind a verdict and the conditions stand on the page of each model. The first paper's large data (MNIST8M, 463,715
songs, Wikipedia) are not judged: we have not got them.

A claim **holds** if it holds under every condition (data, size, setting), and **under some conditions** if it holds
under one. It **does not hold** if it is refuted under one condition and holds under none. Rivals are not conditions: a
claim against several rivals is refuted by one of them.

| verdict | claims |
|---|---|
{counts}
"""
TABLE = "| claim | verdict |"


def verdicts(page: str) -> Iterator[tuple[str, str]]:
    """Claim and verdict of each line of the first table of verdicts in the Markdown of a page."""
    lines = iter(page.splitlines())
    if not any(line.startswith(TABLE) for line in lines):
        raise ValueError(f"no table begins with {TABLE!r}")
    next(lines)  # the line below the head
    for line in lines:
        if not line.startswith("|"):
            return
        _, claim, verdict, *_ = (cell.strip() for cell in line.split("|"))
        yield claim, verdict


def overview(docs: Path) -> str:
    """The page, of those in the folder `docs`."""
    found = {name: list(verdicts((docs / name).read_text(encoding="utf-8"))) for name in PAGES}
    counts = Counter(verdict for some in found.values() for _, verdict in some)
    parts = [HEAD.format(counts="\n".join(f"| {verdict} | {count} |" for verdict, count in counts.most_common()))]
    for name, some in found.items():
        lines = "\n".join([TABLE, "|---|---|", *(f"| {claim} | {verdict} |" for claim, verdict in some)])
        parts.append(f"\n## {PAGES[name]}\n\n{lines}\n\nFigures and rules: [{name}]({name}).\n")
    return "".join(parts)


if __name__ == "__main__":
    print(overview(Path(sys.argv[1])), end="")
