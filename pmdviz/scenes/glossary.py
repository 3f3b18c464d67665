"""The words that a page explains when they are clicked or touched: each declared here, and only here."""

from __future__ import annotations

import re
from typing import NamedTuple

from pmdviz.scenes.words import INDEPENDENT_DRAWS


class Term(NamedTuple):
    """A word of the glossary; `forms` is how it is written in texts, `page` says which page of the docs has more."""

    title: str
    forms: tuple[str, ...]
    meaning: str
    formula: str
    page: str


GLOSSARY = {
    "tv": Term(
        "TV: total variation",
        ("TV", "total variation"),
        "How far the approximation q is from the exact posterior p: the largest difference between the probabilities "
        "that the two give to any region. It ranges from 0 (identical) to 1 (no overlap).",
        "TV = ½ ∫ |p(θ) − q(θ)| dθ",
        "docs/metrics.md",
    ),
    "kl": Term(
        "KL: Kullback-Leibler divergence",
        ("KL", "forward KL", "reverse KL"),
        "Another measure of how far q is from p, in nats; 0 means identical. Forward KL(p‖q) is large where q misses "
        "part of the posterior. Reverse KL(q‖p) is large where q has mass and the posterior has none.",
        "KL(p‖q) = ∫ p(θ) log(p(θ)/q(θ)) dθ",
        "docs/metrics.md",
    ),
    "ess": Term(
        "ESS: effective sample size",
        ("ESS", "effective sample size"),
        "A rough count of how many weights matter: m if all weights are equal, 1 if one particle has all the weight. "
        "It does not compare the particles with the posterior: a high ESS does not mean that they are in the right "
        "place.",
        "ESS = 1 / Σ wᵢ²",
        "docs/metrics.md",
    ),
    "bandwidth": Term(
        "Bandwidth h",
        ("bandwidth", "Bandwidth"),
        "The width of the smoothing kernel placed on each particle; q is the weighted sum of these kernels. Too wide "
        "blurs the modes, too narrow leaves gaps between the particles.",
        "q(θ) = Σ wᵢ K((θ − θᵢ)/h) / hᵈ",
        "docs/algorithm.md",
    ),
    "rejuvenation": Term(
        "Rejuvenation",
        ("rejuvenation", "Rejuvenation", "rejuvenated", "rejuvenates"),
        "New particles of equal weight are drawn from the current density q. It brings the ESS back to m, "
        "and each time it adds the kernel's variance.",
        "θᵢ ~ q, wᵢ = 1/m",
        "docs/algorithm.md",
    ),
    "ancestors": Term(
        "Ancestors",
        ("ancestor", "ancestors", "Ancestors"),
        "How many of the particles that the run began with still have descendants. Each time new particles are drawn "
        "the ESS is high again, but lines of descent that have ended stay lost, and the ESS does not show it.",
        "aᵢ(t+1) = a of the parent of particle i",
        "docs/inside-a-step.md",
    ),
    "independent-draws": Term(
        "Independent draws",
        (INDEPENDENT_DRAWS, INDEPENDENT_DRAWS.capitalize()),
        "A reference: the TV you would get with the same number of draws from the exact posterior, drawn the same "
        "way as the method's own particles: thinned from 16 candidates each where those are.",
        "θᵢ ~ p independently, i = 1 … m",
        "docs/metrics.md",
    ),
    "surrogate": Term(
        "Surrogate ρ",
        ("surrogate", "Surrogate", "surrogates"),
        "A density whose gradient is known, used in place of the target's gradient. The particles are weighted by "
        "surrogate over target, so that the target itself is only evaluated; a surrogate narrower than the target "
        "leaves all of the weight to a few of them.",
        "w(θ) ∝ ρ(θ) / p(θ)",
        "docs/stein.md",
    ),
    "mean-field": Term(
        "Mean field",
        ("mean field",),
        "An approximation in which blocks of parameters are independent of one another. What they know of each other "
        "is lost: its widths are those of each block with all others known, and its means are often right.",
        "q(θ) = q₁(θ₁) q₂(θ₂) ⋯",
        "docs/mean-field.md",
    ),
    "quantile-bins": Term(
        "Quantile bins",
        ("quantile bins", "quantile bin", "Quantile bins"),
        "The latent axis, cut where a base density gives every piece the same mass; each bin stands for one value of a "
        "discrete state. Particles move on the axis, and a state changes where one crosses from a bin into another.",
        "z = Γ(x), P(x in a bin) = 1/K under p₀",
        "docs/stein.md",
    ),
}
IN_ROW = ("tv", "kl", "ess", "bandwidth", "rejuvenation", "independent-draws")  # those of the usual legends
KEYS = {form: key for key, term in GLOSSARY.items() for form in term.forms}
_FORMS = re.compile(rf"\b({'|'.join(sorted(map(re.escape, KEYS), key=len, reverse=True))})\b")


def marked(text: str) -> str:
    """A text (escaped, if it is to be HTML) with each word of the glossary as a button that opens its explanation."""
    return _FORMS.sub(lambda found: button(found[1], KEYS[found[1]]), text)


def button(words: str, key: str) -> str:
    """The HTML of a button that explains `key`."""
    return f'<button type="button" class="pmdviz-term" data-term="{key}" aria-haspopup="dialog">{words}</button>'


def row() -> str:
    """The words of the usual legends, which are drawn and cannot be clicked; HTML."""
    found = " · ".join(button(GLOSSARY[key].forms[0], key) for key in IN_ROW)
    return f'<div class="pmdviz-glossary">What is … {found}?</div>'
