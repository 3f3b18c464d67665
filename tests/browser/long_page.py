"""A served lab with a step that lasts a minute, on any machine: its likelihood works block by block, as kernels do."""

import time

import panel as pn

from pmdviz.kernels.pool import run_blocks
from pmdviz.serve.pages import lab_page
from tests.browser.own_model import own_target, plain

LASTS = 7  # data in a batch


def log_likelihood(theta, batch):
    if len(batch) == LASTS:
        run_blocks(lambda start, stop: time.sleep(0.05), 1200, 1, cost=0)
    return plain(theta, batch)


target = own_target("long", log_likelihood)
pn.extension(notifications=False)
lab_page(target=target, budget=None, num_particles=200, batch_size=10).servable()
