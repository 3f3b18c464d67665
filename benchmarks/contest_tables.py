"""Who takes part in `bench claims`, `claims-logistic`, `claims-gp` and `claims-topics`, and on which data."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any, NamedTuple

Settings = tuple[dict[str, Any], ...]
BOTH = ("data", "evaluations")


class Entrant(NamedTuple):
    """A method, and the settings among which its best is sought: the first is our default."""

    title: str
    method: str
    tried: Settings = ({},)
    more: Settings = ({},)  # what may be added to the best of these where evaluations are counted
    paper: dict[str, Any] | None = None  # the paper's setting
    paper_passes: int = 0  # over the data, where the paper's setting has another budget than the last
    slow: tuple[str, ...] = ()  # clocks on which it has fewer run seeds and the last budget alone; "paper": its setting
    clocks: tuple[str, ...] = BOTH  # of the budgets on which it runs
    passes: float = float("inf")  # after which it stays where it is


class Problem(NamedTuple):
    """A target, a clock, and budgets in its unit; claims are judged at the last one."""

    words: str
    target: str
    options: dict[str, Any]
    budgets: tuple[int, ...]
    unit: str = "data"
    data: range = range(1011, 1016)
    runs: range = range(200, 202)
    batch: int = 0  # observations, where it is the problem's
    base: str = ""  # the problem on the other clock, whose best settings are where this one's search begins


class Contest(NamedTuple):
    """Problems, entrants, the seeds that choose (none of them judges), and the number by which they choose."""

    problems: dict[str, Problem]
    entrants: dict[str, Entrant]
    numbers: tuple[str, ...]  # metrics and fields of a frame, functions of benchmarks/contests.py
    chosen_by: str
    search_data: range = range(1001, 1002)
    search_runs: range = range(100, 101)


def grid(fixed: Mapping[str, Any] = {}, **values: tuple) -> Settings:
    """The default, and every combination of these values."""
    made = (dict(zip(values, each, strict=True)) for each in product(*values.values()))
    return tuple({**fixed, **one} for one in ({}, *made) if values or not one)


def particles(*counts: int) -> Settings:
    """So many of them, besides the default."""
    return ({}, *({"num_particles": m} for m in counts))


# Settings that `bench search` tries on the separated mixture.
GRIDS: dict[str, dict[str, tuple]] = {
    "pmd": {},
    "importance": {"bandwidth": (0.5, 0.75, 1.0, 1.5)},
    "smc": {"jitter": (0.7, 0.85, 1.0, 1.25, 1.5, 2.0), "shrinkage": (True, False), "batch_size": (10, 50)},
    "smc_mcmc": {"num_moves": (2, 3, 5, 8), "move_scale": (0.4, 0.6, 1.0), "ess_threshold": (0.5, 0.8)},
    "svi": {"optimiser": ("natural", "adam"), "eta": (2.0, 5.0, 10.0), "n0": (5.0, 20.0, 40.0)},
    "npv": {"num_components": (10, 20, 30, 50), "eta": (4.0, 6.0), "annealing": (0, 3000, 5000, 10_000)},
    "svgd": {"length_scale_rule": ("liu_wang", "local"), "eta": (10.0, 20.0), "num_particles": (500,)},
    "sgld": {"a": (0.03, 0.06, 0.12), "batch_size": (5, 10, 20), "burn_in": (0.1, 0.2, 0.5)},
    "psgld": {"a": (0.005, 0.01, 0.02), "batch_size": (5, 10, 20), "burn_in": (0.1, 0.2, 0.5)},
    "gibbs": {"burn_in": (0.05, 0.1, 0.2, 0.5)},
    "hmc": {"tune": (False,), "time_step": (0.05, 0.1), "leapfrog_steps": (4, 6, 10), "burn_in": (0.1, 0.2, 0.5)},
    "mala": {"tune": (True, False), "time_step": (0.1, 0.15), "burn_in": (0.1, 0.2, 0.5)},
}
ONE_PASS = " (one pass)"  # such an entrant is the method, value and gradient of a point counted once
GRIDS |= {name + ONE_PASS: {**GRIDS[name], "one_pass": (True,)} for name in ("hmc", "mala")}
PAPERS: dict[str, dict[str, Any]] = {  # as the methods' own papers have them
    "smc": {"jitter_rule": "covariance", "jitter": 0.35},
    "npv": {"annealing": 0, "start": "prior"},
    "svgd": {"length_scale_rule": "liu_wang", "optimiser": "adagrad"},
}
# Steps of SGLD that `bench chains` tries: the first one at t = 1, falling by a power.
POWERS, FIRST_STEPS, DELAY = (0.0, 0.33, 0.55, 1.0), (0.001, 0.002, 0.005, 0.01, 0.02, 0.05), 100.0
LANGEVIN: Settings = tuple(
    {"a": first * (DELAY + 1) ** g, "b": DELAY, "g": g} for g, first in product(POWERS, FIRST_STEPS)
)

# The mixture with two modes (section 6, appendix H.1)

SEPARATED = {"num_data": 400, "sigma_x": 1.5}  # modes well separated for every data seed
PAPERS_DATA = {"num_data": 1000, "sigma_x": 2.5}
CHEAP = {"batches": "replacement", "draws": "independent", "resampler": "multinomial"}
PRINTED = {"step_limit": 0.0, "policy": "always", "bandwidth_rule": "isotropic", **CHEAP}
STEPS = {"batch_size": 100, "eta": 2.0, "n0": 20.0, "kappa": 1.0}
SCHEDULES = ({"batch_size": 10, "eta": 1.0, "n0": 100.0, "kappa": 0.5}, STEPS,
             {"batch_size": 400, "eta": 4.0, "n0": 5.0, "kappa": 1.0})  # fmt: skip
# h = m^(-1/2), as appendix H says, and h = 0.3 m^(-1/6), Theorem 4's exponent for a second-order kernel, and two more
WIDTHS = (0.01, 1500**-0.5, 0.05, 0.3 * 1500 ** (-1 / 6))
# From Algorithm 1 as printed to our default, one change at a time; each keeps the changes before it.
ABLATION: dict[str, dict[str, Any]] = {
    "Algorithm 1 as printed, with our step sizes": {**PRINTED, **STEPS, "bandwidth": 0.05},
    "particles redrawn only when their ESS falls": {"policy": "ess"},
    "batches go through all data in turn": {"batches": "epochs"},
    "systematic resampling": {"resampler": "systematic"},
    "balanced draws": {"draws": "balanced"},
    "kernels with the shape of their clusters": {"bandwidth_rule": "shaped", "bandwidth": 1.0},
    "limited steps: our default": {"step_limit": 0.5},
}


def _mixture(words: str, options: dict[str, Any], *budgets: int) -> dict[str, Problem]:
    """On both clocks: 30 million evaluations are those of 1,500 particles at 20,000 observations."""
    data = Problem(words, "mixture", options, budgets, runs=range(200, 204))
    return {"data": data, "evaluations": data._replace(budgets=(30_000_000,), unit="evaluations")}


_separated = _mixture("separated modes", SEPARATED, 400, 1000, 2000, 5000, 10_000, 20_000)
_papers = _mixture("the paper's data", PAPERS_DATA, 1000, 2000, 5000, 10_000, 20_000)
MIXTURE = Contest(
    {
        "separated": _separated["data"],
        "separated, evaluations": _separated["evaluations"]._replace(base="separated"),
        "paper's": _papers["data"],
        "paper's, evaluations": _papers["evaluations"]._replace(base="paper's"),
    },
    {
        "pmd": Entrant("PMD, our variant", "pmd", more=particles(500, 5000)),
        "pmd warm": Entrant("PMD, our variant with warm start", "pmd", ({"warm_start": True},), clocks=("data",)),
        "pmd as printed": Entrant(
            "PMD, Algorithm 1 as printed", "pmd", slow=BOTH, clocks=("data",),
            tried=tuple({**PRINTED, **schedule, "bandwidth": h} for schedule, h in product(SCHEDULES, WIDTHS)),
        ),
        "smc": Entrant("one-pass SMC", "smc", grid(**GRIDS["smc"]), particles(10_000, 75_000), PAPERS["smc"]),
        "gibbs": Entrant(
            "Gibbs", "gibbs", grid(**GRIDS["gibbs"]), paper={"burn_in": 50}, paper_passes=1550, slow=BOTH[1:]
        ),
        "sgld": Entrant("SGLD", "sgld", ({}, *LANGEVIN), ({"batch_size": 400},), {"burn_in": 1000}, slow=BOTH[1:]),
        "svi": Entrant("SVI", "svi", grid(**GRIDS["svi"]), paper={"batch_size": 10}),
        # Appendix H.1 has 1,500 components; it does not say the batch: with one of 10 a run would take half an hour
        "npv": Entrant("NPV", "npv", grid(**GRIDS["npv"]), slow=("paper",),
                       paper={**PAPERS["npv"], "num_components": 1500, "batch_size": 100}),
        "importance": Entrant(
            "importance sampling", "importance", grid(**GRIDS["importance"]), particles(75_000)
        ),
        "smc_mcmc": Entrant(
            "tempered SMC with moves", "smc_mcmc", grid(**GRIDS["smc_mcmc"]), particles(5300, 12_000)
        ),
        "psgld": Entrant("preconditioned SGLD", "psgld", grid(**GRIDS["psgld"]), clocks=BOTH[:1]),
        **{name: Entrant(name.upper(), name, grid(**GRIDS[name])) for name in ("hmc", "mala")},
        **{f"{name}, one pass": Entrant(name.upper() + ONE_PASS, name, grid(**GRIDS[name + ONE_PASS])[1:])
           for name in ("hmc", "mala")},
        "svgd": Entrant("SVGD", "svgd", ({}, {"length_scale_rule": "liu_wang"}), particles(500), PAPERS["svgd"],
                        slow=BOTH),
    },
    ("tv", "cross_entropy", "kl_reverse", "mode_mass", "exact_mass", "density_evaluations", "gradient_evaluations"),
    "tv",
    range(1001, 1004),
    range(100, 102),
)  # fmt: skip

# Logistic regression: eight against six (appendix H.2)

PASSES = (0.25, 0.5, 1, 2, 3, 5)
COUNT = {"num_particles": 1000}
OURS = {**COUNT, "eta": 1.0, "n0": 100.0, "kappa": 0.5, "batch_size": 100}  # appendix H.2
ALGORITHM_1 = {**OURS, "policy": "always", "step_limit": 0.0, "bandwidth_rule": "isotropic", **CHEAP}
REFERENCE = "reference"


def _images(
    words: str, n: int, dim: int, target: str = "logistic", runs: range = range(200, 201), **more: Any
) -> Problem:
    options = {"dim": dim, "num_data": n, "prior_sd": 1.0, **more}
    data = range(1011, 1016 if len(runs) > 1 else 1014)
    return Problem(words, target, options, tuple(round(p * n) for p in PASSES), data=data, runs=runs)


LOGISTIC = Contest(
    {
        "digits": _images("8 x 8 pixels, 10 components, 280 images", 280, 11, runs=range(200, 202), data="digits"),
        "mnist": _images("MNIST, 50 components, 800 images", 800, 51, data="mnist"),
        "jittered": _images("MNIST jittered, 50 components, 4,000 images", 4000, 51, "jittered"),
    },
    {
        "pmd": Entrant("PMD, our default", "pmd", (COUNT,)),
        "pmd warm": Entrant("PMD, our default, warm start", "pmd", ({**COUNT, "warm_start": True},)),
        "pmd, paper's steps": Entrant("PMD, paper's step size", "pmd", (OURS,)),
        "pmd as printed": Entrant(
            "PMD, Algorithm 1 as printed", "pmd", tuple({**ALGORITHM_1, "bandwidth": h} for h in (1000**-0.5, 0.1))
        ),
        "jaakkola_jordan": Entrant(
            "SVI, Jaakkola-Jordan bound", "jaakkola_jordan", grid(eta=(1.0, 5.0), n0=(0.0,), kappa=(0.7, 1.0))
        ),
        "svi": Entrant("SVI, reparametrised Gaussian", "svi", grid(eta=(2.0, 5.0), n0=(5.0,))),
        "sgld": Entrant(
            "SGLD", "sgld", grid(a=(0.01, 0.1, 0.3), batch_size=(10, 50)), paper={"batch_size": 100, "burn_in": 1000}
        ),
        "smc": Entrant("one-pass SMC", "smc", grid(COUNT, jitter=(0.3, 0.85), batch_size=(50,)),
                       paper={**COUNT, **PAPERS["smc"], "batch_size": 100}),
        "npv": Entrant("NPV", "npv", grid({"annealing": 0}, eta=(4.0, 20.0), num_components=(2,)),
                       paper={**PAPERS["npv"], "optimiser": "lbfgs", "num_components": 5}),
        "svgd": Entrant(
            "SVGD, 200 particles", "svgd", grid({"num_particles": 200}, eta=(30.0,), n0=(30.0, 100.0)),
            paper={**PAPERS["svgd"], "num_particles": 200},
        ),
        REFERENCE: Entrant("HMC, four long chains", ""),
    },
    ("accuracy", "log_loss", "mean_error"),
    "log_loss",
)  # fmt: skip

# Sparse Gaussian processes (appendix H.3)


def _looks(batch: int, *steps: int) -> tuple[int, ...]:
    return tuple(batch * step for step in steps)


DECAYS: Settings = ({}, {"eta": 0.5}, {"eta": 2.0, "n0": 2.0}, {"n0": 5.0}, {"eta": 1.0, "n0": 0.0, "kappa": 1.0})
GP = Contest(
    {
        "function": Problem("the function of appendix H.3.1", "sparse_gp", {}, _looks(128, 1, 5, 10, 20, 50, 80),
                            batch=128),
        "songs": Problem("10,000 synthetic songs", "song_years", {"num_data": 10_000, "dim": 128},
                         _looks(512, 1, 5, 10, 20, 40), batch=512),
    },
    {
        "pmd 16": Entrant("structured PMD, 16 particles", "structured_pmd", DECAYS),
        "pmd 1": Entrant("structured PMD, 1 particle", "structured_pmd",
                         tuple({"num_particles": 1, **each} for each in DECAYS)),
        "svi": Entrant("SVI-GP", "svi_gp", DECAYS),
        "subset": Entrant("subset of data, 128", "subset_gp", ({"subset_size": 128},)),
        "subset 512": Entrant("subset of data, 512", "subset_gp", ({"subset_size": 512},)),
        "smc 16": Entrant("one-pass SMC, 16 particles", "smc", ({"num_particles": 16},)),
        "smc": Entrant("one-pass SMC, 1,500 particles", "smc"),
    },
    ("rmse", "evaluations"),
    "rmse",
    range(1001, 1003),
)  # fmt: skip

# Topics (appendix H.4)

SLOWER: Settings = ({}, {"kappa": 0.7}, {"eta": 1.0, "n0": 10.0}, {"eta": 5.0, "n0": 10.0, "kappa": 1.0},
                    {"eta": 2.0, "n0": 10.0, "kappa": 0.7})  # fmt: skip


def _corpus(words: str, n: int = 1000, **options: Any) -> Problem:
    return Problem(words, "topics", {"num_data": n, **options}, tuple(n * k for k in range(1, 6)))


def _topics(title: str, method: str, tried: Settings, passes: float = float("inf"), **fixed: Any) -> Entrant:
    return Entrant(title, method, tuple({"batch_size": 100, **fixed, **one} for one in tried), passes=passes)


SWEEPS: Settings = ({}, {"sweeps": 20})
TOPICS = Contest(
    {
        "bars": _corpus("bars on a 5 x 5 image", data="bars", num_topics=10),
        "model": _corpus("a corpus drawn from the model", data="model", num_topics=20, vocabulary=500, length=100,
                         beta=0.05),
        "reuters": _corpus("Reuters, 395 documents", 300, data="reuters", num_topics=20),
    },
    {
        **{f"pmd {m}": _topics(f"structured PMD, {m} particles", "structured_pmd", SLOWER, num_particles=m)
           for m in (1, 16)},
        "online_vb": _topics("online VB (SVI)", "online_vb", SLOWER),
        "sgrld": _topics("SGRLD", "sgrld", ({}, {"a": 0.3}, {"a": 3.0}, {"a": 10.0}, {"a": 30.0})),
        **{f"smc {m}": _topics(f"one-pass SMC-LDA, {m} particles", "particle_lda", SWEEPS, 1, num_particles=m)
           for m in (1, 16)},
    },
    ("perplexity", "word_log_loss", "unigram", "evaluations"),
    "perplexity",
)  # fmt: skip
CONTESTS = {"claims": MIXTURE, "claims-logistic": LOGISTIC, "claims-gp": GP, "claims-topics": TOPICS}
