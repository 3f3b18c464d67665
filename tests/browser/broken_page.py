"""A served lab whose target gives NaN for a while: what a person's own model may do."""

import os
from pathlib import Path

import numpy as np
import panel as pn

from pmdviz.serve.pages import lab_page
from tests.browser.own_model import own_target, plain

PARTICLES = 200
asked = [0]


def log_likelihood(theta, batch):
    if len(theta) != PARTICLES:  # the exact posterior's grid asks too
        return plain(theta, batch)
    asked[0] += 1
    Path(os.environ["PMDVIZ_ASKED"]).write_text(str(asked[0]))
    values = plain(theta, batch)
    return values * np.nan if 40 < asked[0] <= 42 else values


target = own_target("broken", log_likelihood)
pn.extension(notifications=False)
lab_page(target=target, budget=None, num_particles=PARTICLES).servable()
