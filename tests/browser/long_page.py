"""A served lab with a step that lasts a minute, on any machine: its likelihood works block by block, as kernels do."""

import time

import numpy as np
import panel as pn

import pmdviz
from pmdviz.kernels.pool import run_blocks
from pmdviz.pages import lab_page

LASTS = 7  # data in a batch


def log_likelihood(theta, batch):
    if len(batch) == LASTS:
        run_blocks(lambda start, stop: time.sleep(0.05), 1200, 1, cost=0)
    return -0.5 * ((batch - theta[:, :1]) ** 2).sum(axis=1)


target = pmdviz.custom_target(
    log_prior=lambda theta: -0.5 * (theta**2).sum(axis=1),
    log_likelihood=log_likelihood,
    sample_prior=lambda rng, m: rng.standard_normal((m, 2)),
    data=np.arange(30.0) / 10,
    dim=2,
    name="long",
)
pn.extension(notifications=False)
lab_page(target=target, budget=None, num_particles=200, batch_size=10).servable()
