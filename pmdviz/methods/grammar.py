"""The grammar of the methods: how each one propagates, reweights, resamples, moves and adapts, in terms they share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

from pmdviz.errors import unknown


class Column(NamedTuple):
    """What a method does in one respect, and the terms for it."""

    title: str
    about: str  # the question that its cells answer
    terms: Mapping[str, str]  # term -> what it means, in a sentence


# The terms of each column by the name of its field of `Grammar`, from the simplest on.
COLUMNS: Mapping[str, Column] = MappingProxyType(
    {
        "propagate": Column(
            "Propagate",
            "Where points come from, before the posterior decides about them.",
            {
                "prior": "Draws of the prior, or of q₀ where there are no data.",
                "random start": "Points at random that are no draws of the prior.",
                "proposal": "Draws of a density that can be evaluated, so that weights correct for it.",
                "conditional": "Draws of what comes next, given all that the particle has drawn before.",
                "fitted density": "Draws of the fitted density at every step, to estimate its gradient.",
            },
        ),
        "reweight": Column(
            "Reweight",
            "How a step changes the weights.",
            {
                "likelihood": "Bayes' rule for a batch: w ← w · p(batch | θ).",
                "temperature": "A power of the likelihood at a time: w ← w · p(X | θ)^Δβ.",
                "density ratio": "Target over the density that the point was drawn from: w = p / q.",
                "mirror step": "The step forgets the share γ of what was known and takes the share γ of the posterior.",
                "least discrepancy": "All weights together, so that the weighted points are nearest to the posterior.",
            },
        ),
        "resample": Column(
            "Resample",
            "When new points are drawn from the weighted ones, and how.",
            {
                "copies": "Heavy points are copied and light ones are dropped.",
                "kernel density": "New points from the smoothed density of the weighted ones, which is wider.",
            },
        ),
        "move": Column(
            "Move",
            "How points, or the parameters of a density, go where the posterior is high.",
            {
                "Gibbs": "A draw from the exact conditional distribution, given everything else.",
                "Metropolis": "A random step, accepted or rejected so that the posterior stays as it is.",
                "MALA": "A step uphill with noise, accepted or rejected so that the posterior stays as it is.",
                "HMC": "A trajectory uphill and downhill, accepted or rejected so that the posterior stays as it is.",
                "Langevin": "A step uphill with noise, never rejected: its error shrinks with the step.",
                "Stein force": "Uphill by the neighbours' slopes, and away from the neighbours.",
                "gradient": "A step uphill, without noise of its own.",
                "natural gradient": "Parameters go uphill in steps measured by how much their density changes.",
                "closed form": "What is best given everything else has a formula, and the step goes there.",
            },
        ),
        "adapt": Column(
            "Adapt",
            "What of itself the method sets by what it has seen; a schedule fixed in advance is not adaptive.",
            {
                "step size": "How far a step goes.",
                "pace": "How far a step goes in each coordinate, by the size of the gradients so far.",
                "kernel width": "How wide the kernel is that steps or new points are made with.",
                "temperatures": "How much of the likelihood the next step adds.",
                "proposal": "The density that points are proposed from.",
                "surrogate": "The density whose gradient stands in for the posterior's.",
                "stopping": "Which step is the last one that counts.",
            },
        ),
    }
)


class Cell(NamedTuple):
    """What a method does in one respect; without terms nothing."""

    terms: tuple[str, ...] = ()
    remark: str = ""  # when, of what or by what, at the method's default settings

    def __str__(self) -> str:
        """The terms, and the remark in brackets."""
        words = " + ".join(self.terms) or "none"
        return f"{words} ({self.remark})" if self.remark else words


@dataclass(frozen=True)
class Grammar:
    """A method at its default settings in terms of COLUMNS, cells as a page shows them: "prior + proposal (remark)".

    Raises InputError for a term that its column lacks.
    """

    propagate: Cell | str = ""
    reweight: Cell | str = ""
    resample: Cell | str = ""
    move: Cell | str = ""
    adapt: Cell | str = ""

    def __post_init__(self) -> None:
        for name, text in self:
            terms, _, remark = text.removesuffix(")").partition(" (")
            cell = Cell(tuple(filter(None, terms.split(" + "))), remark)
            for term in cell.terms:
                if term not in COLUMNS[name].terms:
                    raise unknown(f"term of {name!r}", term, COLUMNS[name].terms)
            object.__setattr__(self, name, cell)

    def __iter__(self) -> Iterator[tuple[str, Cell]]:
        """Pairs of a column's name and the cell, in the order of COLUMNS."""
        return ((name, getattr(self, name)) for name in COLUMNS)
