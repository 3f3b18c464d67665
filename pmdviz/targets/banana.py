"""A posterior along a bent ridge: no ellipse fits it, and no coordinate can be learned without the other."""

from __future__ import annotations

import numpy as np

from pmdviz.errors import InputError, shown
from pmdviz.kernels.likelihoods.banana import BananaModel, banana_grad_log_likelihood, banana_log_likelihood
from pmdviz.knobs import Knobs, Real
from pmdviz.targets.base import GaussianPrior, Target
from pmdviz.targets.modes import Handle
from pmdviz.targets.options import data_points, data_seed, noise, only_simulated, own_data, prior_sd
from pmdviz.targets.reference.exact import GridExact
from pmdviz.targets.table_form import SIMULATED, TableForm, divided_table

BOX_SDS = 10.0  # prior sd beyond the true theta that the exact posterior is looked for in
FARTHEST = 10.0  # a mean of data, units of x: as far as that of simulated ones
NUM_CELLS = 100_000  # that hold the exact posterior: a ridge of 2,000 data is hundreds of its widths long
TABLE = TableForm("One column of numbers: each is a datum x, θ₁ + b θ₂² with noise; their mean at most 10 from 0.")


class BananaOptions(Knobs):
    """Options of `banana`. Beyond the bounds the ridge would be too thin for the exact posterior's grid."""

    kind_words = "option of target 'banana':"

    data = own_data(TABLE)
    num_data = data_points(100, most=2000)
    sigma_x = noise(2.0, "Standard deviation of each datum. The ridge is σₓ/√N wide.", least=1.0)
    bend = Real(
        1.0,
        bounds=(0, 2),
        label="Bend b",
        unit="units of x / θ²",
        acts="restart",
        doc="How much the ridge θ₁ + b θ₂² = const is bent; 0 gives a straight one.",
    )
    prior_sd = prior_sd(bounds=(0.25, 1.5))
    theta1 = Real(
        0.5,
        bounds=(-2, 2),
        label="True θ₁",
        unit="units of x",
        acts="restart",
        only_if=only_simulated(),
        doc="True value, used to simulate the data.",
    )
    theta2 = Real(
        0.8,
        bounds=(-2, 2),
        label="True θ₂",
        unit="units of θ",
        acts="restart",
        only_if=only_simulated(),
        doc="True value, used to simulate the data.",
    )
    data_seed = data_seed()


class Banana(GaussianPrior, Target):
    """x ~ N(theta_1 + b theta_2^2, sigma_x^2), theta ~ N(0, prior_sd^2 I).

    The data tell theta_1 + b theta_2^2 up to sigma_x / sqrt(N) and nothing else: where on that parabola theta lies is
    left to the prior. Given theta_2, theta_1 is Gaussian, so every integral is one over theta_2 alone.
    """

    name = "banana"
    title = "Banana (2-D)"
    about = "Each x is θ₁ + b θ₂² plus noise; only that sum can be learned, so the posterior is a bent ridge."
    source = "ours; the shape, as a distribution without data: Haario, Saksman, Tamminen 1999"
    Options = BananaOptions
    kernel_groups = ("banana",)
    declared = frozenset({"gradient", "row_density"})
    table = TABLE

    def build(self) -> None:
        """Draw the data from `default_rng(data_seed)` alone, or take those of a table."""
        o, self.dim, self.parameter_names = self.options, 2, ("θ₁", "θ₂")
        self.prior_sd = o.prior_sd
        if o.data == SIMULATED:
            rng = np.random.default_rng(o.data_seed)
            self.data = o.theta1 + o.bend * o.theta2**2 + o.sigma_x * rng.standard_normal(o.num_data)
            self._reach = float(np.hypot(o.theta1, o.theta2))
            self.prior_frame(o.theta1, o.theta2)
        else:
            self._read()

    def _read(self) -> None:
        """The data of a table. Nearest to 0 on θ₁ + b θ₂² = x̄, both coordinates are below 1.5 |x̄|."""
        o = self.options
        self.data = divided_table(o.data, TABLE, o.num_data, o.data_seed)[0][:, 0]
        mean = float(self.data.mean())
        if abs(mean) > FARTHEST:
            raise InputError(
                f"the mean of data {shown(o.data)} must lie between -{FARTHEST:g} and {FARTHEST:g}, or the ridge is "
                f"too thin for an exact posterior; it is {mean:,.4g}: scale them",
                "data",
            )
        self._reach = 1.5 * abs(mean)
        self.prior_frame(min(abs(mean), np.sqrt(max(mean, 0.0) / max(o.bend, 0.1))))

    def handles(self) -> tuple[Handle, ...]:
        """The true θ, and its mirror image: the sign of θ₂ leaves no trace."""
        o = self.options
        if o.data != SIMULATED:
            return ()
        return (
            Handle("true θ", (o.theta1, o.theta2), lambda x, y: {"theta1": x, "theta2": y}),
            Handle("its mirror image", (o.theta1, -o.theta2), lambda x, y: {"theta1": x, "theta2": -y}),
        )

    @property
    def model(self) -> BananaModel:
        """For compiled chains."""
        o = self.options
        return BananaModel(1 / self.prior_sd**2, float(self.num_data), float(o.sigma_x), float(o.bend))

    def make_exact(self) -> GridExact:
        """By a grid sum."""
        reach = BOX_SDS * self.prior_sd + self._reach
        return GridExact(self.log_joint, ((-reach, reach), (-reach, reach)), NUM_CELLS)

    def _log_likelihood(self, theta: np.ndarray, batch: np.ndarray) -> np.ndarray:
        return banana_log_likelihood(theta, batch, self.options.sigma_x, self.options.bend)

    def _grad_log_likelihood(self, theta: np.ndarray, batch: np.ndarray) -> np.ndarray:
        return banana_grad_log_likelihood(theta, batch, self.options.sigma_x, self.options.bend)
