"""Stochastic volatility: returns whose log variance is a hidden autoregression; a parameter and a path to infer."""

import math
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from runpy import run_path

import numpy as np

from pmdviz.data.cells import Cells
from pmdviz.data.files import content_of
from pmdviz.errors import InputError, shown
from pmdviz.kernels import likelihoods
from pmdviz.kernels.checks import Array, Rng
from pmdviz.knobs import Choice, Real, Whole
from pmdviz.targets import options
from pmdviz.targets.base import IN_SILENCE, Target
from pmdviz.targets.exact import DrawsReference
from pmdviz.targets.rows import folder_of
from pmdviz.targets.space import Block, InBlocks, numbered

MU, LOG_S2, PSI, PATH = 0, 1, 2, 3  # places in theta; the path is from the last one on
MEAN_VARIANCE = 10.0  # of the prior of mu
BETA = 20.0, 1.5  # of (1 + phi) / 2
GAMMA = 2.5, 0.025  # shape and scale of the inverse gamma of s2
CHAINS, DRAWS, BURN_IN, SWEEPS = 4, 2500, 1000, 7500
MOST = 1_250_000  # points of all paths that a chain keeps: of a long series fewer draws
PACE = 0.25  # of psi, whose posterior is narrower than for a point of the path
SDS = 0.705, 0.4965  # of log s2 and psi under the prior: sqrt(trigamma(2.5)), sqrt(trigamma(20) + trigamma(1.5)) / 2
BOX = (-7.5, 0.5), (-0.5, 4.0)  # that hold them
START_PSI, START_NOISE = math.atanh(0.5), 0.1
BY_BETA = math.lgamma(sum(BETA)) - math.lgamma(BETA[0]) - math.lgamma(BETA[1]) - math.log(2)
UPDATES_OF_MU = {"derived": "as derived", "printed": "as printed, with T - 1"}


class StochasticVolatilityOptions(options.DataOptions):
    """Options of `stochastic_volatility`.

    data: Simulated from the model, daily returns of the S&P 500 in percent, or a table. The returns come with package
        inference-gym. A table has a return in the last column; a first column of whole numbers may number the rows.
    num_data: How many returns in a row; of other data the last ones.
    mean: Mean of the log variance of a simulated return.
    persistence: How much of the log variance's distance from μ is left a return later.
    shock: Standard deviation of the shock to the log variance at every return.
    factors: The unknowns that are independent under q. Of three factors two have a closed form, of two none.
    mean_update: The mean of q(μ) in closed form. The paper prints its numerator with a factor T - 1 too many, with
        which it diverges.
    """

    form = options.TableForm(
        "One column of returns, in the order of time; their mean is taken off.", reduces=True, series=True
    )
    data = options.data_source({"simulated": "the model itself", "sp500": "S&P 500, 2010 to 2020"})
    num_data = Whole(500, (1, 2600), (20, 2500), "Length T", "returns", log=True)
    mean = Real(1.0, (-10, 10), label="True μ", only_if=("data", "simulated"))
    persistence = Real(0.8, (-0.999, 0.999), (0, 0.99), "True φ", only_if=("data", "simulated"))
    shock = Real(0.5, (0.01, 5), (0.05, 1), "True σ", only_if=("data", "simulated"))
    factors = Choice("three", {"three": "q(μ) q(σ²) q(φ, x)", "two": "q(μ, σ², φ) q(x)"}, "Mean field")
    mean_update = Choice("derived", UPDATES_OF_MU, "Mean-field update of μ", only_if=("factors", "three"))


class StochasticVolatility(InBlocks, Target[StochasticVolatilityOptions]):
    """y_t ~ N(0, exp(x_t)), x_t = mu + phi (x_{t-1} - mu) + N(0, s2), x_1 ~ N(mu, s2 / (1 - phi^2)).

    theta = (mu, log s2, psi, x_1, ..., x_T) with phi = tanh psi; priors mu ~ N(0, 10), (1 + phi) / 2 ~ Beta(20, 1.5)
    and s2 ~ IG(2.5, 0.025), with the Jacobians of psi and log s2. A row of data is (t, y_t), where t counts from 0.

    title: Stochastic volatility
    about: Returns are calm for a while and wild for a while: a hidden path of log variances, and its three parameters.
    source: Tran, Tseng, Kohn 2023, section 4.2 and appendix A; Kim, Shephard, Chib 1998
    """

    name = "stochastic_volatility"
    kernel_groups = ("volatility",)
    path_columns, path_title = slice(PATH, None), "log variance x"
    reported_names, reported_bounds = ("μ", "φ", "σ²"), ((-np.inf, np.inf), (-1.0, 1.0), (0.0, np.inf))

    def build(self) -> None:
        """Draw the path and the returns from `default_rng(data_seed)` alone, or read them."""
        o = self.options
        self.true_path: Array | None = None
        if o.data == "simulated":
            self.true_path, returns = self._drawn(np.random.default_rng(o.data_seed))
        else:
            returns = read_returns(o.data, o.form, o.num_data)
        count = len(returns)
        self.data, self.returns = rows_of(returns), returns
        self.dim = PATH + count
        self.parameter_names = ("μ", "log σ²", "ψ", *numbered("x", count))
        path = tuple(range(PATH, self.dim))
        if o.factors == "two":  # Eq. 30
            self.blocks = (Block("μ, σ², φ", (MU, LOG_S2, PSI), pace=(1.0, PACE, PACE)), Block("path", path))
        else:  # Eq. 29
            with_path = Block("φ and path", (PSI, *path), pace=(PACE, *np.ones(count)))
            self.blocks = (Block("μ", (MU,), closed=True), Block("σ²", (LOG_S2,), closed=True), with_path)
        self.scale = np.array([MEAN_VARIANCE**0.5, *SDS, *np.full(count, MEAN_VARIANCE**0.5)])
        reach = 3.5 * MEAN_VARIANCE**0.5
        self.view_box = ((-reach, reach), *BOX, *((-reach, reach),) * count)

    def _drawn(self, rng: Rng) -> tuple[Array, Array]:
        o = self.options
        path = paths(rng, np.array([o.mean]), np.array([o.persistence]), np.array([o.shock**2]), o.num_data)[0]
        return path, _returns(rng, path)

    def _simulate(self, rng: Rng, theta: Array, n: int) -> Array:
        """The first n returns given the path that theta has."""
        return rows_of(_returns(rng, theta[PATH : PATH + n]))

    def reported(self, theta: Array) -> Array:
        """mu, phi and s2 (m, 3) of points (m, d)."""
        return np.column_stack(parameters(theta))

    def sample_prior(self, rng: Rng, n: int) -> Array:
        """n draws (n, T + 3), each with a path of its own."""
        mu = MEAN_VARIANCE**0.5 * rng.standard_normal(n)
        phi = np.clip(2 * rng.beta(*BETA, n) - 1, -1 + 1e-12, 1 - 1e-12)
        s2 = GAMMA[1] / rng.gamma(GAMMA[0], size=n)
        return np.column_stack([mu, np.log(s2), np.arctanh(phi), paths(rng, mu, phi, s2, self.num_data)])

    def make_reference(self) -> DrawsReference:
        """Draws of four long chains of exact Markov chain Monte Carlo."""
        return DrawsReference(np.array([self._long_chain(np.random.default_rng([k, 2023])) for k in range(CHAINS)]))

    def _long_chain(self, rng: Rng) -> Array:
        count = max(2, min(DRAWS, MOST // self.num_data))
        thinning, theta, draws = SWEEPS // count, self.first_particles(rng, 1)[0], np.empty((count, self.dim))
        for k in range(-BURN_IN, count * thinning):
            theta = self._gibbs_sweep(rng, theta, self.data_rows)
            if k >= 0:
                draws[k // thinning] = theta
        return draws

    @IN_SILENCE
    def _log_prior(self, theta: Array) -> Array:
        mu, phi, s2 = parameters(theta)
        of_mu = -0.5 * (mu**2 / MEAN_VARIANCE + np.log(2 * np.pi * MEAN_VARIANCE))
        of_psi = log_prior_phi(phi) + np.log1p(-(phi**2))
        shape, scale = GAMMA
        of_s2 = shape * np.log(scale) - math.lgamma(shape) - shape * theta[:, LOG_S2] - scale / s2
        return of_mu + of_psi + of_s2 + likelihoods.volatility_log_path(mu, phi, s2, theta, PATH)

    @IN_SILENCE
    def _grad_log_prior(self, theta: Array) -> Array:
        mu, phi, s2 = parameters(theta)
        zero = np.zeros(len(mu))
        of_psi, out = likelihoods.volatility_gradient(mu, zero, phi, 1 / s2, theta, PATH)
        out[:, PSI] = slope_psi(phi, of_psi)
        factor, product = likelihoods.volatility_mean_terms(phi, theta, PATH)
        out[:, MU] = (product - factor * mu) / s2 - mu / MEAN_VARIANCE
        squares = likelihoods.volatility_squares(mu, zero, phi, theta, PATH)
        out[:, LOG_S2] = (0.5 * squares + GAMMA[1]) / s2 - 0.5 * self.num_data - GAMMA[0]
        return out

    def row_log_likelihood(self, theta: Array, rows: Array) -> Array:
        """log N(y | 0, exp(x_t)) of every row, (m, d) and (n, 2) -> (m, n), in nats."""
        x = theta[:, PATH + rows[:, 0].astype(np.int64)]
        return -0.5 * (np.log(2 * np.pi) + x + rows[:, 1] ** 2 * np.exp(np.minimum(-x, likelihoods.FARTHEST)))

    def _log_likelihood(self, theta: Array, batch: Array) -> Array:
        if self._is_whole(batch):
            return likelihoods.volatility_log_likelihood(theta, PATH, batch[:, 1])
        return self.row_log_likelihood(theta, batch).sum(axis=1)

    def _grad_log_likelihood(self, theta: Array, batch: Array) -> Array:
        out = np.zeros(theta.shape)
        if self._is_whole(batch):
            likelihoods.volatility_pull(theta, PATH, batch[:, 1], out)
            return out
        places = PATH + batch[:, 0].astype(np.int64)
        pull = 0.5 * (batch[:, 1] ** 2 * np.exp(np.minimum(-theta[:, places], likelihoods.FARTHEST)) - 1)
        np.add.at(out.T, places, pull.T)
        return out

    def _is_whole(self, batch: Array) -> bool:
        """Whether it has a row for every return in their order."""
        return np.array_equal(batch[:, 0], self.data_rows[:, 0])

    def first_particles(self, rng: Rng, n: int) -> Array:
        """n points (n, d) to begin with: a level path at the log of the mean square return, and phi = 1/2."""
        level = math.log(max(float((self.returns**2).mean()), 1e-300))
        start = np.array([level, math.log(GAMMA[1] / (GAMMA[0] - 1)), START_PSI, *np.full(self.num_data, level)])
        return start + START_NOISE * rng.standard_normal((n, self.dim))

    def closed_start(self, block: Block) -> Array:
        """(mean, variance) of mu, or (shape, scale) of s2: the prior's."""
        return np.array([0.0, MEAN_VARIANCE] if block.coordinates == (MU,) else GAMMA)

    def closed_form(self, block: Block, particles: Array, closed: Mapping[str, Array]) -> Array:
        """(mean, variance) of q(mu) = N, or (shape, scale) of q(s2) = IG, the best given the others."""
        phi = np.tanh(particles[:, PSI])
        if block.coordinates == (MU,):
            precision = closed["σ²"][0] / closed["σ²"][1]
            later = self.num_data - 1 if self.options.mean_update == "printed" else 1
            factor, product = likelihoods.volatility_mean_terms(phi, particles, PATH, later)
            total = 1 / MEAN_VARIANCE + precision * factor.mean()
            return np.array([precision * product.mean() / total, 1 / total])
        mean, variance = np.repeat(closed["μ"][:, None], len(phi), axis=1)
        squares = likelihoods.volatility_squares(mean, variance, phi, particles, PATH)
        return np.array([GAMMA[0] + 0.5 * self.num_data, GAMMA[1] + 0.5 * squares.mean()])

    def closed_draws(self, block: Block, parameters: Array, rng: Rng, n: int) -> Array:
        """n draws (n, 1) of mu, or of log s2."""
        first, second = parameters
        if block.coordinates == (MU,):
            return (first + np.sqrt(second) * rng.standard_normal(n))[:, None]
        return (np.log(second) - np.log(rng.gamma(first, size=n)))[:, None]

    def block_gradient(self, block: Block, own: Array, others: Array, closed: Mapping[str, Array]) -> Array:
        """Of psi and the path, exactly: mu and s2 enter by E mu, var mu and E 1/s2; of other blocks by `others`."""
        if not closed:
            return super().block_gradient(block, own, others, closed)
        m, phi = len(own), np.tanh(own[:, 0])
        mean, variance = np.repeat(closed["μ"][:, None], m, axis=1)
        precision = np.full(m, closed["σ²"][0] / closed["σ²"][1])
        of_psi, out = likelihoods.volatility_gradient(mean, variance, phi, precision, own, 1, self.returns)
        out[:, 0] = slope_psi(phi, of_psi)
        return out

    def _gibbs_sweep(self, rng: Rng, theta: Array, data: Array) -> Array:
        """Each point of the path, mu and the path together, phi by a Metropolis step, then mu and s2 exactly."""
        new, count = theta.copy(), self.num_data
        mu, phi, s2, x = new[MU], np.tanh(new[PSI]), np.exp(new[LOG_S2]), new[PATH:]
        returns = np.ascontiguousarray(data[:, 1])
        likelihoods.volatility_sweep(x, returns, mu, phi, s2, rng.standard_normal(count), rng.random(count))
        shift = _shift(rng, mu, x, returns)
        mu, x[:] = mu + shift, x + shift
        phi = _new_phi(rng, mu, phi, s2, x)
        one, path = np.array([phi]), x[None]
        factor, product = (values[0] for values in likelihoods.volatility_mean_terms(one, path, 0))
        precision = 1 / MEAN_VARIANCE + factor / s2
        mu = product / s2 / precision + rng.standard_normal() / np.sqrt(precision)
        squares = likelihoods.volatility_squares(np.array([mu]), np.zeros(1), one, path, 0)[0]
        s2 = (GAMMA[1] + 0.5 * squares) / rng.gamma(GAMMA[0] + 0.5 * count)
        new[:PATH] = mu, np.log(s2), np.arctanh(phi)
        return new


def _shift(rng: Rng, mu: float, x: Array, returns: Array) -> float:
    """How far mu and the path move together, with which their density given phi and s2 stays what it is.

    Given the path from mu, e^-shift has a gamma distribution under the likelihood: it is drawn from that, and accepted
    by the prior of mu. Without this the chain of a small s2 is slow.
    """
    square = float((returns**2 * np.exp(-x)).sum())
    shift, threshold = np.log(square / rng.chisquare(len(x))) if square else 0.0, np.log(rng.random())
    return shift if threshold < 0.5 * (mu**2 - (mu + shift) ** 2) / MEAN_VARIANCE else 0.0


def _new_phi(rng: Rng, mu: float, phi: float, s2: float, x: Array) -> float:
    """Proposed from N(r, s2 / sum (x_{t-1} - mu)^2), r the regression's slope, and accepted by what that leaves out."""
    away = x - mu
    square = float((away[:-1] ** 2).sum())
    slope, sd = (float((away[1:] * away[:-1]).sum()) / square, np.sqrt(s2 / square)) if square else (0.0, 1.0)
    proposed, threshold = slope + sd * rng.standard_normal(), np.log(rng.random())
    if abs(proposed) >= 1 - 1e-12:
        return phi

    def left_out(value: float) -> float:
        stationary = 1 - value**2
        of_others = 0.0 if square else 0.5 * value**2  # of a single return N(0, 1) is proposed from
        return of_others + log_prior_phi(value) + 0.5 * (np.log(stationary) - stationary * away[0] ** 2 / s2)

    return proposed if threshold < left_out(proposed) - left_out(phi) else phi


def parameters(theta: Array) -> tuple[Array, Array, Array]:
    """mu, phi and s2 (m,) of theta (m, d)."""
    return theta[:, MU].copy(), np.tanh(theta[:, PSI]), np.exp(theta[:, LOG_S2])


def rows_of(returns: Array) -> Array:
    """(t, y_t) of returns (T,), t from 0."""
    return np.column_stack([np.arange(len(returns)), returns])


def _returns(rng: Rng, path: Array) -> Array:
    return np.exp(0.5 * path) * rng.standard_normal(len(path))


def paths(rng: Rng, mu: Array, phi: Array, s2: Array, count: int) -> Array:
    """Paths (m, count) of the log variance given the parameters (m,)."""
    noise = rng.standard_normal((count, len(mu))) * np.sqrt(s2)
    away = np.empty((count, len(mu)))
    away[0] = noise[0] / np.sqrt(1 - phi**2)
    for t in range(1, count):
        away[t] = phi * away[t - 1] + noise[t]
    return np.ascontiguousarray((mu + away).T)


def log_prior_phi(phi: Array | float) -> Array:
    """log density of phi where (1 + phi) / 2 ~ Beta(20, 1.5)."""
    return BY_BETA + (BETA[0] - 1) * np.log(0.5 * (1 + phi)) + (BETA[1] - 1) * np.log(0.5 * (1 - phi))


def slope_psi(phi: Array, of_psi: Array) -> Array:
    """Gradient in psi = atanh phi of the path's log density, with those from the prior of phi and the Jacobian."""
    return of_psi + (BETA[0] - 1) * (1 - phi) - (BETA[1] - 1) * (1 + phi) - 2 * phi


# Returns of a price, a row after the other.

SP500 = "sp500"
CLOSINGS = Path("internal", "datasets", "sp500_closing_prices.py")  # plain NumPy: the package itself needs much more


def read_returns(source: str, form: options.TableForm, count: int) -> Array:
    """The last `count` returns of a source, (count,), less their mean.

    Of S&P 500 closings the log returns in percent, of a file its last column as it is. Raises InputError for fewer
    returns, for returns all equal, and for a first column of whole numbers that leaves one out or is out of order.
    """
    returns = 100 * np.diff(np.log(closings())) if source == SP500 else _of_file(source, form)
    options.check_most("num_data", count, len(returns), source)
    if np.ptp(returns[-count:]) == 0:
        raise InputError(f"the last {count:,} returns of data {shown(source)} are all equal; raise num_data", "data")
    return returns[-count:] - returns[-count:].mean()


@cache
def closings() -> Array:
    """Daily closings of the S&P 500 from June 2010 to June 2020, (2517,). Raises InputError without inference-gym."""
    path = folder_of("inference_gym", SP500, "returns") / CLOSINGS
    return np.asarray(run_path(str(path))["CLOSING_PRICES"], float)


def _of_file(source: str, form: options.TableForm) -> Array:
    found, table = content_of(source), np.asarray(options.rows_of(source, form).rows, float)
    first = found.columns[0].numbers if isinstance(found, Cells) else table[:, 0]
    width = len(found.columns) if isinstance(found, Cells) else table.shape[1]
    skipped = np.flatnonzero(np.diff(first) != 1)
    if width > 1 and (first == np.round(first)).all() and len(skipped):
        before, after = first[skipped[0]], first[skipped[0] + 1]
        words = f"the first column of data {shown(source)} numbers the returns, and after {before:g} comes {after:g}"
        raise InputError(f"{words}; a series must have no gaps", "data")
    return table[:, -1]
