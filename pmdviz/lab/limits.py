"""What one browser session of a shared server may ask for; set by `pmdviz serve` through the environment."""

from __future__ import annotations

import os
from dataclasses import replace

from pmdviz.errors import InputError
from pmdviz.knobs import KnobSpec
from pmdviz.recipe import Recipe

PARTICLES = "num_particles"
MAX_PARTICLES, MAX_SESSIONS = "PMDVIZ_MAX_PARTICLES", "PMDVIZ_MAX_SESSIONS"


def limit(name: str) -> int | None:
    """The limit of that name, or None where there is none."""
    text = os.environ.get(name, "").strip()
    return int(text) if text.isdecimal() and int(text) > 0 else None


def capped(spec: KnobSpec) -> KnobSpec:
    """The knob with bounds that a server sets."""
    most = limit(MAX_PARTICLES)
    if spec.name != PARTICLES or most is None or spec.bounds is None:
        return spec
    low, high = spec.soft_bounds or spec.bounds
    soft = (min(low, most), min(high, most)) if most > low else None
    return replace(spec, bounds=(spec.bounds[0], min(spec.bounds[1], most)), soft_bounds=soft)


def check(recipe: Recipe) -> Recipe:
    """`recipe` itself. Raises InputError where it asks for more than this server allows."""
    most = limit(MAX_PARTICLES)
    asked = [recipe.knobs.get(PARTICLES, 0), *(values.get(PARTICLES, 0) for _, values in recipe.changes)]
    if most is not None and max(asked) > most:
        raise InputError(f"{PARTICLES} must be at most {most:,} on this server; given: {max(asked):,}")
    return recipe
