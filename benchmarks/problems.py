"""Generated posteriors with exact means and sds, of five kinds: what `bench silence` runs every method on."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.special import expit, gammaln

from benchmarks.helpers.answers import Answer, Unanswered, by_importance, gaussians, on_grid, over_a_line
from pmdviz.targets.custom import CustomTarget

FAR = 300.0  # a log scale beyond it is taken as this one, so that no gradient overflows
LEAST_MASS = 0.03  # of a mode
Functions = dict[str, Callable[..., np.ndarray]]


class Problem(NamedTuple):
    """A target with gradients, to which no reference is given, and its posterior."""

    name: str  # the kind and the number, such as "collinear_06"
    kind: str
    target: CustomTarget
    answer: Answer


def problem(seed: int, number: int) -> Problem:
    """A problem of a seed, the kinds in turn. What importance sampling cannot answer is drawn again."""
    kind = [*KINDS][number % len(KINDS)]
    name, variants = f"{kind}_{number:02d}", KINDS[kind]
    make, rng = variants[number // len(KINDS) % len(variants)], np.random.default_rng([seed, number])
    while True:
        try:
            return Problem(name, kind, *make(rng, name))
        except Unanswered:
            continue


class Prior(NamedTuple):
    """Independent coordinates with one density: functions of (m, p) -> (m, p), and rng, m -> (m, p)."""

    log_density: Callable[[np.ndarray], np.ndarray]
    gradient: Callable[[np.ndarray], np.ndarray]
    sample: Callable[[np.random.Generator, int], np.ndarray]
    size: int


def _normal(size: int, sd: float, mean: float = 0.0) -> Prior:
    return Prior(
        lambda b: -0.5 * ((b - mean) / sd) ** 2 - np.log(sd * np.sqrt(2 * np.pi)),
        lambda b: (mean - b) / sd**2,
        lambda rng, m: mean + sd * rng.standard_normal((m, size)),
        size,
    )


def _cauchy(size: int, scale: float) -> Prior:
    return Prior(
        lambda b: -np.log1p((b / scale) ** 2) - np.log(np.pi * scale),
        lambda b: -2 * b / (scale**2 + b**2),
        lambda rng, m: scale * rng.standard_cauchy((m, size)),
        size,
    )


def log_half_cauchy(scale: float) -> Prior:
    """The logarithm of a half-Cauchy scale."""
    start = np.log(scale)
    return Prior(
        lambda u: np.log(2 / np.pi) + (u - start) - np.logaddexp(0, 2 * (u - start)),
        lambda u: 1 - 2 * expit(2 * (u - start)),
        lambda rng, m: np.log(scale * np.maximum(np.abs(rng.standard_cauchy((m, 1))), 1e-9)),
        1,
    )


def _log_half_normal(scale: float) -> Prior:
    """The logarithm of a half-normal scale."""
    start = np.log(scale)
    return Prior(
        lambda u: 0.5 * np.log(2 / np.pi) + (u - start) - 0.5 * np.exp(2 * np.minimum(u - start, FAR)),
        lambda u: 1 - np.exp(2 * np.minimum(u - start, FAR)),
        lambda rng, m: np.log(scale * np.maximum(np.abs(rng.standard_normal((m, 1))), 1e-9)),
        1,
    )


def _is_wide(rng: np.random.Generator) -> bool:
    """Whether the priors are wide, which makes most runs fail; the others fit the posterior, so runs can be right."""
    return rng.random() < 0.6


def _scale_prior(rng: np.random.Generator, scale: float, wide: bool) -> Prior:
    """Of a log scale near log `scale`; a wide one has either tail."""
    if wide:
        return rng.choice([log_half_cauchy, _log_half_normal])(scale * 10 ** rng.uniform(0, 1))
    return _log_half_normal(scale * rng.uniform(1, 1.5))


def _independent(*priors: Prior) -> Functions:
    cuts = np.cumsum([prior.size for prior in priors])[:-1]

    def each(theta: np.ndarray, name: str) -> np.ndarray:
        parts = np.split(theta, cuts, axis=1)
        return np.hstack([getattr(prior, name)(part) for prior, part in zip(priors, parts, strict=True)])

    return {
        "log_prior": lambda theta: each(theta, "log_density").sum(axis=1),
        "grad_log_prior": lambda theta: each(theta, "gradient"),
        "sample_prior": lambda rng, m: np.hstack([prior.sample(rng, m) for prior in priors]),
    }


def _regression(degrees: float, sigma: float | None) -> Functions:
    """Likelihood of rows (y, x): y = x'b + sigma e, e of a t distribution (normal: infinite degrees).

    Without a sigma the last coordinate is log sigma.
    """

    def parts(theta: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        p = rows.shape[1] - 1
        log_sigma = np.full(len(theta), np.log(sigma)) if sigma else np.clip(theta[:, p], -FAR, FAR)
        return (rows[:, 0] - theta[:, :p] @ rows[:, 1:].T) * np.exp(-log_sigma)[:, None], log_sigma

    def log_likelihood(theta: np.ndarray, rows: np.ndarray) -> np.ndarray:
        e, log_sigma = parts(theta, rows)
        if degrees == np.inf:
            each, constant = -0.5 * (e**2).sum(axis=1), -0.5 * np.log(2 * np.pi)
        else:
            each = -0.5 * (degrees + 1) * np.log1p(e**2 / degrees).sum(axis=1)
            constant = gammaln((degrees + 1) / 2) - gammaln(degrees / 2) - 0.5 * np.log(degrees * np.pi)
        return each + len(rows) * (constant - log_sigma)

    def gradient(theta: np.ndarray, rows: np.ndarray) -> np.ndarray:
        e, log_sigma = parts(theta, rows)
        pull = e if degrees == np.inf else (degrees + 1) * e / (degrees + e**2)
        slope = (pull @ rows[:, 1:]) * np.exp(-log_sigma)[:, None]
        return slope if sigma else np.column_stack([slope, (pull * e).sum(axis=1) - len(rows)])

    return {"log_likelihood": log_likelihood, "grad_log_likelihood": gradient}


def _target(name: str, data: np.ndarray, dim: int, *functions: Functions) -> CustomTarget:
    return CustomTarget(name=name, data=data, dim=dim, **{key: f for part in functions for key, f in part.items()})


def _rows(rng: np.random.Generator, least: int = 8, most: int = 500, wide: bool = True) -> int:
    """N, most often small; at most 40 beside a prior that is not wide."""
    most = most if wide else 40
    return round(least * (most / least) ** (rng.beta(1.2, 2.4)))


def _inputs(rng: np.random.Generator, n: int, p: int, wide: bool) -> np.ndarray:
    """(n, p): a constant, and inputs whose mean may be far from 0 where the prior is wide."""
    offsets = rng.choice([0.0, 0.0, 3.0, 10.0], p) * wide
    x = offsets + rng.standard_normal((n, p))
    x[:, 0] = 1.0
    return x


def _unknown_noise(rng: np.random.Generator, name: str) -> tuple[CustomTarget, Answer]:
    """y = x'b + sigma e with log sigma unknown."""
    wide, p = _is_wide(rng), int(rng.integers(1, 10))
    x = _inputs(rng, _rows(rng, max(8, p + 3), wide=wide), p, wide)
    return _drawn_regression(rng, name, x, False, wide)


def _collinear(rng: np.random.Generator, name: str, known: bool) -> tuple[CustomTarget, Answer]:
    """A regression whose inputs share all but a small part, so that their correlation is 0.99 or more."""
    wide, p = _is_wide(rng), int(rng.integers(2, 8))
    n, rho = _rows(rng, p + 6, 300, wide), rng.choice([0.99, 0.997, 0.999])
    x = np.sqrt(rho) * rng.standard_normal((n, 1)) + np.sqrt(1 - rho) * rng.standard_normal((n, p))
    return _drawn_regression(rng, name, x, known, wide)


def _drawn_regression(
    rng: np.random.Generator, name: str, x: np.ndarray, known: bool, wide: bool
) -> tuple[CustomTarget, Answer]:
    """y = x'b + sigma e, b ~ N(0, sd^2 I): theta = (b, log sigma), or b where sigma is known."""
    n, p = x.shape
    sd, sigma = (10 ** rng.uniform(0, 2), 10 ** rng.uniform(-0.5, 1)) if wide else (1.0, rng.uniform(1, 3))
    y = x @ (min(sd, 3.0) * rng.standard_normal(p)) + sigma * rng.standard_normal(n)
    noise = None if known else _scale_prior(rng, sigma, wide)
    data = np.column_stack([y, x])
    y, x = data[:, 0], data[:, 1:]
    near = np.linalg.solve(x.T @ x + sigma**2 / sd**2 * np.eye(p), x.T @ y)  # b is counted from here: nothing cancels
    residual = y - x @ near

    def given(log_sigma: np.ndarray) -> tuple[np.ndarray, ...]:
        """Arguments of `gaussians` for the distance of b from `near`."""
        scale = np.exp(-2 * log_sigma)
        rest = -n * log_sigma - 0.5 * scale * (residual @ residual)
        if noise is not None:
            rest = rest + noise.log_density(log_sigma[:, None])[:, 0]
        precision = np.broadcast_to(np.eye(p) / sd**2, (len(scale), p, p))
        return rest, precision, scale[:, None, None] * (x.T @ x), scale[:, None] * (x.T @ residual) - near / sd**2

    coefficients = _normal(p, sd)
    if noise is None:
        functions = _independent(coefficients), _regression(np.inf, sigma), {"gibbs_sweep": _gibbs(sd, sigma)}
        _, mean, roots = gaussians(*given(np.log([sigma])))
        return _target(name, data, p, *functions), Answer(np.zeros(1), near + mean, roots)
    found = over_a_line(given, np.log(sigma) - 12, np.log(sigma) + 20)
    answer = Answer(np.log(found.weights), found.means + np.append(near, 0.0), found.roots)
    return _target(name, data, p + 1, _independent(coefficients, noise), _regression(np.inf, None)), answer


def _gibbs(sd: float, sigma: float) -> Callable[..., np.ndarray]:
    """Every coefficient from its conditional, a Gaussian."""

    def sweep(rng: np.random.Generator, theta: np.ndarray, data: np.ndarray) -> np.ndarray:
        theta, x = theta.copy(), data[:, 1:]
        residual = data[:, 0] - x @ theta
        for j, column in enumerate(x.T):
            precision = column @ column / sigma**2 + 1 / sd**2
            new = (column @ residual + column @ column * theta[j]) / sigma**2 / precision
            new += rng.standard_normal() / np.sqrt(precision)
            residual -= column * (new - theta[j])
            theta[j] = new
        return theta

    return sweep


def _hierarchy(rng: np.random.Generator, name: str, centred: bool) -> tuple[CustomTarget, Answer]:
    """Groups with means theta_j ~ N(mu, tau^2) and rows (y, its sd, j), as eight schools: theta = (mu, ..., log tau).

    mu ~ N(0, width^2), log tau of the prior `scale`; between them are the theta_j (centred) or
    eta_j = (theta_j - mu) / tau.
    """
    wide, groups = _is_wide(rng), int(rng.integers(3, 9))
    sizes = 1 + rng.integers(0, rng.choice([3, 10, 40]), groups)
    sizes[0] += max(0, 8 - sizes.sum())
    unit = 10 ** rng.uniform(0, 1)
    errors, width = unit * rng.uniform(0.7, 1.5, groups), unit * 10 ** rng.uniform(0, 1 if wide else 0.2)
    means = width * rng.standard_normal() + unit * rng.uniform(0, 1.5) * rng.standard_normal(groups)
    group = np.repeat(np.arange(groups), sizes)
    y = means[group] + errors[group] * rng.standard_normal(len(group))
    data, scale, middle = np.column_stack([y, errors[group], group]), _scale_prior(rng, unit, wide), np.log(errors[0])
    functions = _centred(groups, width, scale) if centred else _not_centred(groups, width, scale)
    answer = over_a_line(_given_tau(data, width, scale), middle - 40, middle + 30)
    return _target(name, data, groups + 2, functions), _recentred(answer) if centred else answer


def _given_tau(data: np.ndarray, width: float, scale: Prior) -> Callable[..., tuple[np.ndarray, ...]]:
    y, weights, members = data[:, 0], 1 / data[:, 1] ** 2, _members(data, int(data[:, 2].max()) + 1)
    precision = np.diag(np.append(width**-2.0, np.ones(members.shape[1])))

    def given(log_tau: np.ndarray) -> tuple[np.ndarray, ...]:
        """Arguments of `gaussians` for (mu, eta_1, ...)."""
        design = np.concatenate([np.ones((len(log_tau), len(y), 1)), np.exp(log_tau)[:, None, None] * members], axis=2)
        weighted = design * weights[:, None]
        grams = np.swapaxes(weighted, 1, 2) @ design
        precisions = np.broadcast_to(precision, grams.shape)
        return scale.log_density(log_tau[:, None])[:, 0], precisions, grams, np.einsum("kni,n->ki", weighted, y)

    return given


def _recentred(answer: Answer) -> Answer:
    """Of (mu, theta_1, ..., log tau) from that of (mu, eta_1, ..., log tau): theta_j = mu + tau eta_j."""
    change = np.tile(np.eye(answer.means.shape[1]), (len(answer.weights), 1, 1))
    change[:, 1:-1] *= np.exp(answer.means[:, -1])[:, None, None]
    change[:, 1:-1, 0] = 1.0
    means = np.einsum("kij,kj->ki", change, answer.means)
    return Answer(np.log(answer.weights), means, change @ answer.roots)


def _centred(groups: int, width: float, scale: Prior) -> Functions:
    mu = _normal(1, width)

    def parts(theta: np.ndarray) -> tuple[np.ndarray, ...]:
        log_tau = np.clip(theta[:, -1:], -FAR, FAR)
        return theta[:, :1], log_tau, (theta[:, 1:-1] - theta[:, :1]) * np.exp(-log_tau)

    def log_prior(theta: np.ndarray) -> np.ndarray:
        level, log_tau, z = parts(theta)
        outer = mu.log_density(level) + scale.log_density(log_tau) - groups * (log_tau + 0.5 * np.log(2 * np.pi))
        return outer[:, 0] - 0.5 * (z**2).sum(axis=1)

    def grad_log_prior(theta: np.ndarray) -> np.ndarray:
        level, log_tau, z = parts(theta)
        slope = -z * np.exp(-log_tau)
        total = slope.sum(axis=1, keepdims=True)
        of_tau = scale.gradient(log_tau) + (z**2).sum(axis=1, keepdims=True) - groups
        return np.hstack([mu.gradient(level) - total, slope, of_tau])

    def sample_prior(rng: np.random.Generator, m: int) -> np.ndarray:
        level, log_tau = mu.sample(rng, m), scale.sample(rng, m)
        return np.hstack([level, level + np.exp(log_tau) * rng.standard_normal((m, groups)), log_tau])

    def standard(theta: np.ndarray, rows: np.ndarray) -> np.ndarray:
        return (rows[:, 0] - theta[:, 1 + rows[:, 2].astype(int)]) / rows[:, 1]

    def gradient(theta: np.ndarray, rows: np.ndarray) -> np.ndarray:
        found = np.zeros_like(theta)
        found[:, 1:-1] = (standard(theta, rows) / rows[:, 1]) @ _members(rows, groups)
        return found

    return {
        "log_prior": log_prior,
        "grad_log_prior": grad_log_prior,
        "sample_prior": sample_prior,
        "log_likelihood": lambda theta, rows: _log_normal(standard(theta, rows), rows),
        "grad_log_likelihood": gradient,
    }


def _not_centred(groups: int, width: float, scale: Prior) -> Functions:
    def standard(theta: np.ndarray, rows: np.ndarray) -> np.ndarray:
        tau = np.exp(np.clip(theta[:, -1:], -FAR, FAR))
        return (rows[:, 0] - theta[:, :1] - tau * theta[:, 1 + rows[:, 2].astype(int)]) / rows[:, 1]

    def gradient(theta: np.ndarray, rows: np.ndarray) -> np.ndarray:
        tau, pull = np.exp(np.clip(theta[:, -1:], -FAR, FAR)), standard(theta, rows) / rows[:, 1]
        of_eta = tau * (pull @ _members(rows, groups))
        of_tau = (of_eta * theta[:, 1:-1]).sum(axis=1, keepdims=True)
        return np.hstack([pull.sum(axis=1, keepdims=True), of_eta, of_tau])

    return _independent(_normal(1, width), _normal(groups, 1.0), scale) | {
        "log_likelihood": lambda theta, rows: _log_normal(standard(theta, rows), rows),
        "grad_log_likelihood": gradient,
    }


def _log_normal(z: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Log likelihood (m,) of rows with sds in their second column, from their standardised residuals (m, n)."""
    return -0.5 * (z**2).sum(axis=1) - np.log(rows[:, 1] * np.sqrt(2 * np.pi)).sum()


def _members(rows: np.ndarray, groups: int) -> np.ndarray:
    """(n, groups): 1 where the row is of the group."""
    return (rows[:, 2:] == np.arange(groups)).astype(float)


def _two_means(rng: np.random.Generator, name: str) -> tuple[CustomTarget, Answer]:
    """x ~ w N(a, 1) + (1 - w) N(b, 1), w known and not 1/2: (a, b) and (b, a) have unequal masses."""
    sd, box = 10 ** rng.uniform(0.5, 1.2), None
    while True:
        n, share = int(rng.integers(8, 40)), rng.uniform(0.53, 0.7)
        centres = rng.uniform(-2, 2) + rng.uniform(3, 6) * np.array([-0.5, 0.5])
        x = centres[(rng.random(n) > share).astype(int)] + rng.standard_normal(n)
        target = _target(name, x[:, None], 2, _independent(_normal(2, sd)), _mixture(share))
        box = np.array([[x.min() - 5, x.max() + 5]] * 2)  # both components have data: none reaches the prior's width
        answer = on_grid(target.log_joint, box)
        mass = answer.weights[answer.means[:, 0] < answer.means[:, 1]].sum()
        if LEAST_MASS < min(mass, 1 - mass) < 0.45:
            return target, answer


def _mixture(share: float) -> Functions:
    def parts(theta: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        distances = rows[:, 0] - theta[:, :, None]  # (m, 2, n)
        return distances, np.log([share, 1 - share])[:, None] - 0.5 * distances**2 - 0.5 * np.log(2 * np.pi)

    def gradient(theta: np.ndarray, rows: np.ndarray) -> np.ndarray:
        distances, logs = parts(theta, rows)
        return (distances * np.exp(logs - np.logaddexp.reduce(logs, axis=1)[:, None])).sum(axis=2)

    return {
        "log_likelihood": lambda theta, rows: np.logaddexp.reduce(parts(theta, rows)[1], axis=1).sum(axis=1),
        "grad_log_likelihood": gradient,
    }


def _prior_modes(rng: np.random.Generator, name: str) -> tuple[CustomTarget, Answer]:
    """A prior of two or three Gaussians, far apart in the first coordinate, of which the data say little."""
    sd, sigma, p = 10 ** rng.uniform(0, 1), 10 ** rng.uniform(-0.3, 0.5), int(rng.integers(1, 8))
    while True:
        n, k = _rows(rng, max(8, p + 3), 200), int(rng.integers(2, 4))
        shares, centres = rng.dirichlet(np.full(k, 3.0)), rng.uniform(8, 12) * (np.arange(k) - (k - 1) / 2)
        x = rng.standard_normal((n, p))
        x[:, 0] *= rng.uniform(0.3, 1) * sigma / np.sqrt(n) / 10
        sds = np.append(1.0, np.full(p - 1, sd))
        y = x @ (sds * rng.standard_normal(p)) + sigma * rng.standard_normal(n)
        # Of each component: b is counted from its centre.
        from_centres = y - np.outer(centres, x[:, 0])  # (k, n)
        log_weights, means, roots = gaussians(
            np.log(shares) - 0.5 * (from_centres**2).sum(axis=1) / sigma**2,
            *np.broadcast_arrays(np.diag(sds**-2.0), np.broadcast_to(x.T @ x / sigma**2, (k, p, p))),
            from_centres @ x / sigma**2,
        )
        means[:, 0] += centres
        answer = Answer(log_weights, means, roots)
        if len(answer.weights) == k and LEAST_MASS < answer.weights.min() < 0.9 / k:
            break
    prior = _gaussian_sum(shares, centres, sds)
    return _target(name, np.column_stack([y, x]), p, prior, _regression(np.inf, sigma)), answer


def _gaussian_sum(shares: np.ndarray, centres: np.ndarray, sds: np.ndarray) -> Functions:
    """Prior sum_k share_k N((centre_k, 0, ...), diag sds^2), the first sd 1."""
    rest = _normal(1, 1.0)

    def logs(theta: np.ndarray) -> np.ndarray:
        return np.log(shares) - 0.5 * (theta[:, :1] - centres) ** 2

    def log_prior(theta: np.ndarray) -> np.ndarray:
        others = rest.log_density(theta[:, 1:] / sds[1:]).sum(axis=1) - np.log(sds).sum() - 0.5 * np.log(2 * np.pi)
        return np.logaddexp.reduce(logs(theta), axis=1) + others

    def grad_log_prior(theta: np.ndarray) -> np.ndarray:
        each, found = logs(theta), -theta / sds**2
        found[:, 0] += np.exp(each - np.logaddexp.reduce(each, axis=1)[:, None]) @ centres
        return found

    def sample_prior(rng: np.random.Generator, m: int) -> np.ndarray:
        draws = sds * rng.standard_normal((m, len(sds)))
        draws[:, 0] += rng.choice(centres, m, p=shares)
        return draws

    return {"log_prior": log_prior, "grad_log_prior": grad_log_prior, "sample_prior": sample_prior}


def _two_roots(rng: np.random.Generator, name: str) -> tuple[CustomTarget, Answer]:
    """y = x'b + z (u - c)^2 + sigma e, theta = (b, u): the prior of u, symmetric about 0, favours one of two roots."""
    p, root = int(rng.integers(1, 8)), rng.uniform(2, 4)
    n, sd, width = _rows(rng, max(8, p + 4), 200), 10 ** rng.uniform(0, 1.3), root * rng.uniform(0.8, 1.5)
    log_odds, sigma = rng.uniform(0.4, 2.5), rng.uniform(0.5, 3)
    c = log_odds * width**2 / (2 * root)
    x, z = _inputs(rng, n, p, True), rng.uniform(0.5, 1.5, n)
    y = x @ (min(sd, 3.0) * rng.standard_normal(p)) + z * root**2 + sigma * rng.standard_normal(n)

    def standard(theta: np.ndarray, rows: np.ndarray) -> np.ndarray:
        linear = theta[:, :p] @ rows[:, 2:].T + np.square(theta[:, p:] - c) * rows[:, 1]
        return (rows[:, 0] - linear) / sigma

    def log_likelihood(theta: np.ndarray, rows: np.ndarray) -> np.ndarray:
        each = standard(theta, rows)
        return -0.5 * (each**2).sum(axis=1) - len(rows) * np.log(sigma * np.sqrt(2 * np.pi))

    def gradient(theta: np.ndarray, rows: np.ndarray) -> np.ndarray:
        pull = standard(theta, rows) / sigma
        return np.column_stack([pull @ rows[:, 2:], 2 * (theta[:, p] - c) * (pull @ rows[:, 1])])

    likelihood: Functions = {"log_likelihood": log_likelihood, "grad_log_likelihood": gradient}
    gram = x.T @ x / sigma**2

    def given(u: np.ndarray) -> tuple[np.ndarray, ...]:
        left = (y - np.outer((u - c) ** 2, z)) / sigma
        log_weights = -0.5 * (left**2).sum(axis=1) - 0.5 * (u / width) ** 2
        shapes = np.broadcast_arrays(np.eye(p) / sd**2, np.broadcast_to(gram, (len(u), p, p)))
        return log_weights, *shapes, left @ x / sigma

    prior = _independent(_normal(p, sd), _normal(1, width))
    target = _target(name, np.column_stack([y, z, x]), p + 1, prior, likelihood)
    return target, over_a_line(given, c - 6 * root, c + 6 * root)


def _student_noise(rng: np.random.Generator, name: str) -> tuple[CustomTarget, Answer]:
    """y = x'b + sigma e, e with 1.5 to 4 degrees of freedom, log sigma unknown."""
    wide, p = _is_wide(rng), int(rng.integers(1, 5))
    sigma, sd, degrees = 10 ** rng.uniform(-0.5, 0.5), 10 ** rng.uniform(0, 2 if wide else 0.2), rng.uniform(1.5, 4)
    x = _inputs(rng, _rows(rng, p + 9, 200, wide), p, wide)
    y = x @ (min(sd, 3.0) * rng.standard_normal(p)) + sigma * rng.standard_t(degrees, len(x))
    prior = _independent(_normal(p, sd), _scale_prior(rng, sigma, wide))
    target = _target(name, np.column_stack([y, x]), p + 1, prior, _regression(degrees, None))
    return target, by_importance(target, np.append(np.linalg.lstsq(x, y)[0], np.log(sigma)))


def _cauchy_location(rng: np.random.Generator, name: str) -> tuple[CustomTarget, Answer]:
    """The location of few Cauchy data, of known scale: d = 1, often with several modes."""
    sd = 10 ** rng.uniform(0, 2 if _is_wide(rng) else 0.3)
    y = min(sd, 5.0) * rng.standard_normal() + rng.standard_cauchy(int(rng.integers(8, 20)))
    data = np.column_stack([y, np.ones_like(y)])
    target = _target(name, data, 1, _independent(_cauchy(1, sd)), _regression(1.0, 1.0))
    return target, on_grid(target.log_joint, np.array([[y.min() - 20, y.max() + 20]]))


def _cauchy_prior(rng: np.random.Generator, name: str) -> tuple[CustomTarget, Answer]:
    """Cauchy priors of coefficients, and few rows of known noise."""
    wide, p, sigma = _is_wide(rng), int(rng.integers(2, 7)), 10 ** rng.uniform(-0.3, 0.7)
    x = rng.standard_normal((_rows(rng, p + 8, 40), p))
    y = x @ rng.standard_cauchy(p).clip(-10, 10) + sigma * rng.standard_normal(len(x))
    prior = _independent(_cauchy(p, 10 ** rng.uniform(0, 1.3 if wide else 0)))
    target = _target(name, np.column_stack([y, x]), p, prior, _regression(np.inf, sigma))
    return target, by_importance(target, np.linalg.lstsq(x, y)[0])


def _logistic(rng: np.random.Generator, name: str) -> tuple[CustomTarget, Answer]:
    """A logistic regression with few rows and a wide prior: a skewed posterior. P(y = 1) = 1 / (1 + exp(-x'b))."""
    p = int(rng.integers(2, 6))
    x = rng.standard_normal((_rows(rng, 8, 60), p))
    x[:, 0] = 1.0
    y = rng.random(len(x)) < expit(x @ (1.5 * rng.standard_normal(p)))
    prior = _independent(_normal(p, 10 ** rng.uniform(0, 1 if _is_wide(rng) else 0.3)))
    likelihood: Functions = {
        "log_likelihood": lambda b, rows: -np.logaddexp(0, (1 - 2 * rows[:, 0]) * (b @ rows[:, 1:].T)).sum(axis=1),
        "grad_log_likelihood": lambda b, rows: (rows[:, 0] - expit(b @ rows[:, 1:].T)) @ rows[:, 1:],
    }
    target = _target(name, np.column_stack([y, x]), p, prior, likelihood)
    return target, by_importance(target, np.zeros(p))


KINDS: dict[str, tuple[Callable[..., tuple[CustomTarget, Answer]], ...]] = {
    "unknown_noise": (_unknown_noise,),
    "collinear": (partial(_collinear, known=True), partial(_collinear, known=False)),
    "hierarchy": (partial(_hierarchy, centred=True), partial(_hierarchy, centred=False)),
    "modes": (_two_means, _prior_modes, _two_roots),
    "heavy_tails": (_student_noise, _cauchy_prior, _logistic, _cauchy_location),
}
