"""Options that several targets share, declared once."""

from __future__ import annotations

from pmdviz.knobs import Real, Whole


def data_points(default: int) -> Whole:
    """N, how many data are observed."""
    return Whole(
        default,
        bounds=(1, 100_000),
        softbounds=(1, 20_000),
        log=True,
        label="Data points N",
        acts="restart",
        doc="How many data are observed.",
    )


def noise(default: float, doc: str) -> Real:
    """sigma_x, the sd of a datum."""
    return Real(
        default,
        bounds=(0.05, 100),
        softbounds=(0.5, 10),
        log=True,
        label="Noise σₓ",
        unit="units of x",
        acts="restart",
        doc=doc,
    )


def data_seed() -> Whole:
    """The seed that the data are drawn from."""
    return Whole(0, bounds=(0, 2**32 - 1), label="Data seed", acts="restart", doc="Which data set is drawn.")
