"""How chains that accept or reject find their step: dual averaging towards a share of accepted proposals."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from pmdviz.knobs import Flag
from pmdviz.methods.mcmc.chain import ChainKnobs

FIRST_TIME_STEP = 0.1  # where the tuning starts
T0, KAPPA = 10.0, 0.75  # of dual averaging, with the names and values of Hoffman & Gelman 2014, section 3.2


class Plan(NamedTuple):
    """How the step is tuned."""

    draws: int  # for so many
    towards: float  # mu, the step that the tuning is drawn to
    gamma: float  # the smaller, the less it is


# Hoffman & Gelman's mu and gamma try steps ten times the first, which only a long burn-in can afford. Where the burn-in
# is a share of the draws, and the run may be over after a dozen of them, the tuning stays near where it starts (ours).
GENTLE = Plan(50, FIRST_TIME_STEP, 0.2)


def tune_knob(step: str) -> Flag:
    """Whether the `step`, in words, is tuned."""
    return Flag(
        True,
        basic=True,
        label=f"Tune the {step}",
        doc=f"The {step} is tuned to a target acceptance rate (dual averaging) over the first 50 draws, or over a "
        "burn-in that is given as a number; then it stays fixed.",
    )


class TunedKnobs(ChainKnobs):
    """The knobs of a chain whose step may be tuned: a subclass declares `tune`, and says the step without it."""

    tune: bool

    @property
    def fixed_step(self) -> float:
        """The step that is not tuned."""
        raise NotImplementedError

    @property
    def plan(self) -> Plan:
        """How the step is tuned: over a burn-in that is a number of draws, or else gently over the first 50."""
        if 0 < self.burn_in < 1:
            return GENTLE
        return Plan(int(self.burn_in), 10 * FIRST_TIME_STEP, 0.05)


class Tuning(NamedTuple):
    """Dual averaging of the log step (Hoffman & Gelman 2014, Eq. 6)."""

    steps: int = 0
    shortfall: float = 0.0  # H, a running mean of wanted minus found acceptance
    log_step: float = float(np.log(FIRST_TIME_STEP))
    averaged: float = float(np.log(FIRST_TIME_STEP))  # of log_step, late ones counting more


class TunedState(Protocol):
    """What the state of such a chain has."""

    @property
    def iteration(self) -> int:
        """Draws so far."""

    @property
    def tuning(self) -> Tuning:
        """What was learnt."""


def current_step(state: TunedState, knobs: TunedKnobs) -> float:
    """The knob; with tuning the one being tried while it lasts, and the averaged one from then on."""
    if not knobs.tune:
        return knobs.fixed_step
    tuning = state.tuning
    return float(np.exp(tuning.log_step if state.iteration < knobs.plan.draws else tuning.averaged))


def tuned(tuning: Tuning, missing: float, plan: Plan) -> Tuning:
    """One step of dual averaging; `missing` is the wanted acceptance minus the one found."""
    t = tuning.steps + 1
    shortfall = tuning.shortfall + (missing - tuning.shortfall) / (t + T0)
    log_step = float(np.log(plan.towards) - np.sqrt(t) / plan.gamma * shortfall)
    averaged = t**-KAPPA * log_step + (1 - t**-KAPPA) * tuning.averaged
    return Tuning(t, shortfall, log_step, averaged)


def is_tuned(state: TunedState, knobs: TunedKnobs) -> bool:
    """Whether the next step still changes the one that is tuned."""
    return bool(knobs.tune and state.iteration < knobs.plan.draws)
