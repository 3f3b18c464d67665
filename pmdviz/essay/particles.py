"""The next three pictures: weights, the bandwidth, and bandwidth against step size. Numbers are those of runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pmdviz.engine.frame import Frame
from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.essay.drawing import POINT, Axis, Found, Layer, Panel, Picture, found, marker, static
from pmdviz.scenes.contours import region_lines

LOOKS = [0, 1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 100, 200]  # steps
WIDTHS = [0.003, 0.005, 0.01, 0.015, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3, 0.5, 1.0]
GAMMAS = [0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3, 0.5, 0.7, 1.0]
SEEN_GAMMA = GAMMAS.index(0.1)
BANDWIDTH, PASS = 0.2, 20  # of the picture of its price: h, and N, which is also B
SELDOM = 0.9  # ESS as a share of m below which the run beside it redraws
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
    session, found = Session(recipe, metrics_every=10**9), []
    for iteration in iterations:
        if more := iteration - session.frame.iteration:
            session.advance(more)
        found.append(session.frame)
    return found


def regions(frame: Frame) -> dict[str, np.ndarray]:
    """The exact posterior's 50, 80 and 95 % regions as one line, in two dimensions."""
    grid = frame.target.exact
    axes = [np.linspace(low, high, 160) for low, high in frame.target.view_box]
    points = np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, 2)
    return region_lines(tuple(axes), np.exp(grid.log_density(points)).reshape(160, 160))


def dots(frame: Frame, most: int = MOST_DOTS) -> dict[str, np.ndarray]:
    """Every k-th particle, so that few stand for all, and how many times the mean weight each has."""
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


def predicted_ess(frame: Frame) -> float:
    """m / (1 + chi²(p‖prior)), with 1 + chi² = E_p[p / prior] from exact draws."""
    exact = frame.target.exact
    points = exact.sample(np.random.default_rng(0), 100_000)
    ratio = np.exp(exact.log_density(points) - frame.target.log_prior(points)).mean()
    return float(len(frame.particles) / ratio)


def weights() -> Found:
    """The same particles at each look, and how many of them still count."""
    frames = frames_at(weights_recipe(), LOOKS)
    ess, m, predicted = [frame.metrics["ess"] for frame in frames], len(frames[0].particles), predicted_ess(frames[0])
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
    return Panel("Variance of q", Axis("step size γ", *ends, log=True), Axis("variance", 0.0, top), layers)


PICTURES = (
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
