"""docs/verdicts.md, of the pages of claims: `python -m benchmarks.helpers.claims_overview docs > docs/verdicts.md`."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

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

Dai, He, Dai, Song 2016 compare Particle Mirror Descent with other methods (section 6), Han 2019 (thesis) Stein methods,
tests of samples and models of many machines, and Tran, Tseng, Kohn 2023 mean-field particles with chains. A few claims
are ours, and marked so. Figures, rules and conditions are on the page of each model.

A claim **holds** if it holds under every condition (data, size, setting), and **under some conditions** if it holds
under one. It **does not hold** if it is refuted under one condition and holds under none. Rivals are not conditions: a
claim against several rivals is refuted by one of them.

| verdict | claims |
|---|---|
{counts}
"""
TABLE = "| claim | verdict |"


class Item(NamedTuple):
    """A figure, table or theorem of a work: what it is about, what it was judged by, and what else is to be said."""

    name: str
    about: str
    claims: tuple[str, ...] = ()  # the first words of claims on the pages
    rest: str = ""  # begins with "not tried", and the reason, where nothing was measured or shown


PROOF = "a step of a proof: nothing to measure by itself"
LOWEST = ("PMD, Algorithm 1 as printed, has the lowest {}", "Ours: our variant of PMD has the lowest {}")
DECODER = "not tried: target `decoder` was trained on simulated images, not on MNIST, [stein.md](stein.md)"
FILES = "[files](own-data.md)"
ITEMS = {
    "Dai, He, Dai, Song 2016": (
        Item("Lemma 1", "the objective is 1-strongly convex", rest="an identity: [geometry.md](geometry.md)"),
        Item("Theorem 2(a)", "recurrence of KL", rest="measured, false as printed: [theory.md](theory.md)"),
        Item("Theorem 2(b)", "KL of the averaged iterate", rest="measured, below its bound: [theory.md](theory.md)"),
        Item("Theorem 3, Lemma 7", "one step of weighted particles", rest="measured: [theory.md](theory.md)"),
        Item("Theorem 4", "L1 error of a weighted KDE", rest="measured: [theory.md](theory.md)"),
        Item("Theorem 5", "rate of weighted particles", rest="measured: [theory.md](theory.md)"),
        Item("Theorem 6", "a KDE at every step", rest="not confirmed, up to 17,280 particles: [theory.md](theory.md)"),
        Item("Lemmas 8, 9", "optimisation error", rest="checked, false as printed: [errata.md](errata.md)"),
        Item("Lemmas 12 to 14, 18 to 20; Corollaries 15, 17", "parts of Theorems 4 and 6", rest=PROOF),
        Item("Theorem 16", "L2 error of a weighted KDE", rest="measured: [theory.md](theory.md)"),
        Item("Table 1", "time and memory of a step", rest="measured: [theory.md](theory.md#table-1)"),
        Item("Figure 1(1, 2)", "contours of the mixture", rest="shown: the first picture of the lab"),
        Item("Figure 1(3)", "cross entropy of six methods", tuple(words.format("cross") for words in LOWEST)),
        Item("Figure 1(4)", "total variation of six methods",
             (*(words.format("total") for words in LOWEST), "One-pass SMC is alike", "One-pass SMC stops")),
        Item("Figure 2(1)", "logistic regression, MNIST8M", ("SVI performs", "PMD is comparable", "PMD reaches"),
             "on 280 and 800 images; MNIST8M not tried: it does not come with pmdviz"),
        Item("Figure 2(2)", "sparse GP, year of songs", ("Structured PMD has", "Structured PMD is"),
             "on 10,000 synthetic songs; the real ones not tried: they need a file of yours"),
        Item("Figure 2(3)", "topics of Wikipedia", ("PMD has the lowest perplexity", "One-pass SMC is ahead"),
             "on 395 documents and two simulated corpora; Wikipedia not tried: it does not come with pmdviz"),
        Item("Figure 3", "posteriors of all methods", ("Gibbs sits", "SGLD sits", "SVI sits", "NPV finds"),
             "the mean of ten runs: [race.md](race.md)"),
        Item("Figure 4", "the GP's posterior mean, step by step", ("The posterior mean comes closer",)),
        Item("Figure 5", "topics that were learned", rest="shown on bars, not on Wikipedia: [topics.md](topics.md)"),
    ),
    "Han 2019": (
        Item("Figures 1, 2, 3, 9, 16, 18, 20, 23, 24, 26, 27, 30", "illustrations", rest="nothing to judge"),
        Item("Proposition 2", "first-order determinant", rest="checked, one slip: [errata.md](errata.md), S7"),
        Item("Proposition 3, Figure 4", "KL of SteinIS falls", ("KL falls monotonically",)),
        Item("Figure 5", "error of SteinIS by sample size", ("SteinIS is as good", "Its error of Z")),
        Item("Figure 6", "SteinIS and adaptive IS", ("SteinIS is closer", "Ours: and closer than M-PMC")),
        Item("Figure 7", "log Z of Gauss-Boltzmann machines", ("SteinIS has a smaller error",)),
        Item("Figure 8", "log p(x) of decoders on MNIST", rest=DECODER),
        Item("Table 1", "seconds on the decoder", rest=DECODER),
        Item("Theorems 4, 5, 7, 26, 27, 29", "gradient-free Stein identity and kernel",
             rest="the formulas of `gf_svgd` and `gf_ksd`: [gradient-free.md](gradient-free.md)"),
        Item("Propositions 6, 28", "descent of gradient-free SVGD",
             rest="checked on paper, one slip: [errata.md](errata.md), S14"),
        Item("Figure 10", "width of the surrogate", ("Gradient-free SVGD is best", "With it gradient-free SVGD")),
        Item("Figure 11", "ten Gaussians in 25 dimensions", ("Annealed gradient-free", "In 25", "Ours: in 25")),
        Item("Figure 12", "far start, surrogate off the target", ("From a far start", "From there")),
        Item("Figure 13", "the same, width of the surrogate", ("A wider surrogate",)),
        Item("Figure 14", "Gauss-Boltzmann machine, d = 20",
             rest="not tried: KAMH and KHMC are not built; `rbm` runs with `dim=20`"),
        Item("Figure 15", "GP classification, Glass and SUSY",
             rest=f"not tried: both are read from {FILES}; [claims-stein.md](claims-stein.md) has breast cancer"),
        Item("Lemma 8", "error of black-box IS", ("Weights of least",), "rate not tried ([errata.md](errata.md), S19)"),
        Item("Propositions 10, 12", "continuous parametrisation", rest="checked by tests of `quantile_bins`"),
        Item("Figure 17", "five states", ("On a few values",)),
        Item("Figure 19", "10 x 10 spins", ("On a lattice", "The mean square error falls"), "DHMC is not built"),
        Item("Figure 21", "mean of a Bernoulli machine", rest="not tried: DHMC is not built; see Figure 22"),
        Item("Figure 22", "MMD of a Bernoulli machine", ("On a Boltzmann machine",), "DHMC is not built"),
        Item("Figure 25, Table 2", "binary AlexNet, CIFAR-10", ("Ensembles of binary nets",),
             "on 8 x 8 digits; AlexNet, BNN+ and BENN not tried: CIFAR-10 does not come with pmdviz"),
        Item("Lemmas 16, 30; Propositions 17, 31", "asymptotics of the test", ("The bootstrap of Algorithm 10",),
             "limits themselves are not tried"),
        Item("Figures 28, 29", "power of tests", ("GF-KSD is at least", "GF-KSD is more")),
        Item("Theorems 19, 34; Lemma 33", "KL averaging, plain", ("The error of KL averaging",)),
        Item("Theorems 20, 35, 36", "with control variates", ("With control variates", "That of control variates")),
        Item("Theorems 22, 38, 39", "with weights", ("With weighted draws",)),
        Item("Lemmas 21, 37", "variance of the control variate", rest=PROOF),
        Item("Theorems 23, 25; Lemma 24", "equation of the flow", rest=PROOF),
        Item("Figure 31", "errors by draws", ("The error of KL", "With weighted draws", "With control variates")),
        Item("Figure 32(a, b)", "errors by machines", ("At a fixed n",)),
        Item("Figure 32(c)", "n a power of N/d", ("With n = (N/K)",)),
        Item("Figure 32(d)", "errors by N", rest="measured for a Gaussian mixture: [claims-fit.md](claims-fit.md)"),
        Item("Figure 33(a)", "BIC, three dimensions", ("With the number of components",)),
        Item("Figure 33(b, c)", "80 dimensions, growing dimension", ("The same in more dimensions",)),
        Item("Figure 34", "SensIT Vehicle, Covertype, Epsilon", ("On tables weighted draws",),
             f"on three smaller tables; those of the thesis, read from {FILES}, not tried"),
    ),
    "Tran, Tseng, Kohn 2023": (
        Item("Lemma 1, Theorem 4", "F never rises", rest="measured, down to a floor: [theory.md](theory.md)"),
        Item("Theorem 2, Corollary 3", "one minimiser", ("The best product",)),
        Item("Theorem 6", "posterior consistency", rest="measured, it falls: [theory.md](theory.md)"),
        Item("Figure 1", "lower bound by iteration", rest="shown: a trace of `pmfvb`, [mean-field.md](mean-field.md)"),
        Item("Figure 2", "marginals beside HMC's", ("The marginals of logistic",)),
        Item("Section 6.1", "less time than HMC", rest="not tried: it times PyMC, and seconds compare programs"),
        Item("Figure 3", "stochastic volatility", ("The estimates of mu", "The variance of sigma"),
             "against exact MCMC; SMC's time is not tried, it is not built"),
        Item("Table 1", "simulated net", ("PMFVB-NN has the lowest predictive", "PMFVB-NN has the lowest mean"),
             "5,000 rows and 20 particles; 100,000 and 300 run, and are not judged"),
        Item("Table 2", "HILDA", rest="not tried: its owner gives it to registered users only"),
        Item("Table 3", "census", ("PMFVB-NN has the lowest misclassification",),
             f"on two smaller tables; the census, read from {FILES} (nets of 20,701 weights run), not tried"),
    ),
}  # fmt: skip
NOT_BUILT = {  # by work
    "Dai, He, Dai, Song 2016": """\
the probit regression of appendix C (six lines of `custom_target` run it), and samplers that are named without an
experiment. Perplexity has expected counts of topics, where appendix H.4 samples them.""",
    "Han 2019": """\
α- and f-divergences ((0.9), (0.10)) and score-function gradients ((0.13), (0.14)); the matrix λ of (0.36) in
`adaptive_is` (`stein_mean` has it), and its gradients and those of `svi` by trained functions ((0.149), (0.154)); a
determinant that becomes first order at short steps (knob `determinant` chooses one for the run); KAMH and KHMC, chains
of other papers; the estimate (0.91), whose noise would be in every method's state (Laplace's approximation is the
target instead); the lattice's surrogate without the sign ([errata.md](errata.md), S21);
Figure 17's base with the states' shares as weights (`base_spread` has equal ones, and fails from 10 on); DHMC (Gibbs is
exact on the same machines); BNN+, BENN and AlexNet; the UAI models, named without data.""",
    "Tran, Tseng, Kohn 2023": """\
sequential Monte Carlo for stochastic volatility (exact Markov chains are the reference); the Gaussian with a factor
covariance of Tran et al. 2020 (`gaussian_vb` has full or diagonal ones); the reparametrisation that section 8 proposes.
The product (30) of two factors is option `factors` of `stochastic_volatility`.""",
}


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
    return "".join([*parts, *items_of([line for some in found.values() for line in some])])


def items_of(judged: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Each work's figures, tables and theorems. Raises ValueError for words with which no claim begins."""
    yield "\n## Every figure, table and theorem\n\nClaims with verdicts, a page, or *not tried* with a reason.\n"
    for work, items in ITEMS.items():
        yield f"\n### {work}\n\n**Not built**: {NOT_BUILT[work]}\n\n| what | about | state |\n|---|---|---|\n"
        for item in items:
            said = [item.rest] if item.rest else []
            for words in reversed(item.claims):
                matches = [f"{claim}: {verdict}" for claim, verdict in judged if claim.startswith(words)]
                if not matches:
                    raise ValueError(f"no claim begins with {words!r}")
                said = matches + said
            yield f"| {item.name} | {item.about} | {'; '.join(said)} |\n"


if __name__ == "__main__":
    print(overview(Path(sys.argv[1])), end="")
