"""Who takes part in `bench claims`: each method, the paper's setting, and those among which its best is sought."""

from __future__ import annotations

from itertools import product
from typing import Any, NamedTuple

from benchmarks.chains import DELAY, FIRST_STEPS, POWERS
from benchmarks.search import GRIDS, PAPERS

Settings = tuple[dict[str, Any], ...]


class Entrant(NamedTuple):
    """A method on the common budget; `paper` is None where the paper has no setting of it."""

    method: str
    title: str
    tried: Settings = ({},)  # knobs; the first is our default
    paper: dict[str, Any] | None = None
    paper_budget: int | None = None  # where the paper's setting asks for more than the common one
    slow: bool = False  # two run seeds a data seed, the last budget alone
    in_paper: bool = True  # whether the paper compares with it


def _grid(name: str, **fixed: Any) -> Settings:
    """The default, and every combination that `bench search` tries."""
    grid = {knob: values for knob, values in GRIDS[name].items() if knob not in fixed}
    found = [{**fixed, **dict(zip(grid, values, strict=True))} for values in product(*grid.values())]
    return ({}, *found)


def _langevin() -> Settings:
    """The default, and the step sizes that `bench chains` tries: `first` at t = 1, falling by the power g."""
    pairs = product(POWERS, FIRST_STEPS)
    return ({}, *({"a": first * (DELAY + 1) ** g, "b": DELAY, "g": g} for g, first in pairs))


NAIVE = {
    "step_limit": 0.0,
    "policy": "always",
    "bandwidth_rule": "isotropic",
    "batch_size": 10,
    "batches": "replacement",
}
NAIVE |= {"draws": "independent", "resampler": "multinomial", "eta": 1.0, "n0": 100.0, "kappa": 0.5}

ENTRANTS: dict[str, Entrant] = {
    "pmd": Entrant("pmd", "PMD"),
    "pmd warm": Entrant("pmd", "PMD with warm start", ({"warm_start": True},), in_paper=False),
    "pmd as printed": Entrant(
        "pmd",
        "PMD, Algorithm 1 word for word",
        # h = m^(-1/2), as appendix H says, and h = 0.3 m^(-1/6), Theorem 4's exponent for a second-order kernel
        ({**NAIVE, "bandwidth": 1500**-0.5}, {**NAIVE, "bandwidth": 0.3 * 1500 ** (-1 / 6)}),
        slow=True,
    ),
    "smc": Entrant("smc", "one-pass SMC", _grid("smc"), PAPERS["smc"]),
    "gibbs": Entrant("gibbs", "Gibbs", ({}, {"burn_in": 0}, {"burn_in": 5}, {"burn_in": 20}), {}, 1550 * 400),
    "sgld": Entrant("sgld", "SGLD", _langevin(), {}),
    "svi": Entrant("svi", "SVI", _grid("svi"), {"batch_size": 10}),
    "npv": Entrant("npv", "NPV", _grid("npv"), PAPERS["npv"]),
    "importance": Entrant("importance", "importance sampling", _grid("importance"), in_paper=False),
    "smc_mcmc": Entrant("smc_mcmc", "tempered SMC with moves", _grid("smc_mcmc"), in_paper=False),
    "svgd": Entrant("svgd", "SVGD", ({}, {"length_scale_rule": "liu_wang"}), PAPERS["svgd"], slow=True, in_paper=False),
}
