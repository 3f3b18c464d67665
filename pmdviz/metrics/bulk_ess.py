"""Bulk ESS: how many independent draws the draws of chains are worth for the middle of the posterior."""

from __future__ import annotations

from pmdviz.densities.chains import bulk_ess
from pmdviz.metrics.base import Metric
from pmdviz.metrics.rank_normal import is_chain, work_of_draws, worst

Metric(
    name="bulk_ess",
    title="bulk ESS",
    unit="draws",
    about="independent draws that those of the chains are worth (Vehtari et al. 2021), the fewest over the coordinates",
    measure=lambda frame: worst(frame, bulk_ess, min),
    applies=is_chain,
    work=work_of_draws,
    ranks=False,
    order=32,
    axis="bulk_ess",
    axis_title="Bulk ESS",
    axis_label="bulk effective sample size (draws)",
    limits=(1.0, 1e5),
    colour="particles",
)
