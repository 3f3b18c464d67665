"""The claims about tests and combined models, each with a rule for every condition under which it is judged."""

from __future__ import annotations

from benchmarks.helpers.claims_rules import against_all
from benchmarks.helpers.fit_bars import DISCRETE
from benchmarks.helpers.fit_rules import (
    Rule,
    better_held_out,
    comes_near,
    ever_rejects,
    far_above,
    keeps_level,
    no_less_power,
    power_of,
    slope_within,
    still_far,
)

CURVES = {  # in which the thesis compares tests: by a perturbation and by the sample size
    "3 x 3 spins, T' varied": "Ising 3 x 3, T = 10",
    "4 x 4 spins, T' varied": "Ising 4 x 4, T = 10",
    "10 x 10 spins, T' varied": "Ising 10 x 10, T = 20",
    "3 x 3 spins, n varied": "Ising 3 x 3, T = 10, n varied",
    "10 x 10 spins, n varied": "Ising 10 x 10, T = 20, n varied",
    "machine, noise varied": "Bernoulli RBM",
    "machine, n varied": "Bernoulli RBM, n varied",
}
ALSO = {"a random field": "Ising, random field", "three values": "Three values"}
MIXED = ("Mixture of PPCA", "Gaussian mixture")
WEIGHTED = ("weighted_printed", "weighted")
TABLES = ("Digits, mixture of two", "Breast cancer, mixture of two", "Visits to doctors, PPCA")
AVERAGES = {"averages": "weighted averages of draws", "products": "product of Gaussians"}
BY_ALPHA = "PPCA, α varied"
BY_BIC, IN_80 = "Gaussian mixture counted by BIC, d varied", "Gaussian mixture of 80 coordinates, counted by BIC"
MODES = "Posterior of two modes, on shards"


def _everywhere(test: str, other: str, strictly: bool = False, also: bool = False) -> dict[str, Rule]:
    curves = {**CURVES, **(ALSO if also else {})}
    return {said: no_less_power(words, test, other, strictly) for said, words in curves.items()}


def _by_surrogate(other: str, strictly: bool = False) -> dict[str, Rule]:
    """With the base alone as the surrogate, and with (0.124) to (0.126)."""
    smooth = _everywhere("gf_ksd_surrogate", other, strictly)
    return _everywhere("gf_ksd", other, strictly) | {f"{said}, smooth surrogate": rule for said, rule in smooth.items()}


CLAIMS: tuple[tuple[str, dict[str, Rule]], ...] = (
    (
        "The bootstrap of Algorithm 10, as printed, rejects wrong samples",
        {said: ever_rejects(words, "gf_ksd_printed") for said, words in CURVES.items() if "varied" in said},
    ),
    (
        "Ours: with counts divided by n the level is kept, to 0.12 at 0.05",
        {
            f"{said}, {test}": keeps_level(words, test)
            for said, words in {**CURVES, **ALSO}.items()
            if "n varied" not in said
            for test in DISCRETE
            if test != "gf_ksd_surrogate" or said != "three values"  # which have no smooth density
        },
    ),
    ("GF-KSD is at least as powerful as DKSD (Figures 28, 29)", _by_surrogate("dksd")),
    (
        "Ours: with the latent draw integrated out it is at least as powerful as DKSD",
        _everywhere("gf_ksd_rao_blackwell", "dksd", also=True),
    ),
    (
        "Ours: integrating out the latent draw makes it more powerful",
        _everywhere("gf_ksd_rao_blackwell", "gf_ksd", strictly=True, also=True),
    ),
    ("GF-KSD is more powerful than MMD (Figures 28, 29)", _by_surrogate("mmd", strictly=True)),
    ("Ours: DKSD is more powerful than MMD", _everywhere("dksd", "mmd", strictly=True)),
    (
        "The error of KL averaging with plain draws falls like 1/n ((0.134), Theorem 19, Figure 31)",
        {words: slope_within(words, "naive", -1.3, -0.7) for words in ("Gaussian", "PPCA", *MIXED)},
    ),
    (
        "With weighted draws it falls like 1/n^2 (Theorem 22, Figure 31)",
        {words: slope_within(words, "weighted_printed", -2.4, -1.6) for words in ("Gaussian", "PPCA", *MIXED)},
    ),
    (
        "Ours: it does so with weights of mean 1 on each machine, at most 10",
        {words: slope_within(words, "weighted", -2.4, -1.6) for words in ("Gaussian", "PPCA", *MIXED)},
    ),
    (
        "With control variates it falls like 1/n^2 (Theorem 20, Figure 31)",
        {words: slope_within(words, "control", -2.4, -1.6) for words in ("Gaussian", "Gaussian mixture")},
    ),
    (
        "At a fixed n the errors fall like one over the number of machines (Figure 32a)",
        {name: power_of("Gaussian, K varied", name, -1.3, -0.7) for name in ("naive", *WEIGHTED)},
    ),
    (
        "That of control variates falls like one over the number of machines as well (Theorem 20)",
        {"Gaussian": power_of("Gaussian, K varied", "control", -1.3, -0.7)},
    ),
    (
        "Ours: it does with the information from other draws",
        {"Gaussian": power_of("Gaussian, K varied", "control_fresh", -1.3, -0.7)},
    ),
    (
        "At a fixed n K that of plain draws stays, that of weighted ones grows like K (Figure 32b)",
        {
            "naive": power_of("Gaussian, K varied at one n K", "naive", -0.3, 0.3),
            **{name: power_of("Gaussian, K varied at one n K", name, 0.7, 1.3) for name in WEIGHTED},
        },
    ),
    (
        "With n = (N/K)^α weighted draws come to the fit to all data, those without weights more slowly (Figure 32c)",
        {
            "at α = 0.8": far_above(BY_ALPHA, "naive", "weighted", 1.0),
            "naive": power_of(BY_ALPHA, "naive", -1.3, -0.7),
            "weighted": power_of(BY_ALPHA, "weighted", -2.3, -1.7),
        },
    ),
    (
        "A mean of parameters fails where components have no order",
        {
            "unmatched against matched": far_above("Gaussian mixture", "linear_unmatched", "linear", 100.0),
        },
    ),
    (
        "With the number of components by BIC, weighted draws lose less held-out log likelihood (Figure 33a)",
        {f"d = 3, {name}": better_held_out("Gaussian mixture, counted by BIC", name, "naive") for name in WEIGHTED},
    ),
    (
        "The same in more dimensions (Figure 33b, c)",
        {
            **{
                f"d = {d}, n = 600": better_held_out(BY_BIC, "weighted", "naive", place)
                for place, d in enumerate((3, 7, 17, 40))
            },
            "d = 80, n = 600": better_held_out(IN_80, "weighted", "naive", 0),
            "d = 80, n = 3,000": better_held_out(IN_80, "weighted", "naive"),
        },
    ),
    (
        "On tables weighted draws lose least held-out log likelihood (Figure 34)",
        {
            f"{words.split(',')[0].lower()}, {name}": against_all(
                *(better_held_out(words, name, other) for other in ("naive", "linear"))
            )
            for words in TABLES
            for name in WEIGHTED
        },
    ),
    (
        "Ours: a product of KL-weighted mixtures keeps them",
        {"at the largest K": comes_near(MODES, "product of mixtures, KL-weighted", 0.25)},
    ),
    (
        "Ours: averaging subposteriors of two modes fails",
        {said: still_far(MODES, combiner, 0.5) for said, combiner in AVERAGES.items()},
    ),
)
