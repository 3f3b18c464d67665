"""The claims about sparse Gaussian processes, each with a rule for every condition under which it is judged."""

from __future__ import annotations

from collections.abc import Mapping

from benchmarks.helpers.claims_rules import NO, OPEN, YES, Answer, Measured, Rule, clear, higher, lowest, pooled, shown

RMSE = "rmse × 1000"  # differences are of the order of 0.001
RIVALS = ("svi", "smc 16", "smc", "subset", "subset 512")


def falls(name: str) -> Rule:
    """yes: the RMSE at the end is clearly below that after each earlier look; no: clearly above one; else open."""

    def judge(measured: Measured) -> Answer:
        by_look = measured[name]["best"][RMSE].mean(axis=1)  # (data seeds, looks)
        drops = [pooled((by_look[:, k] - by_look[:, -1])[:, None]) for k in range(by_look.shape[1] - 1)]
        rose = any(clear((-mean, error)) for mean, error in drops)
        verdict = NO if rose else YES if all(clear(drop) for drop in drops) else OPEN
        said = f"{RMSE} at the end is lower than at the looks before by " + ", ".join(map(shown, drops))
        return Answer(verdict, said, {str(k): drop for k, drop in enumerate(drops)})

    return judge


SIXTEEN = "16 particles, as in the paper"
CLAIMS: tuple[tuple[str, dict[str, Rule]], ...] = (
    ("Structured PMD has the lowest RMSE", {SIXTEEN: lowest("pmd 16", RIVALS, RMSE)}),
    ("Structured PMD is better than SVI-GP", {SIXTEEN: higher("svi", "pmd 16", RMSE)}),
    ("Structured PMD is better than one-pass SMC", {SIXTEEN: lowest("pmd 16", ("smc 16", "smc"), RMSE)}),
    (
        "Structured PMD is better than a subset of the data",
        {
            "of as many data as inducing inputs": lowest("pmd 16", ("subset",), RMSE),
            "of four times as many": lowest("pmd 16", ("subset 512",), RMSE),
        },
    ),
    ("The posterior mean comes closer with every look (Figure 4)", {SIXTEEN: falls("pmd 16")}),
    ("Ours: 16 particles are better than one", {"at the best setting of each": higher("pmd 1", "pmd 16", RMSE)}),
    ("Ours: with one particle structured PMD is better than SVI-GP", {"one particle": higher("svi", "pmd 1", RMSE)}),
)


def in_thousandths(arrays: Mapping[str, Measured]) -> dict[str, Measured]:
    """The same runs with the RMSE in thousandths besides."""
    return {
        name: {
            key: {setting: {**runs, RMSE: 1000 * runs["rmse"]} for setting, runs in settings.items()}
            for key, settings in entrants.items()
        }
        for name, entrants in arrays.items()
    }
