"""What a compiled chain asks of a model: its log joint and the gradient of that, on a batch of its data.

A model is a NamedTuple of plain numbers; its type picks the code when a chain's kernel is compiled, so that one kernel
serves every model. The files of the likelihoods enter theirs in the two tables.
"""

from collections.abc import Callable

import numpy as np
from numba.extending import overload

from pmdviz.kernels.jit import OVERLOAD, fast_jit

LOG_JOINTS: dict[type, Callable] = {}  # model type -> (model, theta (d,), x) -> nats
GRADIENTS: dict[type, Callable] = {}  # model type -> (model, theta (d,), x, out (d,)), which puts the gradient in `out`


def log_joint(model, theta, x):
    """log p(theta) + (N/B) sum over the batch x of log p(x_n | theta), in nats. To be called in compiled code."""
    return LOG_JOINTS[type(model)](model, theta, x)


def put_gradient(model, theta, x, out):
    """The gradient of `log_joint` in theta, into out (d,). To be called in compiled code."""
    return GRADIENTS[type(model)](model, theta, x, out)


@overload(log_joint, jit_options=OVERLOAD)
def _log_joint_of(model, theta, x):
    return LOG_JOINTS.get(getattr(model, "instance_class", None))


@overload(put_gradient, jit_options=OVERLOAD)
def _gradient_of(model, theta, x, out):
    return GRADIENTS.get(getattr(model, "instance_class", None))


@fast_jit
def mean_of(x):
    """Mean of x (B,)."""
    total = 0.0
    for n in range(x.size):
        total += x[n]
    return total / x.size


@fast_jit
def scatter_about(x, centre):
    """sum (x_n - centre)^2 of x (B,)."""
    total = 0.0
    for n in range(x.size):
        residual = x[n] - centre
        total += residual * residual
    return total


@fast_jit
def normal_prior(theta, precision):
    """log N(theta | 0, I / precision), theta (d,), in nats."""
    total = 0.0
    for k in range(theta.size):
        total += theta[k] * theta[k]
    return 0.5 * (theta.size * np.log(precision / (2.0 * np.pi)) - precision * total)


@fast_jit
def normal_sum(scatter, count, sigma_x):
    """Log density of `count` numbers from a normal of sd sigma_x with a sum of squared residuals `scatter`."""
    return -0.5 * scatter / (sigma_x * sigma_x) - count * np.log(sigma_x * np.sqrt(2.0 * np.pi))
