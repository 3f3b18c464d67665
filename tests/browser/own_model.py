"""A person's own model for the served pages of this folder: the mean of normal data, and what a page plants in it."""

import numpy as np

import pmdviz


def plain(theta, batch):
    """log N(batch | theta_1, 1) without its constant, summed over the batch."""
    return -0.5 * ((batch - theta[:, :1]) ** 2).sum(axis=1)


def own_target(name, log_likelihood):
    return pmdviz.custom_target(
        log_prior=lambda theta: -0.5 * (theta**2).sum(axis=1),
        log_likelihood=log_likelihood,
        sample_prior=lambda rng, m: rng.standard_normal((m, 2)),
        data=np.arange(30.0) / 10,
        dim=2,
        name=name,
    )
