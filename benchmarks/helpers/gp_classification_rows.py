"""Rows on the hyperparameters of a Gaussian process classifier (T9): how far methods that need no gradient err.

The specification has no figures for this target, so none are held against these. The reference's own error is part of
what is measured: about 0.02 posterior sds at the target's defaults, 0.06 with nine features.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from benchmarks.helpers.stein_rows import Measured, Row
from pmdviz.engine.session import Session

EVALUATIONS = 30_000  # of the density, by every row


def of_moments(session: Session, seed: int) -> Measured:
    """Root mean squares over the coordinates: of the means' errors in posterior sds, of the log of the sds' ratios."""
    frame, reference = session.frame, session.frame.target.reference()
    sds = np.sqrt(np.diag(reference.cov))
    mean, cov = frame.density.mean, frame.density.cov
    ratios = np.sqrt(np.diag(cov)) / sds
    return {
        "mean": float(np.sqrt((((mean - reference.mean) / sds) ** 2).mean())),
        "log_sd_ratio": float(np.sqrt((np.log(ratios) ** 2).mean())),
        "sd_ratio": float(ratios.mean()),
    }


_row = partial(Row, target="gp_classification", statistic=of_moments)


def classifier_rows(columns: int) -> list[Row]:
    """With so many features: d is one more."""
    make, words = partial(_row, options={"columns": columns}), f"{columns} features"
    return [
        make(f"Gradient-free SVGD, 100 particles, {words}", "gf_svgd", knobs={"num_particles": 100}, steps=300),
        make(f"Importance sampling, {words}", "importance", knobs={"num_particles": EVALUATIONS}, steps=1),
        make(f"Tempered SMC, 1,000 particles, {words}", "smc_mcmc", knobs={"num_particles": 1000}),
        make(f"Random walk, {words}", "random_walk", knobs={}, steps=EVALUATIONS // 5),
    ]


CLASSIFIERS = [row for columns in (2, 9) for row in classifier_rows(columns)]
SPECIFIED: dict[str, dict[str, tuple[float, float]]] = {}
