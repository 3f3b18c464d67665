"""Options that several targets share, declared once."""

from __future__ import annotations

from collections.abc import Mapping

from pmdviz.knobs import A_FILE, Choice, Real, Source, Whole
from pmdviz.targets.table_form import SIMULATED, TableForm


def data_points(default: int, most: int = 100_000) -> Whole:
    """N, how many data are observed."""
    return Whole(
        default,
        bounds=(1, most),
        softbounds=(1, min(most, 20_000)),
        log=True,
        label="Data points N",
        acts="restart",
        doc="Number of observed data points.",
    )


def data_source(built_in: Mapping[str, str], doc: str) -> Source:
    """Where the data come from: the first of `built_in` (name -> words), another of them, or a person's file."""
    first = next(iter(built_in))
    return Source(first, choices=built_in, label="Data from", acts="restart", doc=doc)


def own_data(form: TableForm, **simulated: str) -> Source:
    """The data of the model itself, or a person's table: see `TableForm`."""
    return data_source({SIMULATED: "the model itself", **simulated},
                       f"Simulated from the model; or a table of your own. {form.words}")  # fmt: skip


def only_simulated() -> tuple[str, str]:
    """`only_if` of an option that matters to simulated data alone."""
    return "data", SIMULATED


def digit_pair() -> Choice:
    """Which two digits are told apart, where the data are images of all ten; the first is class 1."""
    pairs = {f"{one}-{zero}": f"{one} against {zero}" for one in range(9, 0, -1) for zero in range(one - 1, -1, -1)}
    return Choice(
        "8-6",
        choices=pairs,
        label="Digits",
        acts="restart",
        only_if=("data", ("digits", "mnist", A_FILE)),
        doc="The two digits to tell apart, the first as class 1; of a file, where its classes are not 0 and 1 or "
        "-1 and 1.",
    )


def noise(default: float, doc: str, least: float = 0.05, label: str = "Noise σₓ", unit: str = "units of x") -> Real:
    """sigma_x, the sd of a datum."""
    return Real(
        default,
        bounds=(least, 100),
        softbounds=(max(least, 0.5), 10),
        log=True,
        label=label,
        unit=unit,
        acts="restart",
        doc=doc,
    )


def prior_sd(bounds: tuple[float, float], default: float = 1.0, basic: bool = False) -> Real:
    """The prior's sd in every coordinate; `basic`: always in sight."""
    return Real(
        default,
        bounds=bounds,
        softbounds=(max(bounds[0], 0.5), min(bounds[1], 10)),
        log=True,
        label="Prior sd",
        unit="units of θ",
        acts="restart",
        basic=basic,
        doc="Standard deviation of the prior, centred at 0.",
    )


def data_seed() -> Whole:
    """The seed that the data are drawn from."""
    return Whole(0, bounds=(0, 2**32 - 1), label="Data seed", acts="restart", doc="Seed of the random data set.")
