"""The Geometry page's words: the question above the pictures and the explanation beside them."""

from __future__ import annotations

from pmdviz.scenes.geometry import Geometry, sentences
from pmdviz.scenes.words import typeset

QUESTION = (
    '<p class="pmdviz-question" role="heading" aria-level="2">Which path stays off the edge? Predict, then move γ.</p>'
)
HEADING = '<div class="pmdviz-heading" role="heading" aria-level="2">{}</div>'
FORMULA = '<p class="pmdviz-formula">{}</p>'
MIRROR, GRADIENT = "q_{t+1} ∝ q_t^{1−γ} p^γ", "q_{t+1} = projection of q_t − η log(q_t / p)"
MULTIPLY = (
    "p is the posterior, q₀ the start: the prior. A mirror step takes the share 1 − γ of log q and the share γ of "
    "log p: it forgets the share γ of what it knew. What was positive stays positive."
)
ADD = (
    "A gradient step adds. Where it would go below 0 it is cut off, and the result is projected onto the triangle. "
    "Here η makes its first step as long as the first mirror step, and then it stays the same. At an edge the slope is "
    "infinite; it is taken at a probability of 0.001."
)
BOUND = "KL(p‖q_{t+1}) = (1−γ) KL(p‖q_t) + log Z, log Z ≤ 0"
CONTRACTS = (
    "So with all data each mirror step multiplies the forward KL by 1 − γ or less, although it is a step on the "
    "reverse KL, KL(q‖p)."
)
MISCONCEPTIONS = (
    (
        "“A gradient step on probabilities is a step along the gradient.”",
        "Not at an edge: the projection turns it, and the next step may jump back.",
    ),
    (
        "“The forward KL need not fall.”",
        "In exact mirror steps it must. In gradient steps it may rise, and it is infinite at an edge.",
    ),
)


def explanation() -> str:
    """What stands beside the pictures, as HTML."""
    wrong = "".join(f"<li>{said} {answer}</li>" for said, answer in MISCONCEPTIONS)
    parts = [
        (HEADING.format("Multiply"), FORMULA.format(typeset(MIRROR)), f"<p>{MULTIPLY}</p>"),
        (HEADING.format("Or add"), FORMULA.format(typeset(GRADIENT)), f"<p>{ADD}</p>"),
        (HEADING.format("The forward KL falls"), FORMULA.format(typeset(BOUND)), f"<p>{CONTRACTS}</p>"),
        (HEADING.format("Often said, but wrong"), f"<ul>{wrong}</ul>"),
    ]
    return "".join("".join(part) for part in parts)


def found(geometry: Geometry) -> str:
    """What this setting shows, in numbers, as HTML."""
    formula, *said = sentences(geometry)
    return FORMULA.format(formula) + "".join(f"<p>{words}</p>" for words in said)
