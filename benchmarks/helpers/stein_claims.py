"""The claims about Stein methods and annealing, each with a rule for every condition under which it is judged."""

from __future__ import annotations

import numpy as np

from benchmarks.helpers.claims_rules import against_all
from benchmarks.helpers.stein_rules import (
    Rule,
    as_good,
    falls,
    inverse_in_number,
    keeps_variance,
    lower,
    unbiased,
)

STEIN, THESIS = "SteinIS, 200 followers", "SteinIS as in the thesis, 200 followers"
STEPS = [f"SteinIS as in the thesis, step {k}" for k in (10, 25, 100, 400)]
DIRECT, FACTOR_9 = "Direct draws, 200", "SteinIS, width factor 9"
ERRORS = {"x": "E x", "x2": "E x²", "cos": "E cos(w'x + b)"}
WITH_GRADIENTS: tuple[tuple[str, dict[str, Rule]], ...] = (
    (
        "Ours: the particles of SVGD keep at least 85 % of a Gaussian's variance",
        {
            f"{words}, d = {d}": keeps_variance(f"E1: N(0, I), {rule}, d = {d}")
            for rule, words in (("thesis", "the thesis' width"), ("liu_wang", "Liu and Wang's"), ("median", "h = med²"))
            for d in (2, 5, 25)
        },
    ),
    (
        "SteinIS is as good as direct draws from the target",
        {f"{words}, {name}": as_good(row, DIRECT, what) for words, row in (("our defaults", STEIN),
         ("the thesis' settings", THESIS)) for what, name in ERRORS.items()},
    ),
    (
        "Its error of Z falls like one over the number of followers",
        {"from 50 to 800": inverse_in_number("SteinIS, 50 followers", "SteinIS, 800 followers", 16, "z")},
    ),
    ("KL falls monotonically from step to step", {"the thesis' settings": falls(STEPS, "kl")}),
    (
        "SteinIS is closer to the bent mixture than adaptive importance sampling by descent of chi^2",
        {"200 components": lower("SteinIS, q0 of variance 1, 500 leaders", "chi^2, 200 components", "kl")},
    ),
    (
        "Ours: and closer than M-PMC",
        {"200 components": lower("SteinIS, q0 of variance 1, 500 leaders", "M-PMC, 200 components", "kl")},
    ),
    (
        "SteinIS has a smaller error of log Z than AIS and HAIS on machines",
        {
            f"d = {d}": against_all(
                *(
                    lower(f"{FACTOR_9}, d = {d}", f"{rival}, 300 temperatures, d = {d}", "log_z_error", np.abs)
                    for rival in ("AIS", "HAIS")
                )
            )
            for d in (5, 20)
        },
    ),
    (
        "The path of SVGD gives log Z",
        {"V-statistic, as printed": unbiased("Path integration, V-statistic"),
         "U-statistic": unbiased("Path integration, U-statistic")},
    ),
    (
        "AIS on batches is unbiased",
        {f"batches of {b}": unbiased(f"batch {b}", "error") for b in (100, 40, 10)},
    ),
    ("Ours: AIS on all data at once is unbiased", {"200 data": unbiased("batch 200", "error")}),
)  # fmt: skip


def _mistakes(accuracy: np.ndarray) -> np.ndarray:
    return 1 - accuracy


RATIO_3, ANNEALED = "E5: GF-SVGD, ratio 3.16", "E6: AGF, kernels times p, 12x"
OTHER_RATIOS = [f"E5: GF-SVGD, ratio {r:g}" for r in (0.5, 1.0, 2.0, 10.0, 100.0)]
FAR = "E5: GF-SVGD, ratio {:g}, surrogate at (-2, -2)"
TABLE, LATTICE = "Five values, -1 to 1", "10 x 10, J = {:g}, n = 100"
SETTINGS = {"our settings": "tanh", "the thesis' settings": "base, width 1"}
POINTS = {"as wide as twice the target": 0.0, "and half a unit off": 0.5}


def _on_lattices(what: str) -> dict[str, Rule]:
    return {
        f"{words}, J = {J:g}": lower(f"{setting}, {LATTICE.format(J)}", f"Direct draws, {LATTICE.format(J)}", what)
        for words, setting in SETTINGS.items()
        for J in (0.0, 0.05, 0.1, 0.15)
    }


WITHOUT_GRADIENTS: tuple[tuple[str, dict[str, Rule]], ...] = (
    (
        "Gradient-free SVGD is best with a surrogate of about three times the target's variance",
        {"ratio 3.16 against 0.5 to 100": against_all(*(lower(RATIO_3, row, "mmd2") for row in OTHER_RATIOS))},
    ),
    (
        "With it gradient-free SVGD is closer to the target than SVGD, and than as many draws",
        {"d = 2": against_all(*(lower(RATIO_3, f"E5: {rival}", "mmd2") for rival in ("SVGD", "direct draws")))},
    ),
    (
        "From a far start it is closer to the target than weighted draws of its surrogate (Figure 12)",
        {"ratio 1": lower(FAR.format(1), "E5: importance sampling, ratio 1, draws around (-2, -2)", "mmd2")},
    ),
    (
        "From there it is as good as SVGD (Figure 12)",
        {"ratio 1": as_good(FAR.format(1), "E5: SVGD", "mmd2")},
    ),
    (
        "A wider surrogate is better there, and one that is too wide is worse again (Figure 13)",
        {
            "1 to 6": lower(FAR.format(6), FAR.format(1), "mmd2"),
            "6 to 100": lower(FAR.format(6), FAR.format(100), "mmd2"),
        },
    ),
    (
        "Annealed gradient-free SVGD is nearly as good as SVGD",
        {f"d = {d}": as_good(f"{ANNEALED}, d = {d}", f"E6: SVGD, d = {d}", "mmd2") for d in (2, 5, 10, 25)},
    ),
    (
        "In 25 dimensions it is better than gradient-free SVGD",
        {"d = 25": lower(f"{ANNEALED}, d = 25", "E6: GF-SVGD, rho = q0, d = 25", "mmd2")},
    ),
    (
        "In 25 dimensions it is better than gradient-free AIS (Figure 11)",
        {
            "centres as printed": lower(f"{ANNEALED}, d = 25", "GF-AIS as printed, d = 25", "mmd2"),
            "pilots as centres": lower(f"{ANNEALED}, d = 25", "GF-AIS, d = 25", "mmd2"),
        },
    ),
    (
        "Ours: in 25 dimensions it is better than gradient-free AIS by random walks",
        {"d = 25": lower(f"{ANNEALED}, d = 25", "GF-AIS, random walk, d = 25", "mmd2")},
    ),
    (
        "Weights of least gradient-free discrepancy are better than importance weights",
        {
            f"{m} points, {words}": lower(
                f"Gradient-free black-box IS, points of N({mean:g}, 2 I), m = {m}",
                f"Importance sampling, points of N({mean:g}, 2 I), m = {m}",
                "x",
            )
            for words, mean in POINTS.items()
            for m in (50, 200)
        },
    ),
    (
        "On a few values discrete gradient-free SVGD is nearer than as many independent draws",
        {
            f"{n} particles": lower(f"{TABLE}, {n} particles", f"{TABLE}, {n} independent samples", "tv_states")
            for n in (20, 50, 100, 500)
        },
    ),
    (
        "On a lattice of 10 x 10 its means are better than those of as many independent draws",
        _on_lattices("mean"),
    ),
    ("Ours: and so are the products of its neighbours", _on_lattices("neighbours")),
    (
        "The mean square error falls like one over the number of particles",
        {
            f"from 20 to 100, J = {J:g}": inverse_in_number(
                f"tanh, 10 x 10, J = {J:g}, n = 20", f"tanh, 10 x 10, J = {J:g}, n = 100", 5, "mean"
            )
            for J in (0.0, 0.1)
        },
    ),
    (
        "On a Boltzmann machine it is closer to the target than a Gibbs chain",
        {words: lower(f"{s}, RBM, n = 100", "Gibbs, RBM, n = 100", "mmd2") for words, s in SETTINGS.items()},
    ),
    (
        "Ensembles of binary nets by ranks are more accurate than bagged straight-through nets",
        {
            f"{n} nets": lower(f"GF-SVGD, τ = 10, n = {n}", f"Straight-through, bagged, n = {n}", "accuracy", _mistakes)
            for n in (5, 10)
        },
    ),
)
CLAIMS = WITH_GRADIENTS + WITHOUT_GRADIENTS
