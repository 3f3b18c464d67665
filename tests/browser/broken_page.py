"""A served lab whose target gives NaN for a while: what a person's own model may do."""

import os
from pathlib import Path

import numpy as np
import panel as pn

import pmdviz
from pmdviz.pages import lab_page

asked = [0]


def log_likelihood(theta, batch):
    asked[0] += 1
    Path(os.environ["PMDVIZ_ASKED"]).write_text(str(asked[0]))
    values = -0.5 * ((batch - theta[:, :1]) ** 2).sum(axis=1)
    return values * np.nan if 40 < asked[0] <= 42 else values


target = pmdviz.custom_target(
    log_prior=lambda theta: -0.5 * (theta**2).sum(axis=1),
    log_likelihood=log_likelihood,
    sample_prior=lambda rng, m: rng.standard_normal((m, 2)),
    data=np.arange(30.0) / 10,
    dim=2,
    name="broken",
)
pn.extension(notifications=False)
lab_page(target=target, budget=None, num_particles=200).servable()
