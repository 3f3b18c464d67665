"""Means of functions with control variates that Stein's identity gives: E_p [s(x) g(x) + grad g(x)] = 0."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pmdviz.engine.frame import Frame
from pmdviz.engine.run import Run
from pmdviz.engine.session import Session
from pmdviz.errors import InputError
from pmdviz.experiments.goodness_of_fit.sample import frame_of
from pmdviz.methods.base import checked_gradient
from pmdviz.targets import Target, make_target

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


class MeanEstimate(NamedTuple):
    """A mean of f with control variates beside the plain one, (k,) each, in the units of f.

    Standard errors take the points as independent; that of the value is the jackknife's.
    """

    value: np.ndarray
    standard_error: np.ndarray
    plain: np.ndarray
    plain_error: np.ndarray


def stein_mean(
    target: str | Target,
    sample: ArrayLike | Run | Session | Frame,
    function: Callable[[np.ndarray], np.ndarray],
    degree: int = 2,
) -> MeanEstimate:
    """Estimate E_p f(x) from points of p with control variates.

    f(x) ≈ c + sum_a λ_a v_a(x) by (weighted) least squares, and c is the estimate. v are Stein's control variates
    (0.148): the score s_j(x), and with degree 2 also s_j(x) x_k + [j = k]. Their mean under p is 0, and λ is
    Var(v)^-1 Cov(v, f) as in (0.36). Han 2019 (thesis) has them for gradients of variational bounds, (0.149) and
    (0.154); polynomials: Mira, Solgi, Imparato 2013. For a Gaussian p and a polynomial f of that degree the error is 0.

    Parameters
    ----------
    target : Target or str
        p, with a gradient; a name stands for the built-in target at its defaults.
    sample : array (n, d), Run, Session or Frame
        Points of p, or of a run the particles of its last frame with their weights.
    function : (n, d) -> (n,) or (n, k)
        f.
    degree : 1 or 2
        1 has d control variates, 2 has d + d^2.

    Returns
    -------
    MeanEstimate

    Raises
    ------
    InputError
        A target without a gradient, values of f that are not finite, a degree other than 1 and 2, fewer than twice as
        many points as control variates.

    Examples
    --------
    >>> run = pmdviz.run(target="gaussian", method="mala")
    >>> pmdviz.stein_mean(run.target, run, lambda x: x[:, 0]).value
    """
    target, frame = target if isinstance(target, Target) else make_target(target), frame_of(sample)
    if not {"reals", "gradient"} <= target.offers:
        raise InputError(f"control variates need real coordinates and a gradient, which target {target.name!r} lacks")
    if degree not in (1, 2):
        raise InputError(f"degree must be 1 or 2; given: {degree!r}", "degree")
    points = target.space.check(frame.particles if frame else sample)
    n, d = points.shape
    w = np.full(n, 1 / n) if frame is None else frame.weights
    count = d if degree == 1 else d + d * d
    if n < 2 * count:
        raise InputError(f"{count} control variates of degree {degree} need at least {2 * count} points; given: {n}")
    f = np.asarray(function(points), float)
    if f.shape[:1] != (n,) or f.ndim > 2 or not np.isfinite(f).all():
        raise InputError(f"the function must give ({n},) or ({n}, k) finite numbers for {n} points")
    f = f.reshape(n, -1)
    scores, z = checked_gradient(target, points, target.data_rows) * target.scale, points / target.scale
    variates = scores
    if degree == 2:
        products = scores[:, :, None] * z[:, None, :] + np.eye(d)
        variates = np.column_stack([scores, products.reshape(n, d * d)])
    root = np.sqrt(w)[:, None]
    design = root * np.column_stack([np.ones(n), variates])
    inverse = np.linalg.pinv(design)  # (1 + count, n); its first row times root are the weights of the f(x_i) in c
    leverage = np.einsum("nk,kn->n", design, inverse)
    residuals = (root * f - design @ (inverse @ (root * f))) / np.maximum(1 - leverage, 1e-9)[:, None]
    plain = w @ f
    errors = inverse[0] ** 2 @ residuals**2, w**2 @ (f - plain) ** 2
    return MeanEstimate(inverse[0] @ (root * f), np.sqrt(errors[0]), plain, np.sqrt(errors[1]))
