"""The first three pictures: Bayes' rule as a minimum, one step, many steps. Densities are exact, on a grid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from pmdviz.engine.recipe import Recipe
from pmdviz.essay.drawing import Axis, Found, Layer, Panel, Picture, found, marker, static
from pmdviz.targets import Target, make_target

GRID = np.linspace(-6.0, 6.0, 1201)  # theta, in prior sds: integrals are sums over it
CELL = GRID[1] - GRID[0]
SEEN = slice(300, 901, 4)  # of the grid, what is drawn: -3 to 3
MEANS = [round(-1.0 + 0.1 * k, 1) for k in range(36)]
GAMMAS = [0.0, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]
BATCHES = [1, 4, 10, 20, 50, 100, 200, 400]
FIVE = {"dim": 1, "num_data": 5, "sigma_x": 2.0, "theta": 2.0}
MANY = {"dim": 1, "num_data": 400, "sigma_x": 2.0}
STEPS, GAMMA, SETTLED, REACH = 400, 0.1, 100, 6.0


def normalised(log_density: np.ndarray) -> np.ndarray:
    """A log density on GRID whose exponential has the integral 1."""
    peak = log_density.max()
    return log_density - peak - np.log(np.exp(log_density - peak).sum() * CELL)


def normal(mean: float, variance: float) -> np.ndarray:
    """log N(mean, variance) on GRID."""
    return normalised(-0.5 * (GRID - mean) ** 2 / variance)


def integral(values: np.ndarray) -> float:
    """Over the grid."""
    return float(values.sum() * CELL)


def kl(log_p: np.ndarray, log_q: np.ndarray) -> float:
    """KL(p‖q) of two densities on GRID by their logarithms, in nats."""
    return max(0.0, integral(np.exp(log_p) * (log_p - log_q)))


def seen(log_density: np.ndarray) -> dict[str, np.ndarray]:
    """Columns of a density's curve."""
    return {"x": GRID[SEEN], "y": np.exp(log_density[SEEN])}


def densities(top: float, *layers: Layer) -> Panel:
    """The panel of densities over theta."""
    return Panel("Densities", Axis("θ", -3.0, 3.0), Axis("density", 0.0, top), layers)


def prior_and_posterior(target: Target) -> tuple[np.ndarray, np.ndarray]:
    """The logarithms of both on GRID."""
    points = GRID[:, None]
    return normalised(target.log_prior(points)), normalised(target.log_joint(points))


def chosen_by(cost: Sequence[float]) -> float:
    """The mean on the slider at which a cost is least."""
    return MEANS[int(np.argmin(cost))]


def bayes() -> Found:
    """Candidates N(mu, v) with the posterior's v: expected misfit, KL to the prior, and their sum against mu."""
    target = make_target("gaussian", **FIVE)
    prior, posterior = prior_and_posterior(target)
    misfit, least = -target.log_likelihood(GRID[:, None], target.data), -target.exact.log_z
    tried = [normal(mean, float(target.exact.cov[0, 0])) for mean in MEANS]
    data, away = [integral(np.exp(q) * misfit) for q in tried], [kl(q, prior) for q in tried]
    total = np.add(data, away)
    shown = densities(
        0.8,
        Layer("prior", "prior", static(**seen(prior))),
        Layer("posterior", "exact", static(**seen(posterior))),
        Layer("candidate q", "approximate", [seen(q) for q in tried]),
    )
    rows = {"mean": MEANS, "data": data, "prior": away, "total": total, "gap": total - least}
    best = {"best_prior": chosen_by(away), "best_data": chosen_by(data), "best_mean": chosen_by(total)}
    panels = shown, terms({"data misfit": data, "KL to the prior": away, "sum": total})
    return found(panels, rows, least=least, num_data=FIVE["num_data"], **best)


def terms(costs: dict[str, Sequence[float]]) -> Panel:
    """The panel of the two parts of the cost and of their sum."""
    colours, top = ("particles", "first_path", "ink"), 4.0
    lines = [
        Layer(name, colour, static(x=MEANS, y=np.array(cost) - min(cost)))
        for colour, (name, cost) in zip(colours, costs.items(), strict=True)
    ]
    axes = Axis("mean μ of q", MEANS[0], MEANS[-1]), Axis("nats", 0.0, top)
    return Panel("Each term above its own least value", *axes, [*lines, marker(MEANS, 0.0, top)])


def one_step() -> Found:
    """q_1 = q_0^(1-gamma) p^gamma / Z from the prior, and KL(p‖q_1) beside its bound (1-gamma) KL(p‖q_0)."""
    prior, posterior = prior_and_posterior(make_target("bimodal1d"))
    reached = [normalised((1 - gamma) * prior + gamma * posterior) for gamma in GAMMAS]
    left, start, top = [kl(posterior, q) for q in reached], kl(posterior, prior), 1.8
    bound = [(1 - gamma) * start for gamma in GAMMAS]
    shown = densities(
        top,
        Layer("before: q₀, the prior", "prior", static(**seen(prior))),
        Layer("posterior p", "exact", static(**seen(posterior))),
        Layer("after the step: q₁", "approximate", [seen(q) for q in reached]),
    )
    lines = [
        Layer("", "approximate", static(x=GAMMAS, y=left)),
        Layer("bound of KL(p‖q₁)", "floor", static(x=GAMMAS, y=bound)),
    ]
    axes = Axis("step size γ", 0.0, 1.0), Axis("KL(p‖q₁), nats", 0.0, top)
    fall = Panel("What is left", *axes, [*lines, marker(GAMMAS, 0.0, top)])
    rows = {"gamma": GAMMAS, "kept": [100 * (1 - gamma) for gamma in GAMMAS], "kl": left, "bound": bound}
    return found((shown, fall), rows, start=start)


class Way(NamedTuple):
    """q_t of a run on a Gaussian posterior, in the posterior's standard deviations from its mean."""

    mean: np.ndarray  # (T,)
    variance: np.ndarray  # (T,)


def way(target: Target, batch: int, gammas: Sequence[float]) -> Way:
    """Mirror descent on the conjugate Gaussian, each step exactly, with batches drawn with replacement.

    In natural parameters (h, P) a step is (h, P) <- (1-gamma) (h, P) + gamma (h, P)', where ' are those of the batch
    counted N/B times.
    """
    o, rng = target.options, np.random.default_rng(1)
    precision, linear, steps = 1 / o.prior_sd**2, 0.0, []
    full = 1 / o.prior_sd**2 + o.num_data / o.sigma_x**2
    for gamma in gammas:
        rows = target.data[rng.integers(o.num_data, size=batch), 0]
        linear += gamma * (o.num_data * rows.mean() / o.sigma_x**2 - linear)
        precision += gamma * (full - precision)
        steps.append((linear / precision, 1 / precision))
    mean, variance = np.array(steps).T
    return Way((mean - target.exact.mean[0]) * np.sqrt(full), variance * full)


def many_steps() -> Found:
    """Where the mean of q_t is, with gamma_t = 1/t and with a constant gamma, for batches of B data."""
    target, steps = make_target("gaussian", **MANY), np.arange(1, STEPS + 1)
    decaying = [way(target, batch, 1 / steps) for batch in BATCHES]
    constant = [way(target, batch, np.full(STEPS, GAMMA)) for batch in BATCHES]
    ways = {"γ = 1/t": ("approximate", decaying), f"γ = {GAMMA:g}": ("particles", constant)}
    ratio = float(MANY["num_data"]) / np.array(BATCHES)
    rows = {
        "batch": BATCHES,
        "off": [abs(one.mean[-1]) for one in decaying],
        "wander": [np.sqrt(np.mean(one.mean[SETTLED:] ** 2)) for one in constant],
        "predicted": np.sqrt(ratio * GAMMA / (2 - GAMMA)),
        "predicted_off": np.sqrt(ratio / STEPS),
    }
    fixed = {"steps": STEPS, "gamma": GAMMA, "num_data": MANY["num_data"]}
    return found((paths_of(ways, steps), ends_of(ways)), rows, **fixed)


Ways = dict[str, tuple[str, list[Way]]]  # name in the legend: colour, and one for every batch size


def paths_of(ways: Ways, steps: np.ndarray) -> Panel:
    """The panel of means against t."""
    lines = [
        Layer(name, colour, [{"x": steps[::2], "y": one.mean[::2]} for one in each])
        for name, (colour, each) in ways.items()
    ]
    band = static(x=[0, STEPS, np.nan, 0, STEPS], y=[1, 1, np.nan, -1, -1])
    axes = Axis("step t", 0.0, float(STEPS)), Axis("mean, posterior sds away", -REACH, REACH)
    return Panel("The mean of q on its way", *axes, [*lines, Layer("posterior: mean ± sd", "exact", band)])


def ends_of(ways: Ways) -> Panel:
    """The panel of the densities after the last step."""
    x = np.linspace(-4.0, 4.0, 161)
    lines = [
        Layer("", colour, [{"x": x, "y": bell(x, one.mean[-1], one.variance[-1])} for one in each])
        for colour, each in ways.values()
    ]
    axes = Axis("θ, posterior sds from the mean", -4.0, 4.0), Axis("density", 0.0, 0.45)
    return Panel("After the last step", *axes, [Layer("", "exact", static(x=x, y=bell(x, 0.0, 1.0))), *lines])


def bell(x: np.ndarray, mean: float, variance: float) -> np.ndarray:
    """Density of N(mean, variance) at x."""
    return np.exp(-0.5 * (x - mean) ** 2 / variance) / np.sqrt(2 * np.pi * variance)


PICTURES = (
    Picture(
        "bayes", "Two pulls, one minimum", "Mean μ of the candidate", MEANS, ".1f", 4,
        "sum {bayes.total:.2f} nats, {bayes.gap:.2f} above the least", lambda: Recipe("gaussian", target_options=FIVE),
        bayes,
    ),
    Picture(
        "step", "One step of size γ", "Step size γ", GAMMAS, "g", 6,
        "KL {step.kl:.3f} nats of {step.start:.3f}", lambda: Recipe("bimodal1d", schedule="constant", step_size=0.3),
        one_step,
    ),
    Picture(
        "steps", "Many steps on minibatches", "Batch size B", BATCHES, "g", 3,
        "one over t ends {steps.off:.2f} sds off, the constant step wanders by {steps.wander:.2f} sds",
        lambda: Recipe("gaussian", target_options=MANY, schedule="constant", step_size=GAMMA, batch_size=20,
                       batches="replacement", step_limit=0.0),
        many_steps,
    ),
)  # fmt: skip
