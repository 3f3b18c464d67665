"""PMD beside NUTS of blackjax and tempered SMC of particles, at equal evaluations, on four posteriors."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable
from importlib import metadata
from typing import Any, NamedTuple

import numpy as np

from benchmarks.helpers.peers import one_thread_jax
from benchmarks.measuring import figures, needed
from benchmarks.problems import hierarchy, log_half_cauchy, normal_regression
from pmdviz import api
from pmdviz.errors import InputError
from pmdviz.targets import Target, make_target

OPTIONS = {"seeds": 20}
MODULES = ("absl-py", "blackjax", "etils", "jax", "jaxlib", "ml_dtypes", "opt_einsum", "optax", "particles")
INSTALL = f"pip install --no-deps --target FOLDER {' '.join(MODULES)}"
SHARES = (0.1, 0.3, 1.0)  # of PMD's evaluations, after which NUTS is measured
WARM_UP, BLOCK = 300, 50  # transitions of NUTS that adapt, and transitions in one compiled call
CHAIN, PILOT = 50, 20  # length of the chains of waste-free SMC, and how many a pilot run has
SD, SCALE = 10.0, 5.0  # of the regression's prior: of a coefficient, and of the noise's half-Cauchy scale


class Posterior(NamedTuple):
    """A target, its exact moments, and its log density up to a constant in jax: functions of (jax.numpy, theta)."""

    target: Target
    mean: np.ndarray
    sd: np.ndarray
    log_joint: Callable[[Any, Any], Any]

    def errors(self, mean: np.ndarray, sd: np.ndarray) -> tuple[float, float]:
        """Of the mean in posterior sds, and of the sds relative to them: root mean squares over coordinates."""
        return _rms((mean - self.mean) / self.sd), _rms(sd / self.sd - 1)


def run(options: Namespace) -> dict[str, Any]:
    """Errors with standard errors over seeds, and the evaluations that were spent."""
    jax = _libraries()
    seeds = range(2 if options.quick else options.seeds)
    versions = {name: metadata.version(name) for name in ("blackjax", "jax", "particles")}
    return {"seeds": len(seeds), "versions": versions} | {
        name: _compared(posterior, jax, seeds) for name, posterior in posteriors().items()
    }


def _libraries() -> Any:
    """The module jax. Raises InputError where a library is missing, with the command that installs it."""
    try:
        needed("blackjax", "particles.smc_samplers")
        return one_thread_jax()
    except ImportError as error:
        words = f"bench outside compares with other libraries, and one is missing: {error}"
        raise InputError(f"{words}. Install them apart, {INSTALL}, and run with PYTHONPATH=FOLDER") from error


def posteriors() -> dict[str, Posterior]:
    """A linear regression with unknown noise, a hierarchy of eight groups, a logistic regression, and the banana."""
    return {
        "regression, unknown noise, d=6": _regression(),
        "hierarchy, not centred, d=10": _hierarchy(),
        "logistic, d=3": _built_in("logistic", _logistic),
        "banana, d=2": _built_in("banana", _banana),
    }


def _regression() -> Posterior:
    rng = np.random.default_rng(0)
    x = np.column_stack([np.ones(200), 3 + rng.standard_normal((200, 4))])
    y = x @ rng.standard_normal(5) + 2 * rng.standard_normal(200)
    target, answer = normal_regression("regression", np.column_stack([y, x]), SD, 2.0, log_half_cauchy(SCALE))

    def log_joint(jnp: Any, theta: Any) -> Any:
        b, log_sigma = theta[:-1], theta[-1]
        squares = jnp.square((y - x @ b) * jnp.exp(-log_sigma)).sum()
        noise = log_sigma - jnp.log1p(jnp.exp(2 * log_sigma) / SCALE**2)
        return noise - len(y) * log_sigma - 0.5 * squares - 0.5 * jnp.square(b / SD).sum()

    return Posterior(target, answer.mean, answer.sd, log_joint)


def _hierarchy() -> Posterior:
    group, rng = np.repeat(np.arange(8), 20), np.random.default_rng(1)
    y = 4 + 3 * rng.standard_normal(8)[group] + 2 * SD * rng.standard_normal(160)
    data = np.column_stack([y, np.full(160, 2 * SD), group])
    target, answer = hierarchy("hierarchy", data, 2 * SD, log_half_cauchy(SCALE), centred=False)

    def log_joint(jnp: Any, theta: Any) -> Any:
        mu, eta, log_tau = theta[0], theta[1:-1], theta[-1]
        squares = jnp.square((y - mu - jnp.exp(log_tau) * eta[group]) / (2 * SD)).sum()
        scale = log_tau - jnp.log1p(jnp.exp(2 * log_tau) / SCALE**2)
        return scale - 0.5 * (squares + jnp.square(mu / (2 * SD)) + jnp.square(eta).sum())

    return Posterior(target, answer.mean, answer.sd, log_joint)


def _built_in(name: str, likelihood: Callable[[Any, Target, Any], Any]) -> Posterior:
    target = make_target(name)
    known = target.reference()

    def log_joint(jnp: Any, theta: Any) -> Any:
        return likelihood(jnp, target, theta) - 0.5 * jnp.square(theta / target.prior_sd).sum()

    return Posterior(target, known.mean, np.sqrt(np.diag(known.cov)), log_joint)


def _logistic(jnp: Any, target: Target, w: Any) -> Any:
    x, y = target.data[:, :-1], target.data[:, -1]
    return -jnp.logaddexp(0, (1 - 2 * y) * (x @ w)).sum()


def _banana(jnp: Any, target: Target, theta: Any) -> Any:
    means = theta[0] + target.options.bend * theta[1] ** 2
    return -0.5 * jnp.square((target.data - means) / target.options.sigma_x).sum()


def _compared(posterior: Posterior, jax: Any, seeds: range) -> dict[str, Any]:
    check(posterior, jax)
    nuts = NUTS(posterior, jax)
    rows: dict[str, list[tuple[float, ...]]] = {}
    for seed in seeds:
        pmd = _pmd(posterior, seed)
        budget = int(pmd[2])
        ends = {"pmd": pmd, "tempered SMC": _tempered(posterior, seed, budget)}
        ends |= {f"NUTS, {share:.0%}": end for share, end in zip(SHARES, nuts(seed, budget), strict=True)}
        for name, end in ends.items():
            rows.setdefault(name, []).append(end)
    return {name: _averaged(np.array(ends)) for name, ends in rows.items()}


def check(posterior: Posterior, jax: Any) -> None:
    """Raise AssertionError unless the two log densities differ by a constant where the posterior is."""
    points = posterior.mean + posterior.sd * np.random.default_rng(0).standard_normal((20, len(posterior.mean)))
    theirs = [float(posterior.log_joint(jax.numpy, jax.numpy.asarray(point))) for point in points]
    np.testing.assert_allclose(np.ptp(posterior.target.log_joint(points) - theirs), 0, atol=1e-6)


def _averaged(ends: np.ndarray) -> dict[str, Any]:
    """Of rows (error of the mean, of the sds, evaluations): means, and the first one's standard error.

    None where a run had no draws yet.
    """
    values = [*ends.mean(axis=0), ends[:, 0].std(ddof=1) / np.sqrt(len(ends))]
    names = "error_of_mean", "error_of_sd", "evaluations", "standard_error"
    return {name: figures(value, 3) if value == value else None for name, value in zip(names, values, strict=True)}


def _pmd(posterior: Posterior, seed: int) -> tuple[float, ...]:
    """At its defaults; its evaluations of the likelihood's rows, in passes over the data."""
    done = api.run(target=posterior.target, seed=seed, floor=False, metrics_every=10**6)
    evaluations = done.final.evaluations / posterior.target.num_data
    return *posterior.errors(done.mean(), np.sqrt(np.diag(done.cov()))), evaluations


def _tempered(posterior: Posterior, seed: int, budget: int) -> tuple[float, ...]:
    """Waste-free tempered SMC with random walk moves; a pilot run, not counted, says how many particles fit."""
    np.random.seed(seed)  # noqa: NPY002, the library draws from the global stream
    pilot = Tempered(posterior.target)
    pilot.run(PILOT)
    main = Tempered(posterior.target)
    mean, sd = main.run(max(2, round(PILOT * budget / pilot.evaluations)))
    return *posterior.errors(mean, sd), main.evaluations


class Tempered:
    """The target as a model of `particles`, which counts: `prior`, and `loglik(theta)`."""

    def __init__(self, target: Target) -> None:
        self.target, self.prior, self.evaluations = target, self, 0
        self._fields = [(f"theta_{k}", float) for k in range(target.dim)]

    def rvs(self, size: int) -> np.ndarray:
        """Draws of the prior, as a structured array."""
        rng = np.random.default_rng(np.random.randint(2**31))  # noqa: NPY002
        return self.target.sample_prior(rng, size).view(self._fields)[:, 0]

    def logpdf(self, theta: np.ndarray) -> np.ndarray:
        """Log prior (n,)."""
        return self.target.log_prior(self._plain(theta))

    def loglik(self, theta: np.ndarray) -> np.ndarray:
        """Log likelihood (n,), counted."""
        self.evaluations += len(theta)
        return self.target.log_likelihood(self._plain(theta), self.target.data_rows)

    def run(self, chains: int) -> tuple[np.ndarray, np.ndarray]:
        """Mean and sds (d,) of a run with so many chains."""
        particles, smc = needed("particles", "particles.smc_samplers")
        done = particles.SMC(fk=smc.AdaptiveTempering(model=self, len_chain=CHAIN), N=chains)
        done.run()
        theta = self._plain(done.X.theta)
        mean = done.W @ theta
        return mean, np.sqrt(done.W @ (theta - mean) ** 2)

    def _plain(self, theta: np.ndarray) -> np.ndarray:
        return np.ascontiguousarray(theta).view(float).reshape(len(theta), -1)


class NUTS:
    """NUTS with a diagonal metric, compiled once: one chain from a draw of the prior."""

    def __init__(self, posterior: Posterior, jax: Any) -> None:
        (blackjax,) = needed("blackjax")
        self.posterior, self.jax = posterior, jax

        def log_density(theta: Any) -> Any:
            return posterior.log_joint(jax.numpy, theta)

        def block(key: Any, state: Any, parameters: Any) -> Any:
            kernel = blackjax.nuts(log_density, **parameters)

            def one(state: Any, key: Any) -> Any:
                state, info = kernel.step(key, state)
                return state, (state.position, info.num_integration_steps)

            return jax.lax.scan(one, state, jax.random.split(key, BLOCK))

        adaptation = blackjax.window_adaptation(blackjax.nuts, log_density)
        self._warm_up = jax.jit(lambda key, theta: adaptation.run(key, theta, WARM_UP))
        self._block = jax.jit(block)

    def __call__(self, seed: int, budget: int) -> list[tuple[float, ...]]:
        """At each of SHARES of the budget: two errors, evaluations; NaN errors before the second draw.

        An integration step is two evaluations, a density and a gradient.
        """
        jax = self.jax
        start = jax.numpy.asarray(self.posterior.target.sample_prior(np.random.default_rng(seed), 1)[0])
        key = jax.random.PRNGKey(seed)
        (state, parameters), info = self._warm_up(key, start)
        spent = 2 * int(info.info.num_integration_steps.sum())
        draws, costs = [np.empty((0, len(start)))], [np.empty(0, int)]
        while spent < budget:
            key, now = jax.random.split(key)
            state, (positions, steps) = self._block(now, state, parameters)
            draws.append(np.asarray(positions))
            costs.append(spent + 2 * np.cumsum(np.asarray(steps)))
            spent = int(costs[-1][-1])
        theta, cost = np.concatenate(draws), np.concatenate(costs)
        return [self._after(theta[cost <= share * budget], share * budget) for share in SHARES]

    def _after(self, theta: np.ndarray, evaluations: float) -> tuple[float, ...]:
        found = self.posterior.errors(theta.mean(axis=0), theta.std(axis=0)) if len(theta) > 1 else (np.nan, np.nan)
        return *found, evaluations


def _rms(values: np.ndarray) -> float:
    return float(np.sqrt(np.square(values).mean()))


def table(found: dict[str, Any]) -> str:
    """The figures as a Markdown table: errors of means in thousandths of a posterior sd, with standard errors."""
    names = [name for name in found if isinstance(found[name], dict) and "pmd" in found[name]]
    entrants = [*found[names[0]]]
    lines = ["| posterior | evaluations | " + " | ".join(entrants) + " |", "|---" * (len(entrants) + 2) + "|"]
    for name in names:
        cells = [_cell(found[name][entrant]) for entrant in entrants]
        lines.append(f"| {name} | {found[name]['pmd']['evaluations']:,.0f} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _cell(row: dict[str, Any]) -> str:
    if row["error_of_mean"] is None:
        return "warming up"
    return f"{1000 * row['error_of_mean']:.0f} ± {1000 * row['standard_error']:.0f}"
