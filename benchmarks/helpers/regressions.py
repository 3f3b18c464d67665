"""Regressions with a known answer, for the benches: Bayesian linear regression, and one whose sign nobody has seen."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from pmdviz.densities.density import Density
from pmdviz.targets.custom import CustomTarget

NUM_DATA = 1000
JUDGED = 4000  # exact draws by which KL(exact || q) is measured


class _KnownTarget(CustomTarget):
    """One whose posterior is known beside it: no grid is summed for metrics that nobody reads."""

    def make_exact(self) -> None:
        """None."""


class Regression(NamedTuple):
    """A target, and its posterior: of the linear one; of the other one that of the mode at `w`."""

    target: CustomTarget
    mean: np.ndarray
    covariance: np.ndarray
    w: np.ndarray


def linear(d: int, data_seed: int, num_data: int = NUM_DATA) -> Regression:
    """y = w'x + e, x ~ N(0, I), e ~ N(0, 1), prior N(0, I): a Gaussian posterior. With gradients."""
    rng = np.random.default_rng([data_seed, d])
    x, w = rng.standard_normal((num_data, d)), rng.standard_normal(d)
    y = x @ w + rng.standard_normal(num_data)
    return _made(
        *("linear_regression", x, y, w, _log_normal),
        grad_log_prior=lambda theta: -theta,
        grad_log_likelihood=lambda theta, rows: (rows[:, -1] - theta @ rows[:, :-1].T) @ rows[:, :-1],
    )


def two_modes(d: int, data_seed: int, num_data: int = NUM_DATA) -> Regression:
    """y = s w'x + e with s = +-1 unseen: likelihood 0.5 N(y | w'x, 1) + 0.5 N(y | -w'x, 1), so w and -w are alike."""
    rng = np.random.default_rng([data_seed, d, 2])
    x, w = rng.standard_normal((num_data, d)), rng.standard_normal(d)
    y = rng.choice([-1.0, 1.0], num_data) * (x @ w) + rng.standard_normal(num_data)
    return _made("two_signs", x, y, w, lambda y, f: np.logaddexp(_log_normal(y, f), _log_normal(y, -f)) - np.log(2))


def _log_normal(y: np.ndarray, f: np.ndarray) -> np.ndarray:
    return -0.5 * (y - f) ** 2 - 0.5 * np.log(2 * np.pi)


def _made(name: str, x: np.ndarray, y: np.ndarray, w: np.ndarray, log_density, **gradients: Any) -> Regression:
    d = x.shape[1]
    covariance = np.linalg.inv(np.eye(d) + x.T @ x)
    target = _KnownTarget(
        log_prior=lambda theta: -0.5 * (theta**2).sum(axis=1) - 0.5 * d * np.log(2 * np.pi),
        log_likelihood=lambda theta, rows: log_density(rows[:, -1], theta @ rows[:, :-1].T).sum(axis=1),
        sample_prior=lambda rng, m: rng.standard_normal((m, d)),
        data=np.column_stack([x, y]),
        dim=d,
        name=name,
        **gradients,
    )
    return Regression(target, covariance @ (x.T @ y), covariance, w)


def errors(density: Density, regression: Regression) -> dict[str, float]:
    """Error of the mean in posterior sds (rms over coordinates), ratio of sds (mean), and KL(exact || q) in nats."""
    mean, covariance = regression.mean, regression.covariance
    sd, d = np.sqrt(np.diag(covariance)), len(mean)
    noise = np.random.default_rng(0).standard_normal((JUDGED, d))
    log_p = -0.5 * (noise**2).sum(axis=1) - 0.5 * np.linalg.slogdet(2 * np.pi * covariance)[1]
    log_q = density.log_density(mean + noise @ np.linalg.cholesky(covariance).T)
    return {
        "error_of_mean": float(np.sqrt((((density.mean - mean) / sd) ** 2).mean())),
        "sd_ratio": float((np.sqrt(np.diag(density.cov)) / sd).mean()),
        "kl": float((log_p - log_q).mean()),
    }


def weight_of_mode(particles: np.ndarray, weights: np.ndarray, regression: Regression) -> float:
    """The share of the weight on the side of `w`; of the two modes each has half."""
    return float(weights[particles @ regression.w > 0].sum())
