"""R-hat: whether chains, and the halves of each, agree with one another."""

from __future__ import annotations

from pmdviz.densities.chains import rhat
from pmdviz.metrics.base import Metric
from pmdviz.metrics.rank_normal import is_chain, work_of_draws, worst

Metric(
    name="rhat",
    title="R-hat",
    unit="",
    about="rank-normalised split R-hat, the largest over the coordinates; above 1.01 chains, or their halves, disagree",
    measure=lambda frame: worst(frame, rhat, max),
    applies=is_chain,
    work=work_of_draws,
    ranks=False,
    order=31,
    log=False,
    axis="rhat",
    axis_title="R-hat",
    limits=(0.9, 2.0),
    colour="particles",
)
