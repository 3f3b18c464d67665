"""What a target is: a prior, a likelihood of rows of data, and what is known exactly about the posterior."""

from __future__ import annotations

import threading
from typing import Any, ClassVar

import numpy as np

from pmdviz.errors import InputError, shown
from pmdviz.knobs import Knobs
from pmdviz.targets.reference.exact import Box, Exact

TARGETS: dict[str, type[Target]] = {}


class Target:
    """A posterior p(theta | X) proportional to p(theta) prod_n p(x_n | theta).

    Subclasses set the class attributes and `data`, and give `_log_prior`, `_log_likelihood`, `sample_prior` and
    `make_exact`; a subclass with a `name` enters the table TARGETS by being defined.

    Attributes
    ----------
    dim : int
        d, the length of theta.
    data : array, first axis of length `num_data`
        The rows that batches are drawn from.
    view_box : ((low, high), ...)
        One pair a dimension: where pictures are drawn. It holds the prior's bulk.
    scale : array (d,)
        The prior's sd.
    """

    name: str = ""
    title: str = ""
    reference: ClassVar[str] = ""
    about: ClassVar[str] = ""  # one sentence for a person: the model in words
    Options: ClassVar[type[Knobs]] = Knobs
    has_gradient = True
    has_conditionals = False  # whether `gibbs_sweep` can be had

    dim: int
    data: np.ndarray
    view_box: Box
    scale: np.ndarray
    parameter_names: tuple[str, ...]

    def __init_subclass__(cls) -> None:
        if "name" in cls.__dict__ and cls.name:
            TARGETS[cls.name] = cls

    def __init__(self, /, **options: Any) -> None:
        self.options = self.Options.checked(options)
        self._exact_lock = threading.Lock()
        self._exact: Exact | None = None
        self._exact_known = False
        self.build()
        self.data.flags.writeable = False  # targets are shared between sessions

    def build(self) -> None:
        """Set `dim`, `data`, `view_box`, `scale` and `parameter_names` from `self.options`."""
        raise NotImplementedError

    def __getstate__(self) -> dict[str, Any]:
        """What goes to another process: all but the exact posterior, which is computed there when it is asked for."""
        return {name: value for name, value in self.__dict__.items() if not name.startswith("_exact")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._exact_lock, self._exact, self._exact_known = threading.Lock(), None, False
        self.data.flags.writeable = False

    @property
    def num_data(self) -> int:
        """N, the number of rows of the data."""
        return len(self.data)

    @property
    def key(self) -> tuple:
        """Equal for targets with the same posterior; for caches."""
        return (self.name, *self.options.as_dict().items())

    @property
    def exact(self) -> Exact | None:
        """The exact posterior, computed at the first use; None where it cannot be had."""
        with self._exact_lock:
            if not self._exact_known:
                self._exact, self._exact_known = self.make_exact(), True
            return self._exact

    @property
    def model(self) -> tuple | None:
        """The model in compiled code, a NamedTuple of numbers (`kernels.models`); None: chains ask in Python."""
        return None

    def make_exact(self) -> Exact | None:
        """The exact posterior of this target or None."""
        return None

    def log_prior(self, theta: np.ndarray) -> np.ndarray:
        """log p(theta), (m, d) -> (m,), in nats."""
        return self._log_prior(self._points(theta))

    def log_likelihood(self, theta: np.ndarray, batch: np.ndarray) -> np.ndarray:
        """sum over the rows x of `batch` of log p(x | theta), (m, d) -> (m,), in nats; not scaled by N/B."""
        return self._log_likelihood(self._points(theta), np.asarray(batch))

    def log_joint(self, theta: np.ndarray, batch: np.ndarray | None = None) -> np.ndarray:
        """log p(theta) + (N/B) sum over the batch of log p(x | theta), (m, d) -> (m,).

        Without a batch all data are visited and this is the unnormalised log posterior.
        """
        batch = self.data if batch is None else np.asarray(batch)
        return self.log_prior(theta) + self.num_data / len(batch) * self.log_likelihood(theta, batch)

    def grad_log_joint(self, theta: np.ndarray, batch: np.ndarray | None = None) -> np.ndarray:
        """Gradient of `log_joint` in theta, (m, d) -> (m, d). Raises InputError where the target has none."""
        if not self.has_gradient:
            raise InputError(f"target {self.name!r} has no gradient; give grad_log_prior and grad_log_likelihood")
        batch = self.data if batch is None else np.asarray(batch)
        points = self._points(theta)
        likelihood = self._grad_log_likelihood(points, batch)
        return self._grad_log_prior(points) + self.num_data / len(batch) * likelihood

    def gibbs_sweep(self, rng: np.random.Generator, theta: np.ndarray, data: np.ndarray) -> np.ndarray:
        """A new theta (d,): each unknown drawn once from its conditional given `data` and the others.

        Raises InputError where the target has no conditionals.
        """
        if not self.has_conditionals:
            raise InputError(f"target {self.name!r} has no exact conditionals")
        return self._gibbs_sweep(rng, theta, np.asarray(data))

    def sample_prior(self, rng: np.random.Generator, n: int) -> np.ndarray:
        """n draws (n, d) from the prior."""
        raise NotImplementedError

    def _log_prior(self, theta: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    def _log_likelihood(self, theta: np.ndarray, batch: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    def _grad_log_prior(self, theta: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    def _grad_log_likelihood(self, theta: np.ndarray, batch: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    def _gibbs_sweep(self, rng: np.random.Generator, theta: np.ndarray, data: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    def _points(self, theta: np.ndarray) -> np.ndarray:
        try:
            if np.iscomplexobj(theta):  # NumPy would drop the imaginary part
                raise TypeError("complex")
            points = np.asarray(theta, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise InputError(f"theta must be real numbers of shape (m, {self.dim}); given: {shown(theta)}") from error
        if points.ndim == 1 and self.dim == 1:
            points = points[:, None]
        if points.ndim != 2 or points.shape[1] != self.dim:
            raise InputError(f"theta must have shape (m, {self.dim}); given: shape {shown(points.shape)}")
        return points


class GaussianPrior:
    """Mix-in: theta ~ N(0, prior_sd^2 I), with `prior_sd` set by the subclass's `build`."""

    prior_sd: float = 1.0

    def sample_prior(self, rng: np.random.Generator, n: int) -> np.ndarray:
        """n draws (n, d) from N(0, prior_sd^2 I)."""
        return self.prior_sd * rng.standard_normal((n, self.dim))

    def _log_prior(self, theta: np.ndarray) -> np.ndarray:
        constant = self.dim * np.log(self.prior_sd * np.sqrt(2 * np.pi))
        return -0.5 * ((theta / self.prior_sd) ** 2).sum(axis=1) - constant

    def _grad_log_prior(self, theta: np.ndarray) -> np.ndarray:
        return -theta / self.prior_sd**2

    def _prior_frame(self, *true: float) -> None:
        """`scale`, and a `view_box` of 3.5 prior sd each way or more, with the `true` coordinates well inside."""
        self.scale = np.full(self.dim, self.prior_sd)
        reach = max(3.5 * self.prior_sd, *(1.25 * abs(value) for value in true))
        self.view_box = ((-reach, reach),) * self.dim
