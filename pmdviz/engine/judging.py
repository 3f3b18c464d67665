"""Judging a frame: the one place that decides which sentence warns of an approximation, for every method.

A frame is wrong when a mean is more than 0.3 posterior sds off, or a ratio of sds lies outside 0.7 to 1.4. The
reference shows that where the target has one, elsewhere importance weights (`metrics.shift`). Where neither does, the
method's own diagnostics decide: R-hat and bulk ESS of chains, k-hat of a parametric q, and each method's own caveat.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pmdviz.densities.bandwidth import spread
from pmdviz.densities.chains import largest_trusted
from pmdviz.densities.density import variances
from pmdviz.metrics.draws import NUM_DRAWS
from pmdviz.metrics.shift import FEWEST_ESS

if TYPE_CHECKING:
    from pmdviz.engine.frame import Frame

FURTHEST, NARROW, WIDE = 0.3, 0.7, 1.4  # posterior sds of a mean; ratios of sds
RIGHT_TV, WRONG_TV = 0.2, 0.5  # of such a frame, and of one that is wrong whatever its moments are
MOST_DIM = 20  # beyond it weights are uneven for a good q too
MIXED, FEWEST_DRAWS = 1.05, 50  # R-hat and bulk ESS of chains that agree with one another


class Finding(NamedTuple):
    """What a check of a frame has found."""

    words: str = ""  # what is wrong, a sentence with a few words up to its first colon; "" where nothing was found
    agrees: bool = False  # whether it found the frame right
    unchecked: str = ""  # why there was no check that could tell, in words


def caveat_of(frame: Frame) -> str:
    """Why the frame is not to be trusted; "" where nothing speaks against it.

    First what the method says of itself, then what the check has found. A check that finds the frame right overrules
    the method's diagnostics, which judge q by less. What a method says of something else, as of log Z, comes last.
    """
    own = frame.method.caveat(frame.state, frame.knobs) or frame.method.unfinished(frame.state, frame.knobs)
    checked = frame.measured or frame
    if checked.iteration == 0:  # the prior itself, or nothing has been measured since
        return own or frame.no_density
    found = checked.finding
    if not frame.method.caveat_is_of_q:
        return frame.no_density or found.words or own
    return ("" if found.agrees else own) or frame.no_density or found.words


def find(frame: Frame) -> Finding:
    """The check of a frame: by the reference, by importance weights, or by diagnostics of chains and of densities."""
    if frame.target.reference() is not None:
        found = _by_reference(frame)
    else:
        found = _by_weights(frame)
    if found.agrees and _smoothed(frame):
        return Finding()
    if found.words or found.agrees:
        return found
    mixed = frame.method.family == "chain" and frame.metric("rhat") is not None
    return Finding(_of_chains(frame) or _of_density(frame), unchecked="" if mixed else found.unchecked)


def _by_reference(frame: Frame) -> Finding:
    error, low, high = (frame.metric(name) for name in ("mean_error", "sd_ratio_min", "sd_ratio_max"))
    words, tv = wrong_words(error, 1.0 if low is None else low, 1.0 if high is None else high), frame.tv or 0.0
    if not words and tv > WRONG_TV:
        words = f"TV {tv:.2f}: q has another shape than the posterior, although its mean and sds agree"
    return Finding(words, not words and error is not None and tv <= RIGHT_TV)


def _by_weights(frame: Frame) -> Finding:
    large = frame.target.dim > MOST_DIM
    if frame.density.few:
        words = f"fewer than {frame.target.dim + 2:,} distinct points: too few for a check, or for a density"
        return Finding(unchecked=words) if large else Finding(words)
    found = frame.shift
    if isinstance(found, str):
        return Finding(unchecked=found)
    if found.ess < FEWEST_ESS:
        words = f"{found.ess:.0f} effective draws of the check: its weights p/q are too uneven to confirm q"
        return Finding(unchecked=words) if large else Finding(words)
    words = wrong_words(found.moved, found.narrowest, found.widest, "; by importance weights p/q")
    return Finding(words, not words and found.settled and found.around_modes)


def wrong_words(moved: float | None, narrowest: float, widest: float, how: str = "") -> str:
    """What is wrong with a mean so many posterior sds off and with such ratios of sds; "" where nothing is."""
    if moved is not None and not moved <= FURTHEST:
        return f"mean {_number(moved)} posterior sds off: the largest error of a coordinate{how}"
    if not narrowest >= NARROW:
        return f"sds off: the narrowest is {_number(narrowest)} times that of the posterior{how}"
    if not widest <= WIDE:
        return f"sds off: the widest is {_number(widest)} times that of the posterior{how}"
    return ""


def _smoothed(frame: Frame) -> bool:
    """Whether q has its width from the smoothing kernels: particles without one are narrower than 0.7 of it."""
    if frame.method.family != "particles":
        return False
    return bool((spread(frame.particles, frame.weights) < NARROW * np.sqrt(variances(frame.density))).any())


def _of_chains(frame: Frame) -> str:
    if frame.method.family != "chain":
        return ""
    rhat, ess = frame.metric("rhat"), frame.metric("bulk_ess")
    if rhat is not None and rhat > MIXED:
        return f"R-hat {rhat:.2f}: the chains, or their halves, disagree"
    if ess is not None and ess < FEWEST_DRAWS:
        return f"bulk ESS {ess:.0f}: the draws are worth too few independent ones"
    return ""


def _of_density(frame: Frame) -> str:
    k = frame.metric("khat") if frame.method.family == "parametric" else None
    if k is None or k <= largest_trusted(NUM_DRAWS):
        return ""
    return f"k-hat {k:.1f} of p/q: q leaves out a part of the posterior, or differs from it much"


def _number(value: float) -> str:
    if not np.isfinite(value):
        return "infinitely many"
    return f"{value:.2f}" if value < 10 else f"{value:,.0f}"
