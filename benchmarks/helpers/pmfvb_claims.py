"""The claims about particle mean-field VB, each with a rule for every condition under which it is judged."""

from __future__ import annotations

from benchmarks.helpers.claims_rules import against_all
from benchmarks.helpers.mean_field_rules import alike, fits, one_answer, same_mean, same_sd, too_narrow, within
from benchmarks.helpers.network_rows import PROBLEMS, RIVALS
from benchmarks.helpers.stein_rules import Rule, lower

RATIOS = ("ratio_1", "ratio_2", "ratio_3", "ratio_4")
DATA = {"correlated 0.71 across the blocks": 0, "data set 1": 1, "hardly correlated": 2}
EXACT, SMALL = "Exact MCMC, data seed 3", "PMFVB, h = 0.002, data seed 3"
OURS = "PMFVB-NN"


def _best(what: str) -> dict[str, Rule]:
    """Against every rival, on every problem that has the number."""
    return {
        problem.words: against_all(*(lower(problem.row(OURS), problem.row(rival), what) for rival in RIVALS))
        for problem in PROBLEMS
        if what in problem.numbers
    }


CLAIMS: tuple[tuple[str, dict[str, Rule]], ...] = (
    (
        "The marginals of logistic regression are similar to those of HMC (Figure 2)",
        {words: alike(f"PMFVB, data {seed}", RATIOS) for words, seed in DATA.items()},
    ),
    (
        "Ours: their sds are those of Laplace's approximation with the other block known, to 0.1",
        {words: within(f"PMFVB, data {seed}", "off_theory", 0.1) for words, seed in DATA.items()},
    ),
    (
        "The best product is the only one (Theorem 2, Corollary 3)",
        {"two modes, q started at either": one_answer("Two modes, from -1.5", "Two modes, from 1.5", "first")},
    ),
    (
        "The estimates of mu and phi in stochastic volatility are almost those of exact sampling (Figure 3)",
        {
            **{f"mean of {what}, h = 0.002": same_mean(SMALL, EXACT, what) for what in ("mu", "phi")},
            **{f"sd of {what}, h = 0.002": same_sd(SMALL, EXACT, what) for what in ("mu", "phi")},
            **{
                f"mean of {what}, h = 0.02": same_mean("PMFVB, h = 0.02, data seed 3", EXACT, what)
                for what in ("mu", "phi")
            },
        },
    ),
    ("The variance of sigma^2 is underestimated", {"h = 0.002": too_narrow(SMALL, EXACT, "s2")}),
    ("PMFVB-NN has the lowest predictive score (Tables 1 to 3)", _best("pps")),
    ("PMFVB-NN has the lowest mean square error (Tables 1 and 2)", _best("mse")),
    ("PMFVB-NN has the lowest misclassification rate (Table 3)", _best("misclassification")),
    (
        "Its particles may start from draws of a density p0 (Algorithm 2, line 3)",
        {
            "around one common draw": fits("PMFVB-NN, one draw"),
            "from a draw each": fits("PMFVB-NN, a draw each"),
        },
    ),
)
