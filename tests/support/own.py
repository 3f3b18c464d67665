"""A target of a person's own: the mean of normal data, with a normal prior and no gradient."""

from typing import Any

import numpy as np

import pmdviz
from pmdviz.targets.custom import CustomTarget


def own_target(dim: int = 1, name: str = "dose", **parts: Any) -> CustomTarget:
    """x ~ N(theta_1, 1) over 40 places from 0 to 1, theta ~ N(0, I); `parts` take the place of the usual ones."""
    usual = {
        "log_prior": lambda theta: -0.5 * (theta**2).sum(axis=1),
        "log_likelihood": lambda theta, batch: -0.5 * ((theta[:, :1] - batch[:, 0]) ** 2).sum(axis=1),
        "sample_prior": lambda rng, m: rng.standard_normal((m, dim)),
        "data": np.linspace(0, 1, 40)[:, None],
    }
    return pmdviz.custom_target(**{**usual, **parts}, dim=dim, name=name)


dose = own_target(dim=2)  # for `pmdviz serve --target`


def plain(result: Any) -> list[dict[str, Any]]:
    """The rows of a race without what depends on the machine."""
    return [{name: value for name, value in row.items() if name != "seconds"} for row in result.rows]
