"""Who takes part in `bench claims`: each method, the paper's setting, and those among which its best is sought."""

from __future__ import annotations

from itertools import product
from typing import Any, NamedTuple

from benchmarks.chains import DELAY, FIRST_STEPS, GIBBS_BURN_IN, POWERS, SGLD_BURN_IN
from benchmarks.search import GRIDS, ONE_PASS, PAPERS

BOTH = ("data", "evaluations")
Settings = tuple[dict[str, Any], ...]


class Entrant(NamedTuple):
    """A method on the common budget; `paper` is None where the paper has no setting of it."""

    method: str
    title: str
    tried: Settings = ({},)  # knobs, on the clock of observations used; the first is our default
    more: Settings = ({},)  # what may be added to the best of these where evaluations are counted
    paper: dict[str, Any] | None = None
    paper_passes: int | None = None  # over the data, where the paper's setting asks for more than the common budget
    paper_slow: bool = False  # whether it has fewer run seeds at the paper's setting
    slow: tuple[str, ...] = ()  # clocks on which it has fewer run seeds and the last budget alone
    in_paper: bool = True  # whether the paper compares with it
    clocks: tuple[str, ...] = BOTH  # of the budgets on which it runs


def _grid(name: str, **fixed: Any) -> Settings:
    """The default, and every combination that `bench search` tries."""
    grid = {knob: values for knob, values in GRIDS[name].items() if knob not in fixed}
    found = [{**fixed, **dict(zip(grid, values, strict=True))} for values in product(*grid.values())]
    return ({}, *found)


def _langevin() -> Settings:
    """The default, and the step sizes that `bench chains` tries: `first` at t = 1, falling by the power g."""
    pairs = product(POWERS, FIRST_STEPS)
    return ({}, *({"a": first * (DELAY + 1) ** g, "b": DELAY, "g": g} for g, first in pairs))


def _particles(*counts: int) -> Settings:
    return ({}, *({"num_particles": m} for m in counts))


PRINTED = {
    "step_limit": 0.0,
    "policy": "always",
    "bandwidth_rule": "isotropic",
    "batch_size": 100,
    "batches": "replacement",
    "draws": "independent",
    "resampler": "multinomial",
    "eta": 2.0,
    "n0": 20.0,
    "kappa": 1.0,
}
# h = m^(-1/2), as appendix H says, and h = 0.3 m^(-1/6), Theorem 4's exponent for a second-order kernel, and two more
WIDTHS = (0.01, 1500**-0.5, 0.05, 0.3 * 1500 ** (-1 / 6))
SCHEDULES = (
    {"batch_size": 10, "eta": 1.0, "n0": 100.0, "kappa": 0.5},
    {"batch_size": 100, "eta": 2.0, "n0": 20.0, "kappa": 1.0},
    {"batch_size": 400, "eta": 4.0, "n0": 5.0, "kappa": 1.0},
)

# Appendix H.1 has 1,500 components; it does not say the batch, and with one of 10 a run would take half an hour
NPV_1500 = {**PAPERS["npv"], "num_components": 1500, "batch_size": 100}

ENTRANTS: dict[str, Entrant] = {
    "pmd": Entrant("pmd", "PMD, our variant", more=_particles(500, 5000)),
    "pmd warm": Entrant(
        "pmd", "PMD, our variant with warm start", ({"warm_start": True},), in_paper=False, clocks=("data",)
    ),
    "pmd as printed": Entrant(
        "pmd",
        "PMD, Algorithm 1 as printed",
        tuple({**PRINTED, **schedule, "bandwidth": h} for schedule, h in product(SCHEDULES, WIDTHS)),
        slow=BOTH,
        clocks=("data",),
    ),
    "smc": Entrant("smc", "one-pass SMC", _grid("smc"), _particles(10_000, 75_000), PAPERS["smc"]),
    "gibbs": Entrant(
        "gibbs", "Gibbs", _grid("gibbs"), paper={"burn_in": GIBBS_BURN_IN}, paper_passes=1550, slow=BOTH[1:]
    ),
    "sgld": Entrant("sgld", "SGLD", _langevin(), ({"batch_size": 400},), {"burn_in": SGLD_BURN_IN}, slow=BOTH[1:]),
    "svi": Entrant("svi", "SVI", _grid("svi"), paper={"batch_size": 10}),
    "npv": Entrant("npv", "NPV", _grid("npv"), paper=NPV_1500, paper_slow=True),
    "importance": Entrant("importance", "importance sampling", _grid("importance"), _particles(75_000), in_paper=False),
    "smc_mcmc": Entrant(
        "smc_mcmc", "tempered SMC with moves", _grid("smc_mcmc"), _particles(5300, 12_000), in_paper=False
    ),
    "psgld": Entrant("psgld", "preconditioned SGLD", _grid("psgld"), in_paper=False, clocks=BOTH[:1]),
    "hmc": Entrant("hmc", "HMC", _grid("hmc"), in_paper=False),
    "mala": Entrant("mala", "MALA", _grid("mala"), in_paper=False),
    "hmc, one pass": Entrant("hmc", "HMC" + ONE_PASS, _grid("hmc" + ONE_PASS)[1:], in_paper=False),
    "mala, one pass": Entrant("mala", "MALA" + ONE_PASS, _grid("mala" + ONE_PASS)[1:], in_paper=False),
    "svgd": Entrant(
        "svgd",
        "SVGD",
        ({}, {"length_scale_rule": "liu_wang"}),
        _particles(500),
        PAPERS["svgd"],
        slow=BOTH,
        in_paper=False,
    ),
}  # fmt: skip

# From Algorithm 1 as printed to our default, one change at a time; each keeps the changes before it.
ABLATION: tuple[tuple[str, dict[str, Any]], ...] = (
    ("Algorithm 1 as printed, with our step sizes", {**PRINTED, "bandwidth": 0.05}),
    ("particles redrawn only when their ESS falls", {"policy": "ess"}),
    ("batches go through all data in turn", {"batches": "epochs"}),
    ("systematic resampling", {"resampler": "systematic"}),
    ("balanced draws", {"draws": "balanced"}),
    ("kernels with the shape of their clusters", {"bandwidth_rule": "shaped", "bandwidth": 1.0}),
    ("limited steps: our default", {"step_limit": 0.5}),
)
