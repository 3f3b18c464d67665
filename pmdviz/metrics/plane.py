"""The metrics of the plane, which compare p and q on a grid: `divergences` computes them together, or TV alone."""

from __future__ import annotations

from pmdviz.metrics.base import Metric, planar

DASHED, DOTTED = (8, 3), (2, 3)

Metric(
    name="tv",
    title="TV",
    unit="0 to 1",
    about="total variation: half the integral of |p - q|",
    measure=lambda frame: frame.tv,
    applies=planar,
    drawn=True,
    always=True,
    order=1,
    log=False,
    axis="tv",
    axis_label="TV (0 identical, 1 no overlap)",
    limits=(0.0, 1.0),
    fixed=True,
    colour="ink",
    baseline="floor_tv",
)
Metric(
    name="kl_forward",
    title="forward KL",
    unit="nats",
    about="KL(exact || approximation)",
    measure=lambda frame: frame.divergences["kl_forward"],
    applies=planar,
    always=True,
    order=2,
    axis="kl",
    axis_title="Forward and reverse KL",
    axis_label="KL divergence (nats)",
    limits=(0.01, 100.0),
    colour="exact",
    dash=DASHED,
    baseline="floor_kl",
)
Metric(
    name="kl_reverse",
    title="reverse KL",
    unit="nats",
    about="KL(approximation || exact)",
    measure=lambda frame: frame.divergences["kl_reverse"],
    applies=planar,
    always=True,
    order=3,
    axis="kl",
    limits=(0.01, 100.0),
    colour="approximate",
    dash=DOTTED,
)
Metric(
    name="cross_entropy",
    title="cross entropy",
    unit="nats",
    about="-E_exact log approximation",
    measure=lambda frame: frame.divergences["cross_entropy"],
    applies=planar,
    always=True,
    order=4,
    log=False,
    axis="cross_entropy",
    axis_title="Cross entropy",
    axis_label="cross entropy −E log q (nats)",
    colour="exact",
)
Metric(
    name="mass_outside",
    title="mass outside",
    unit="share",
    about="of the approximation, outside the grid",
    measure=lambda frame: frame.divergences["mass_outside"],
    applies=planar,
    always=True,
    ranks=False,
    order=6,
    log=False,
    limits=(0.0, 1.0),
    colour="approximate",
)
