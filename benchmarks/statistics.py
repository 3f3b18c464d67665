"""Numbers of a run's end, by which rows are measured. Tables name them by their functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from pmdviz.densities.chains import k_hat
from pmdviz.engine.frame import Frame
from pmdviz.engine.session import Session
from pmdviz.methods.mcmc import judged_draws
from pmdviz.methods.stein.black_box_is import discrepancy_matrix
from pmdviz.methods.vi import sds
from pmdviz.metrics.distances import differing, reference_draws, sd_ratios, squared_distances
from pmdviz.metrics.divergences import modes
from pmdviz.targets import Target

Numbers = dict[str, float]
DRAWS, PAIRS = 2000, 500  # exact ones; of these so many for their median distance
LAST, LOOKS = 0.2, 40  # share of the steps that is averaged over, and at how many of them
ON_THE_WAY = ("iterates", "volatility")  # these advance the session themselves


class End(NamedTuple):
    """Weighted points of a target, and the session that made them, if one did."""

    target: Target
    points: np.ndarray
    weights: np.ndarray
    seed: int
    session: Session | None = None
    steps: int | None = None

    @property
    def frame(self) -> Frame:
        """The last one of the session."""
        return self.session.frame

    @property
    def ess(self) -> float:
        """As a share of the points."""
        return 1 / float((self.weights**2).sum()) / len(self.weights)

    @property
    def log_z_error(self) -> float:
        """In nats."""
        log_z = self.frame.method.log_z(self.frame.state, self.frame.knobs, self.target)
        return float(log_z - self.target.reference().log_z)

    @property
    def squares(self) -> np.ndarray:
        """Squared sds of the reference."""
        return np.diag(self.target.reference().cov)


def value(of: Callable[[End], float]) -> Callable[[End], Numbers]:
    """A statistic of one number."""
    return lambda end: {"value": float(of(end))}


variance_ratio = value(lambda end: end.points.var(axis=0).mean() / end.squares.mean())  # without a smoothing kernel
lightest_mode = value(lambda end: min(modes(end.target).masses_of(end.frame.density)))  # its mass under q
total_variation = value(lambda end: end.frame.metrics["tv"])
variance = value(lambda end: end.frame.density.cov[0, 0])  # of q, in its first coordinate


def squared_errors(end: End) -> Numbers:
    """Squared errors of weighted means of x and x^2, a mean over the coordinates, and of cos(w'x + b), on `gmm`.

    w ~ N(0, I) and b ~ U(0, 1); E cos(w'x + b) = e^(-v |w|^2 / 2) sum_k w_k cos(w'mu_k + b).
    """
    target, x, rng = end.target, end.points, np.random.default_rng([end.seed, 2019])
    w, b, exact = rng.standard_normal(target.dim), float(rng.random()), target.reference()
    cosine = np.exp(-0.5 * target.options.variance * (w**2).sum()) * target.weights @ np.cos(target.means @ w + b)
    return {
        "x": float(((end.weights @ x - exact.mean) ** 2).mean()),
        "x2": float(((end.weights @ x**2 - end.squares - exact.mean**2) ** 2).mean()),
        "cos": float((end.weights @ np.cos(x @ w + b) - cosine) ** 2),
    }


def judged(end: End) -> Numbers:
    """Those of these metrics that the run has, and 1 where it carries a caveat, else 0."""
    frame = end.frame
    found = {name: frame.metrics.get(name) for name in ("tv", "kl_forward", "mean_error", "ess", "ancestors")}
    return {name: float(v) for name, v in found.items() if v is not None} | {"caveat": float(bool(frame.caveat))}


def log_z_error(end: End) -> Numbers:
    """Of log Z, in nats."""
    return {"log_z_error": end.log_z_error}


def evidence(end: End) -> Numbers:
    """Error of log Z in nats, squared relative error of Z, and the ESS as a share of the particles."""
    return {"log_z_error": end.log_z_error, "z": float(np.expm1(end.log_z_error)) ** 2, "ess": end.ess}


def moments(end: End) -> Numbers:
    """Those of `evidence`, and squared errors of means."""
    return squared_errors(end) | (evidence(end) if end.session is not None else {})


def divergence(end: End) -> Numbers:
    """Those of `evidence`, and KL(q, p) = mean over the particles of log q - log p, for particles that q was drawn to.

    With log w = log p - log q of weights that were never resampled it is log Z - mean of log w, in nats.
    """
    log_w = end.frame.state.log_weights
    return evidence(end) | {"kl": -float((log_w + np.log(len(log_w)) + end.log_z_error).mean())}


def adaptive(end: End) -> Numbers:
    """KL(p || q) and KL(q || p) of the fitted mixture q, the ESS as a share of the draws, log Z's error; in nats."""
    frame, rng, num = end.frame, np.random.default_rng(0), 20_000
    p, q = end.target.exact, frame.densities["mixture"]
    of_p, of_q = p.sample(rng, num), q.sample(rng, num)
    return {
        "kl_forward": float((p.log_density(of_p) - q.log_density(of_p)).mean()),
        "kl": float((q.log_density(of_q) - p.log_density(of_q)).mean()),
        "ess_fraction": end.ess,
        "log_z_error": float(frame.metrics["log_z_error"]),
    }


def weighed(end: End) -> Numbers:
    """Squared errors of the weighted means, and the ESS as a share."""
    return squared_errors(end) | {"ess": end.ess}


def control_variates(end: End) -> Numbers:
    """The same by weights K^-1 1 / (1'K^-1 1), which may be below 0 (Oates, Girolami, Chopin 2017, eq. 8)."""
    rows, K = discrepancy_matrix(end.frame.state, end.target, end.frame.knobs)
    found, scale = np.zeros(len(end.points)), 1 / np.sqrt(np.diag(K))
    found[rows] = scale * np.linalg.solve(scale[:, None] * K * scale, scale)
    return squared_errors(end._replace(weights=found / found.sum()))


def discrepancy(end: End) -> Numbers:
    """MMD^2 of the weighted particles to 2,000 exact draws, k = exp(-|x-y|^2 / med^2) with their median distance."""
    x, w, frame = end.points, end.weights, end.frame
    draws = end.target.reference().sample(np.random.default_rng([end.seed, 3]), DRAWS)
    h = float(np.median(squared_distances(draws[:PAIRS], draws[:PAIRS])[np.triu_indices(PAIRS, 1)]))
    own, across, exact = (np.exp(-squared_distances(a, b) / h) for a, b in ((x, x), (x, draws), (draws, draws)))
    log_z = float(frame.method.log_z(frame.state, frame.knobs, frame.target))
    return {
        "mmd2": float(w @ own @ w - 2 * w @ across.mean(axis=1) + exact.mean()),
        "ess": end.ess,
        "log_z_error": log_z,
    }


def described(end: End) -> Numbers:
    """Squared MMD of weighted points from a `gmm`, their mean variance, and that over the target's.

    The MMD is in closed form, kernel k = exp(-|x - y|^2 / h), h the squared median distance of 1,000 exact draws; pairs
    of a point with itself are counted, and E k(x, Y) = sum_k p_k (h / (h + 2v))^(d/2) exp(-|x - mu_k|^2 / (h + 2v)).
    """
    target, x, w = end.target, end.points, end.weights
    draws = target.reference().sample(np.random.default_rng(0), 1000)
    h, v, d = np.median(squared_distances(draws, draws)[np.triu_indices(1000, 1)]), target.options.variance, target.dim
    means, p = target.means, target.weights
    within = w @ np.exp(-squared_distances(x, x) / h) @ w
    across = (h / (h + 2 * v)) ** (d / 2) * w @ np.exp(-squared_distances(x, means) / (h + 2 * v)) @ p
    exact = (h / (h + 4 * v)) ** (d / 2) * p @ np.exp(-squared_distances(means, means) / (h + 4 * v)) @ p
    variance = float((w @ (x - w @ x) ** 2).mean())
    found = {"mmd2": float(within - 2 * across + exact), "variance": variance, "ratio": variance / end.squares.mean()}
    return found if end.session is None else {**found, "steps": float(end.frame.iteration)}


def tv_states(end: End) -> Numbers:
    """TV to the exact probabilities of a few states."""
    if end.session is not None:
        return {"tv_states": float(end.frame.metrics["tv_states"])}
    p = end.target.probabilities
    drawn = np.random.default_rng([end.seed, 1]).multinomial(len(end.points), p) / len(end.points)
    return {"tv_states": float(0.5 * np.abs(drawn - p).sum())}


def lattice(end: End) -> Numbers:
    """Squared error of the mean, a mean over the coordinates, and squared MMD with the exponentiated Hamming kernel.

    Of lattices also that of the products of neighbours, a mean over all pairs, whose truth is that of 1,000 draws.
    """
    target, x, w = end.target, end.points, end.weights
    y, values = reference_draws(target), target.space.values
    xx, xy, yy = (np.exp(-differing(a, b, values)) for a, b in ((x, x), (x, y), (y, y)))
    among = (yy.sum() - len(y)) / (len(y) * (len(y) - 1))
    found = {
        "mean": float(((w @ x - target.reference().mean) ** 2).mean()),
        "mmd2": float(w @ xx @ w - 2 * w @ xy.mean(axis=1) + among),
    }
    if target.name == "ising":
        found["neighbours"] = float(((w @ _products(x) - _products(y).mean(axis=0)) ** 2).mean())
    if end.session is not None and end.session.method.name == "discrete_gf_svgd":
        found["ess"] = end.frame.info.scalars["ess_of_ratios"] / len(x)
    return found


def _products(points: np.ndarray) -> np.ndarray:
    """z_i z_j (m, 2 d) of the neighbours on a torus, each pair once, for spins (m, d)."""
    side = round(points.shape[1] ** 0.5)
    lattices = points.reshape(-1, side, side)
    return np.concatenate([(lattices * np.roll(lattices, 1, axis)).reshape(len(points), -1) for axis in (1, 2)], axis=1)


def nets(end: End) -> Numbers:
    """What held-out digits say of an ensemble of binary nets."""
    return {name: float(end.frame.metrics[name] or 0.0) for name in ("accuracy", "single_accuracy", "log_loss")}


def of_moments(end: End) -> Numbers:
    """Root mean squares over the coordinates: of the means' errors in posterior sds, of the log of the sds' ratios."""
    q, reference, sd = end.frame.density, end.target.reference(), np.sqrt(end.squares)
    ratios = np.sqrt(np.diag(q.cov)) / sd
    return {
        "mean": float(np.sqrt((((q.mean - reference.mean) / sd) ** 2).mean())),
        "log_sd_ratio": float(np.sqrt((np.log(ratios) ** 2).mean())),
        "sd_ratio": float(ratios.mean()),
    }


def annealed(end: End) -> Numbers:
    """Errors of log Z from below and from above in nats, the ESS, k-hat, and sds over exact ones."""
    frame, reference = end.frame, end.target.reference()
    above = frame.method.log_z_above(frame.state, frame.knobs, frame.target)
    weights, points = np.exp(frame.state.log_weights), frame.state.particles
    variance = (weights[:, None] * (points - weights @ points) ** 2).sum(axis=0)
    return {
        "error": end.log_z_error,
        "above": np.nan if above is None else above - reference.log_z,
        "ess": 1 / (weights**2).sum(),
        "khat": k_hat(frame.state.log_weights),
        "sd_ratio": float(np.sqrt(variance / end.squares).mean()),
    }


def laplace_ratios(target: Target) -> np.ndarray:
    """Laplace's theory of a mean field, (d,): sds of the blocks given all others over those of the joint, at the peak.

    Of `logistic`: with H the negative Hessian of the log posterior, sqrt(diag (H_bb)^-1 / diag H^-1) for every block.
    """
    x, y, theta = target.data[:, :-1], target.data[:, -1], np.zeros(target.dim)
    for _ in range(50):
        p = 1 / (1 + np.exp(-x @ theta))
        hessian = (x.T * (p * (1 - p))) @ x + np.eye(target.dim) / target.prior_sd**2
        theta = theta + np.linalg.solve(hessian, x.T @ (y - p) - theta / target.prior_sd**2)
    alone = np.empty(target.dim)
    for block in target.blocks:
        inside = list(block.coordinates)
        alone[inside] = np.diag(np.linalg.inv(hessian[np.ix_(inside, inside)]))
    return np.sqrt(alone / np.diag(np.linalg.inv(hessian)))


def across_blocks(cov: np.ndarray, target: Target) -> float:
    """The largest |correlation| of two coordinates of different blocks."""
    sd, apart = np.sqrt(np.diag(cov)), np.ones(cov.shape, bool)
    for block in target.blocks:
        apart[np.ix_(block.coordinates, block.coordinates)] = False
    return float(np.abs(cov / np.outer(sd, sd))[apart].max())


def against_reference(end: End) -> Numbers:
    """Mean |error| of the means in posterior sds, sd ratios, how far they are from theory, correlation across blocks.

    Of the particles, whose rows pair the blocks as a draw of q does.
    """
    reference, cov = end.target.reference(), np.cov(end.points.T)
    errors = np.abs(end.points.mean(axis=0) - reference.mean) / np.sqrt(end.squares)
    ratios = sd_ratios(cov, reference)
    return {
        "mean_error": float(errors.mean()),
        **{f"ratio_{k + 1}": float(ratio) for k, ratio in enumerate(ratios)},
        "off_theory": float(np.abs(ratios - laplace_ratios(end.target)).max()),
        "across": across_blocks(cov, end.target),
        "across_exact": across_blocks(reference.cov, end.target),
    }


def of_pair(end: End) -> Numbers:
    """Variance of a coordinate of the pair over the exact one, a mean of both, and their correlation."""
    cov = np.cov(end.points.T)
    return {"variance": float(np.diag(cov).mean()), "correlation": float(cov[0, 1] / np.sqrt(cov[0, 0] * cov[1, 1]))}


def of_modes(end: End) -> Numbers:
    """Where the particles are, and KL(q, p) in nats from draws of q."""
    q, (first, second) = end.frame.density, end.points.mean(axis=0)
    draws = q.sample(np.random.default_rng(end.seed), 20_000)
    kl = (q.log_density(draws) - end.target.exact.log_density(draws)).mean()
    return {"first": float(first), "second": float(second), "kl": float(kl)}


def volatility(end: End) -> Numbers:
    """Means and sds of mu, phi and s2: of exact draws, or under q over the last fifth of the steps."""
    if end.session is None:
        values = {"mu": end.points[:, 0], "phi": np.tanh(end.points[:, 2]), "s2": np.exp(end.points[:, 1])}
        return {f"{name}{of}": float(f(v)) for of, f in (("", np.mean), ("_sd", np.std)) for name, v in values.items()}
    end.session.advance(round((1 - LAST) * end.steps))
    found = []
    for _ in range(LOOKS):
        end.session.advance(round(LAST * end.steps / LOOKS))
        (mean, variance), (shape, scale) = (end.frame.state.closed[name] for name in ("μ", "σ²"))
        phi, s2 = np.tanh(end.frame.state.particles[:, 2]), scale / (shape - 1)  # by its particles; inverse gamma
        middles = {"mu": mean, "phi": phi.mean(), "s2": s2}
        found.append({**middles, "mu_sd": np.sqrt(variance), "phi_sd": phi.std(), "s2_sd": s2 / np.sqrt(shape - 2)})
    return {name: float(np.mean([each[name] for each in found])) for name in found[0]}


def scores(end: End) -> Numbers:
    """Scores on held-out rows, and the variance of y that a mean square error is to be held against."""
    metrics = end.frame.metrics
    names = ("pps", "expected_log_loss", "nlpd", "log_loss", "pps_seed", "misclassification")
    found = {name: float(metrics[name]) for name in names if metrics[name] is not None}
    if metrics["rmse"] is not None:
        found |= {"mse": float(metrics["rmse"]) ** 2, "var_y": float(end.target.test_data[:, -1].var())}
    return found


def iterates(end: End) -> Numbers:
    """Of Gaussian VB: sd / exact sd over the last half of the iterates, and the largest error of its last mean."""
    session, found = end.session, []
    while not session.done:
        found.append(sds(session.advance(1).state))
    exact = np.sqrt(end.squares)
    off = np.abs(session.frame.state.mean - end.target.reference().mean) / exact
    return {
        "sd_error": float((np.mean(found[len(found) // 2 :], axis=0) / exact).mean() - 1),
        "mean_error": float(off.max()),
    }


def draws(end: End) -> Numbers:
    """Of a chain: sd / exact sd of the draws around the exact mean, a mean square over the coordinates."""
    session = end.session
    squares = (judged_draws(session.frame.state, session.knobs) - end.target.reference().mean) ** 2
    return {"sd_ratio": float(np.sqrt((squares.mean(axis=0) / end.squares).mean()))}
