"""All pictures of the essay: computed by `python -m pmdviz.essay.pictures`, kept in one file, read from it."""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pmdviz.densities.density import normalise
from pmdviz.engine.frame import Frame
from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.experiments.dimension import EXACT, Dimension
from pmdviz.experiments.running import EXPERIMENTS
from pmdviz.files import atomic_write
from pmdviz.pictures import Axis
from pmdviz.presets import lightest_mode
from pmdviz.scenes.columns import region_lines
from pmdviz.targets import Target, make_target

# What a picture of the essay is: one slider, panels of lines and dots for each of its values, and rows of numbers.

DIGITS = 5  # that are kept of a number: far below what an eye sees in a picture of 400 px
POINT = 6.0  # size of a measured point


class Layer(NamedTuple):
    """A line, dots, or a vertical marker, in one of the colours of `scenes.style`.

    `kind` is line, marker, dots (particles, which lie on one another) or points (measured values). `columns` holds
    {x (n,), y (n,)} once where nothing changes, else once for each value of the slider. Dots and points have `size`
    (n,), to which their areas are proportional: of particles how many times the mean weight each has.
    """

    name: str  # in the legend; "" for what needs no name
    colour: str
    columns: Sequence[Mapping[str, Any]]
    kind: str = "line"


class Panel(NamedTuple):
    """One set of axes."""

    title: str
    x: Axis
    y: Axis
    layers: Sequence[Layer]


class Found(NamedTuple):
    """What a picture computes: its panels, and rows, name -> one number for each value of the slider."""

    panels: Sequence[Panel]
    rows: Mapping[str, Sequence[float]]


class Picture(NamedTuple):
    """A picture before it is computed."""

    name: str  # in the prose: {name.row:format}
    title: str
    slider: str  # label of the one variable
    values: Sequence[float]
    shown: str  # the format of a value, such as "g"
    start: int  # place of the value that is seen first
    said: str  # what a screen reader reads for a value, in the form of the prose
    recipe: Callable[[], Recipe]  # what "Turn it yourself" opens
    compute: Callable[[], Found]


def static(**columns: Any) -> list[Mapping[str, Any]]:
    """Columns that are the same for every value."""
    return [columns]


def marker(at: Sequence[float], low: float, high: float) -> Layer:
    """A vertical line at the value of the slider."""
    return Layer("", "muted", [{"x": [x, x], "y": [low, high]} for x in at], "marker")


def found(panels: Sequence[Panel], rows: Mapping[str, Sequence[float]], **fixed: float) -> Found:
    """Panels and rows; of `fixed` the same number for every value."""
    count = len(next(iter(rows.values())))
    return Found(panels, {**rows, **{name: [float(value)] * count for name, value in fixed.items()}})


def rounded(value: Any) -> Any:
    """Numbers as they are kept: so many digits, None for a number that is not finite."""
    if isinstance(value, Mapping):
        return {name: rounded(each) for name, each in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return rounded(value._asdict())
    if isinstance(value, (list, tuple, np.ndarray)):
        return [rounded(each) for each in value]
    if isinstance(value, (bool, str)):
        return value
    return float(f"{float(value):.{DIGITS}g}") if np.isfinite(value) else None


# The first three pictures: Bayes' rule as a minimum, one step, many steps. All densities are exact and are computed on
# a grid.

GRID = np.linspace(-6.0, 6.0, 1201)  # theta, in prior sds: integrals are sums over it
CELL = GRID[1] - GRID[0]
SEEN = slice(300, 901, 4)  # the drawn part of the grid: -3 to 3
MEANS = [round(-1.0 + 0.1 * k, 1) for k in range(36)]
STEP_SIZES = [0.0, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]
BATCHES = [1, 4, 10, 20, 50, 100, 200, 400]
FIVE = {"dim": 1, "num_data": 5, "sigma_x": 2.0, "theta": 2.0}
MANY = {"dim": 1, "num_data": 400, "sigma_x": 2.0}
STEPS, GAMMA, SETTLED, REACH = 400, 0.1, 100, 6.0


def normalised(log_density: np.ndarray) -> np.ndarray:
    """A log density on GRID whose exponential has the integral 1."""
    return normalise(log_density) - np.log(CELL)


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


def terms(costs: Mapping[str, Sequence[float] | np.ndarray]) -> Panel:
    """The panel of the two parts of the cost and of their sum."""
    colours, top = ("second_path", "first_path", "ink"), 4.0
    lines = [
        Layer(name, colour, static(x=MEANS, y=np.array(cost) - min(cost)))
        for colour, (name, cost) in zip(colours, costs.items(), strict=True)
    ]
    axes = Axis("mean μ of q", MEANS[0], MEANS[-1]), Axis("nats", 0.0, top)
    return Panel("Each term above its own least value", *axes, [*lines, marker(MEANS, 0.0, top)])


def one_step() -> Found:
    """q_1 = q_0^(1-gamma) p^gamma / Z from the prior, and KL(p‖q_1) next to its bound (1-gamma) KL(p‖q_0)."""
    prior, posterior = prior_and_posterior(make_target("bimodal1d"))
    reached = [normalised((1 - gamma) * prior + gamma * posterior) for gamma in STEP_SIZES]
    left, start, top = [kl(posterior, q) for q in reached], kl(posterior, prior), 1.8
    bound = [(1 - gamma) * start for gamma in STEP_SIZES]
    shown = densities(
        top,
        Layer("before: q₀, the prior", "prior", static(**seen(prior))),
        Layer("posterior p", "exact", static(**seen(posterior))),
        Layer("after the step: q₁", "approximate", [seen(q) for q in reached]),
    )
    lines = [
        Layer("", "approximate", static(x=STEP_SIZES, y=left)),
        Layer("bound of KL(p‖q₁)", "floor", static(x=STEP_SIZES, y=bound)),
    ]
    axes = Axis("step size γ", 0.0, 1.0), Axis("KL(p‖q₁), nats", 0.0, top)
    fall = Panel("What is left", *axes, [*lines, marker(STEP_SIZES, 0.0, top)])
    rows = {"gamma": STEP_SIZES, "kept": [100 * (1 - gamma) for gamma in STEP_SIZES], "kl": left, "bound": bound}
    return found((shown, fall), rows, start=start)


class Way(NamedTuple):
    """q_t of a run on a Gaussian posterior, in the posterior's standard deviations from its mean."""

    mean: np.ndarray  # (T,)
    variance: np.ndarray  # (T,)


def way(target: Target, batch: int, gammas: Sequence[float]) -> Way:
    """Mirror descent on the conjugate Gaussian, each step exactly, with batches drawn with replacement.

    In natural parameters (h, P) a step is (h, P) <- (1-gamma) (h, P) + gamma (h, P)', where ' belongs to the batch
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
    ways = {"γ = 1/t": ("approximate", decaying), f"γ = {GAMMA:g}": ("first_path", constant)}
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


OF_DESCENT = (
    Picture(
        "bayes", "Two pulls, one minimum", "Mean μ of the candidate", MEANS, ".1f", 4,
        "sum {bayes.total:.2f} nats, {bayes.gap:.2f} above the least", lambda: Recipe("gaussian", target_options=FIVE),
        bayes,
    ),
    Picture(
        "step", "One step of size γ", "Step size γ", STEP_SIZES, "g", 6,
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


# The next three: weights, the bandwidth, and bandwidth against step size. Their numbers come from runs with recipes of
# pmdviz.

LOOKS = [0, 1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 100, 200]  # steps
WIDTHS = [0.003, 0.005, 0.01, 0.015, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3, 0.5, 1.0]
GAMMAS = [0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3, 0.5, 0.7, 1.0]
SEEN_GAMMA = GAMMAS.index(0.1)
BANDWIDTH, PASS = 0.2, 20  # of the picture of its price: h, and N, which is also B
SELDOM = 0.9  # ESS as a share of m below which the other run redraws
FIRST, MOST_DOTS = 0.7, 400
THETA = np.linspace(-3.0, 3.0, 241)


def weights_recipe() -> Recipe:
    """Particles that are never drawn again."""
    return Recipe("mixture", policy="never", num_particles=500, step_limit=0.0, budget=20_000)


def width_recipe() -> Recipe:
    """Few particles on a line."""
    return Recipe("bimodal1d", num_particles=200, bandwidth_rule="isotropic", bandwidth=0.05)


def price_recipe(gamma: float, policy: str = "always", **knobs: Any) -> Recipe:
    """All particles redrawn after every step, with all data in each batch: six times the memory 1/gamma."""
    kernel = {"bandwidth_rule": "isotropic", "bandwidth": BANDWIDTH}
    step = {"schedule": "constant", "step_size": gamma, "batch_size": PASS, "step_limit": 0.0}
    steps = round(6 / gamma) + 10
    options = {"dim": 1, "num_data": PASS}
    return Recipe("gaussian", target_options=options, policy=policy, budget=PASS * steps, **kernel, **step, **knobs)


def frames_at(recipe: Recipe, iterations: list[int]) -> list[Frame]:
    """The frames of a run after so many steps each."""
    session = Session(recipe, metrics_every=10**9)
    return [session.seek(iteration) for iteration in iterations]


def regions(frame: Frame) -> dict[str, np.ndarray]:
    """The exact posterior's 50, 80 and 95 % regions as one line, in two dimensions."""
    grid = frame.target.exact
    axes = [np.linspace(low, high, 160) for low, high in frame.target.view_box]
    points = np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, 2)
    return region_lines(tuple(axes), np.exp(grid.log_density(points)).reshape(160, 160))


def dots(frame: Frame, most: int = MOST_DOTS) -> dict[str, np.ndarray]:
    """Every k-th particle: a sample of all, and how many times the mean weight each has."""
    chosen = slice(None, None, -(-len(frame.particles) // most))
    x, y = frame.particles[chosen].T
    return {"x": x, "y": y, "size": relative_weights(frame)[chosen]}


def relative_weights(frame: Frame) -> np.ndarray:
    """How many times the mean weight each particle has, (m,)."""
    return frame.weights * len(frame.weights)


def stage(frame: Frame, layer: Layer) -> Panel:
    """The panel of the first two coordinates with the exact regions."""
    (left, right), (low, high) = frame.target.view_box
    axes = Axis("θ₁", left, right), Axis("θ₂", low, high)
    return Panel("Particles, area by weight", *axes, [Layer("posterior", "exact", static(**regions(frame))), layer])


def weights() -> Found:
    """The same particles at each look, and how many of them still count."""
    frames = frames_at(weights_recipe(), LOOKS)
    ess, m, target = [frame.metrics["ess"] for frame in frames], len(frames[0].particles), frames[0].target
    points = target.exact.sample(np.random.default_rng(0), 100_000)
    ratio = np.exp(target.exact.log_density(points) - target.log_prior(points)).mean()  # 1 + chi²(p‖prior)
    predicted = float(m / ratio)
    at, top = [max(look, FIRST) for look in LOOKS], 600.0  # 0 has no place on a log axis
    lines = [
        Layer("", "particles", static(x=at, y=ess)),
        Layer("predicted for Bayes' rule in one step", "floor", static(x=[FIRST, at[-1]], y=[predicted, predicted])),
    ]
    axes = Axis("step t", FIRST, at[-1], log=True), Axis("ESS", 1.0, top, log=True)
    fall = Panel("Effective sample size", *axes, [*lines, marker(at, 1.0, top)])
    rows = {
        "step": LOOKS,
        "visited": [frame.visited for frame in frames],
        "ess": ess,
        "tv": [frame.tv for frame in frames],
        "share": [100 * each / m for each in ess],
    }
    picture = stage(frames[0], Layer("particles", "particles", [dots(frame, m) for frame in frames], "dots"))
    return found((picture, fall), rows, m=m, predicted=predicted)


def curve(frame: Frame) -> dict[str, np.ndarray]:
    """Columns of q."""
    return {"x": THETA, "y": np.exp(frame.density.log_density(THETA[:, None]))}


def exact_curve(frame: Frame) -> Layer:
    """The exact posterior."""
    return Layer("posterior", "exact", static(x=THETA, y=np.exp(frame.target.exact.log_density(THETA[:, None]))))


def bandwidth() -> Found:
    """One set of weighted particles, seen through kernels of every width."""
    frame = frames_at(width_recipe(), [10**9])[0]
    seen = [frame.replaced(knobs=frame.knobs.replaced(bandwidth=h)) for h in WIDTHS]
    tv, floor, top = [each.tv for each in seen], -0.12, 0.8
    rug = {"x": frame.particles[:, 0], "y": np.full(len(frame.particles), floor / 2), "size": relative_weights(frame)}
    estimate, particles = Layer("estimate", "approximate", [curve(each) for each in seen]), [rug]
    layers = [exact_curve(frame), estimate, Layer("particles", "particles", particles, "dots")]
    shown = Panel("Density estimate", Axis("θ", -3.0, 3.0), Axis("density", floor, 2.6), layers)
    line = Layer("", "approximate", static(x=WIDTHS, y=tv))
    axes = Axis("bandwidth h", WIDTHS[0], WIDTHS[-1], log=True), Axis("TV", 0.0, top)
    error = Panel("Error", *axes, [line, marker(WIDTHS, 0.0, top)])
    ends = {"least": WIDTHS[0], "narrow_tv": tv[0], "most": WIDTHS[-1], "wide_tv": tv[-1]}
    best = {"best": WIDTHS[int(np.argmin(tv))], "best_tv": min(tv)}
    return found((shown, error), {"h": WIDTHS, "tv": tv}, m=len(frame.particles), **best, **ends)


def settled(gamma: float, **policy: Any) -> tuple[Frame, float]:
    """The last frame of a run, and the variance of q averaged over its last third."""
    session, variances = Session(price_recipe(gamma, **policy), metrics_every=10**9), []
    while not session.done:
        variances.append(float(session.advance(1).density.cov[0, 0]))
    return session.frame, float(np.mean(variances[2 * len(variances) // 3 :]))


def fixed_point(gamma: np.ndarray, exact: float, added: float) -> np.ndarray:
    """v = 1 / ((1-gamma)/v + gamma/s^2) + h^2 solved for v: where the variance settles."""
    lag = exact - added
    return exact + 0.5 * (np.sqrt(lag**2 + 4 * added * exact / gamma) - lag)


def price() -> Found:
    """Redrawn after every step: where the variance of q settles, measured and by the formula."""
    frames, measured = zip(*map(settled, GAMMAS), strict=True)
    seldom, once = settled(GAMMAS[SEEN_GAMMA], policy="ess", ess_threshold=SELDOM)
    exact, added = float(seldom.reference.cov[0, 0]), BANDWIDTH**2
    layers = [exact_curve(seldom), Layer("q", "approximate", [curve(frame) for frame in frames])]
    shown = Panel("Where q settles", Axis("θ", -3.0, 3.0), Axis("density", 0.0, 1.1), layers)
    rows = {
        "gamma": GAMMAS,
        "variance": measured,
        "formula": fixed_point(np.array(GAMMAS), exact, added),
        "tv": [frame.tv for frame in frames],
        "taken": [100 * gamma for gamma in GAMMAS],
    }
    fixed = {"h": BANDWIDTH, "added": added, "exact": exact, "once_gamma": GAMMAS[SEEN_GAMMA]}
    fixed |= {"once_below": 100 * SELDOM, "once_steps": seldom.iteration}
    panels = shown, variances_of(measured, exact, added)
    return found(panels, rows, once=once, once_draws=seldom.rejuvenations, **fixed)


def variances_of(measured: Sequence[float], exact: float, added: float) -> Panel:
    """The panel of the variance against gamma: dots, the formula, and the posterior's."""
    fine, ends, top = np.geomspace(GAMMAS[0], 1.0, 60), [GAMMAS[0], 1.0], 0.8
    points = static(x=GAMMAS, y=measured, size=np.full(len(GAMMAS), POINT))
    layers = [
        Layer("variance by the formula", "floor", static(x=fine, y=fixed_point(fine, exact, added))),
        Layer("variance measured", "approximate", points, "points"),
        Layer("", "exact", static(x=ends, y=[exact, exact])),
        marker(GAMMAS, 0.0, top),
    ]
    return Panel("Variance of q", Axis("step size γ", GAMMAS[0], 1.0, log=True), Axis("variance", 0.0, top), layers)


OF_PARTICLES = (
    Picture(
        "weights", "Particles that never move", "Step t", LOOKS, "g", 6,
        "ESS {weights.ess:.0f} of {weights.m:,.0f}", weights_recipe, weights,
    ),
    Picture(
        "width", "The same particles through wider and wider kernels", "Bandwidth h", WIDTHS, "g", 8,
        "TV {width.tv:.3f}", width_recipe, bandwidth,
    ),
    Picture(
        "price", "Bandwidth against step size", "Step size γ", GAMMAS, "g", SEEN_GAMMA,
        "variance {price.variance:.3f}, exact {price.exact:.3f}", lambda: price_recipe(GAMMAS[SEEN_GAMMA]), price,
    ),
)  # fmt: skip


# The last two: a mode that some seeds lose, and what dimension does.

SEEDS = [*range(8)]
LOST = 0.02  # mass of a mode below which nothing comes back
DIMS = [1, 2, 3, 5, 10, 20]
SHOWN = {
    "pmd_weights": ("weights alone", "approximate"),
    "pmd": ("with new particles", "first_path"),
    EXACT: ("as many independent draws", "exact"),
}
RUNS, PARTICLES, NUM_DATA = 3, 500, 500


def lost_recipe(seed: int) -> Recipe:
    """Large first steps on small batches."""
    return Recipe("mixture", seed=seed, budget=4000, eta=1.0, n0=10.0, batch_size=20, step_limit=0.0)


def lost() -> Found:
    """The same settings with eight seeds: the ESS and three distances."""
    frames = [frames_at(lost_recipe(seed), [10**9])[0] for seed in SEEDS]
    ess, tv = [frame.metrics["ess"] for frame in frames], [frame.tv for frame in frames]
    mass, exact = zip(*map(lightest_mode, frames), strict=True)
    m, n, batch = len(frames[0].particles), frames[0].num_data, frames[0].knobs.batch_size
    rows = {
        "seed": SEEDS,
        "tv": tv,
        "ess": ess,
        "share": [100 * each / m for each in ess],
        "forward": [frame.metrics["kl_forward"] for frame in frames],
        "reverse": [frame.metrics["kl_reverse"] for frame in frames],
        "mass": mass,
        "exact": exact,
    }
    fixed = {"runs": len(SEEDS), "m": m, "lost": sum(each < LOST for each in mass), "threshold": LOST}
    picture = stage(frames[0], Layer("particles", "particles", [dots(frame, 300) for frame in frames], "dots"))
    panels = picture, compared({"ESS / m": np.array(ess) / m, "TV": np.array(tv)})
    return found(panels, rows, batch=batch, num_data=n, times=n / batch, **fixed)


def compared(shares: dict[str, np.ndarray]) -> Panel:
    """The panel of ESS and TV against the seed."""
    size = np.full(len(SEEDS), POINT)
    layers = [
        Layer(name, colour, static(x=SEEDS, y=y, size=size), "points")
        for colour, (name, y) in zip(("first_path", "approximate"), shares.items(), strict=True)
    ]
    axes = Axis("seed of the run", -0.5, len(SEEDS) - 0.5), Axis("share", 0.0, 1.0)
    return Panel("Healthy by ESS, wrong by TV", *axes, [*layers, marker(SEEDS, 0.0, 1.0)])


def means(rows: Sequence[dict[str, float]], column: str) -> list[float]:
    """For each d the mean over the runs."""
    return [float(np.mean([row[column] for row in rows if row["d"] == d])) for d in DIMS]


def rows_of(entrant: str) -> list[dict[str, float]]:
    """The rows of the experiment `dimension` for one entrant at every d."""
    experiment = EXPERIMENTS[Dimension.name]
    shared = {"family": "linear", "num_particles": PARTICLES, "num_data": NUM_DATA, "visited": None, "entrant": entrant}
    return [row for d in DIMS for seed in range(RUNS) for row in experiment.run({**shared, "dim": d, "seed": seed})]


def dimension() -> Found:
    """Linear regression with more and more features, at a fixed number of particles."""
    measured = {entrant: rows_of(entrant) for entrant in SHOWN}
    errors = {entrant: means(rows, "mean_error") for entrant, rows in measured.items()}
    ess = {entrant: means(measured[entrant], "ess") for entrant in ("pmd_weights", "pmd")}
    panels = (
        against_dimension("Error of the mean", Axis("posterior sds", 0.003, 100.0, log=True), errors, named=True),
        against_dimension("Effective sample size", Axis("ESS", 1.0, 600.0, log=True), ess, named=False),
    )
    rows = {"d": DIMS, "weights": errors["pmd_weights"], "pmd": errors["pmd"], "exact": errors[EXACT]}
    last = {"last": DIMS[-1], "last_pmd": errors["pmd"][-1], "last_exact": errors[EXACT][-1]}
    return found(panels, {**rows, "ess": ess["pmd_weights"]}, m=PARTICLES, runs=RUNS, num_data=NUM_DATA, **last)


def against_dimension(title: str, up: Axis, lines: dict[str, list[float]], named: bool) -> Panel:
    """A panel with d along its axis."""
    layers = [Layer(SHOWN[name][0] if named else "", SHOWN[name][1], static(x=DIMS, y=y)) for name, y in lines.items()]
    across = Axis("dimension d", DIMS[0], DIMS[-1], log=True)
    return Panel(title, across, up, [*layers, marker(DIMS, up.low, up.high)])


def dimension_recipe() -> Recipe:
    """Ten features, weights alone."""
    options = {"dim": 10, "num_data": NUM_DATA, "correlation": 0.0}
    return Recipe("linear", target_options=options, num_particles=PARTICLES, policy="never", step_limit=0.0)


OF_TROUBLE = (
    Picture(
        "lost", "Eight runs that differ by their seed alone", "Seed of the run", SEEDS, "g", 3,
        "ESS {lost.share:.0f} percent, TV {lost.tv:.3f}, mass of the lighter mode {lost.mass:.3f}",
        lambda: lost_recipe(3), lost,
    ),
    Picture(
        "dimension", "More and more dimensions", "Dimension d", DIMS, "g", 3,
        "error {dimension.weights:.2f} sds from weights alone, {dimension.pmd:.2f} with new particles",
        dimension_recipe, dimension,
    ),
)  # fmt: skip


# All of them, in their stored form.

FILE = Path(__file__).with_name("pictures.json.gz")
PICTURES = {picture.name: picture for picture in (*OF_DESCENT, *OF_PARTICLES, *OF_TROUBLE)}


def computed(name: str) -> dict[str, Any]:
    """One picture as it is kept: panels and rows, {"panels": [...], "rows": {name: [...]}}."""
    return rounded(PICTURES[name].compute())


@cache
def kept() -> dict[str, dict[str, Any]]:
    """Every picture as the file has it, by name."""
    return json.loads(gzip.decompress(FILE.read_bytes()))


def write(names: Sequence[str] = ()) -> None:
    """Compute pictures again, all or those named, and store them. If one fails, raises and writes none of them."""
    before = kept() if FILE.exists() else {}
    found = {name: computed(name) if name in (names or PICTURES) else before[name] for name in PICTURES}
    text = json.dumps(found, separators=(",", ":"), allow_nan=False, ensure_ascii=False)
    with atomic_write(FILE) as part:
        part.write_bytes(gzip.compress(text.encode(), 9, mtime=0))  # the same bytes for the same pictures
    kept.cache_clear()


if __name__ == "__main__":
    write(sys.argv[1:])
