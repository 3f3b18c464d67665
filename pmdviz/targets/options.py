"""Options that several targets share, declared once."""

from __future__ import annotations

from collections.abc import Mapping

from pmdviz.knobs import A_FILE, Choice, Knobs, Real, Source, Whole
from pmdviz.targets.table_form import SIMULATED, TableForm


class TargetOptions(Knobs):
    """Options of a target: a new value of any of them begins a new run."""

    restarts = True


def data_points(default: int, most: int = 100_000) -> Whole:
    """N, how many data are observed."""
    return Whole(
        default, (1, most), (1, min(most, 20_000)), "Data points N", log=True, doc="Number of observed data points."
    )


def data_source(built_in: Mapping[str, str], doc: str, **rest: str) -> Source:
    """Where the data come from: the first of `built_in` (name -> words), another of them, or a person's file."""
    first = next(iter(built_in))
    return Source(first, built_in, "Data from", doc=doc, **rest)


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
        pairs,
        "Digits",
        only_if=("data", ("digits", "mnist", A_FILE)),
        doc="The two digits to tell apart, the first as class 1; of a file, where its classes are not 0 and 1 or "
        "-1 and 1.",
    )


def noise(default: float, doc: str, least: float = 0.05, label: str = "Noise σₓ", unit: str = "units of x") -> Real:
    """sigma_x, the sd of a datum."""
    return Real(default, (least, 100), (max(least, 0.5), 10), label, unit, log=True, doc=doc)


def prior_sd(bounds: tuple[float, float], default: float = 1.0, basic: bool = False) -> Real:
    """The prior's sd in every coordinate; `basic`: always in sight."""
    return Real(
        default,
        bounds,
        (max(bounds[0], 0.5), min(bounds[1], 10)),
        "Prior sd",
        "units of θ",
        log=True,
        basic=basic,
        doc="Standard deviation of the prior, centred at 0.",
    )


def data_seed() -> Whole:
    """The seed that the data are drawn from."""
    return Whole(0, (0, 2**32 - 1), label="Data seed", doc="Seed of the random data set.")


def q0_mean() -> Real:
    """The mean of q0 in every coordinate."""
    return Real(
        0.0,
        (-50, 50),
        (-10, 10),
        "Mean of q₀",
        "units of x",
        doc="Where a run starts from: the mean of the Gaussian q₀ in every coordinate.",
    )


def q0_sd(default: float) -> Real:
    """The sd of q0 in every coordinate."""
    return Real(
        default,
        (0.05, 100),
        (0.5, 10),
        "Sd of q₀",
        "units of x",
        log=True,
        doc="Standard deviation of the Gaussian q₀; weights against a q₀ narrower than the target have a variance "
        "without bound.",
    )


def target_seed(default: int, what: str) -> Whole:
    """The seed that what is random of the density is drawn from."""
    return Whole(default, (0, 2**32 - 1), label="Target seed", doc=f"Seed of {what}.")
