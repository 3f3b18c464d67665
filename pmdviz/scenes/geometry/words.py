"""What the Geometry page says of its setting, with the setting's own numbers."""

from __future__ import annotations

import numpy as np

from pmdviz.scenes.geometry.setting import Geometry
from pmdviz.scenes.words import number, short, typeset


def percent(share: float) -> str:
    """A share as "17 %", with "below 1 %" and "above 99 %" where rounding would say none or all."""
    if 0 < share < 0.01:
        return "below 1 %"
    return "above 99 %" if 0.99 < share < 1 else f"{100 * share:.0f} %"


def steps_made(geometry: Geometry) -> str:
    """The first words: "After 5 steps of γ = 0.3"."""
    t = geometry.knobs.steps
    return f"After {t} step{'s' * (t != 1)} of γ = {short(geometry.knobs.gamma)}"


def formula(geometry: Geometry) -> str:
    """The bound of this setting with its numbers, as HTML."""
    t, gamma, first = geometry.knobs.steps, short(geometry.knobs.gamma), number(geometry.mirror_kl[0])
    bound = float(geometry.bound(t))
    equals = "< 0.0001" if 0 < bound < 1e-4 else f"= {number(bound)}"
    return typeset(f"KL(p‖q_{{{t}}}) ≤ (1 − γ)^{{{t}}} KL(p‖q_0) = (1 − {gamma})^{{{t}}} × {first} {equals} nats")


def mirror_words(geometry: Geometry) -> str:
    """How far the mirror steps are, and how much of the start is left."""
    t = geometry.knobs.steps
    left = percent(float(geometry.left(t)))
    return (
        f"{steps_made(geometry)}: forward KL {number(geometry.mirror_kl[-1])} nats, bound "
        f"{number(float(geometry.bound(t)))}; the share of the start q₀ that is left is "
        f"{typeset(f'(1−γ)^{{{t}}}')} = {left}."
    )


def gradient_words(geometry: Geometry) -> str:
    """How far the gradient steps are, and where they have been 0."""
    last, been = geometry.gradient_kl[-1], geometry.been_zero
    here = "infinite, as q is 0 at a state that p allows" if np.isinf(last) else f"{number(last)} nats"
    ways = {0: "no state has", 1: "1 of 3 states has"}
    cut = f" The density is cut to 0 on {percent(geometry.cut)} of the line." if geometry.cut else ""
    return f"Gradient descent: {here}; {ways.get(been, f'{been} of 3 states have')} been 0 on the way.{cut}"


def sentences(geometry: Geometry) -> tuple[str, str, str]:
    """The formula, what the mirror steps did and what the gradient steps did, as HTML."""
    return formula(geometry), mirror_words(geometry), gradient_words(geometry)
