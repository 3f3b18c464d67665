"""Practice: twelve runs to be judged without the exact posterior, drawn from presets, with seeds of their own."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from pmdviz.engine.recipe import Recipe
from pmdviz.errors import InputError
from pmdviz.lessons.lesson import Lesson, Step
from pmdviz.presets import find_preset, read

NAME = re.compile(r"practice-(\d{1,9})")
NUM_CASES = 12
POOL = (  # presets, and which of their hints is followed; None for none
    ("two_modes", None),
    ("particles_die", None),
    ("far_modes", None),
    ("one_leapfrog", 0),
    ("langevin_step", None),
    ("langevin_step", 0),
    ("langevin_is_hot", None),
    ("langevin_is_hot", 1),
    ("steps_of_a_walk", None),
    ("gibbs_sees_one_mode", None),
    ("stages_without_moves", None),
    ("stages_without_moves", 0),
    ("one_pass_copies", None),
    ("one_pass_copies", 0),
    ("weights_in_ten_dimensions", None),
    ("weights_in_ten_dimensions", 0),
)
PLANAR = "tv < 0.2"
MOMENTS = "mean_error < 0.3 and sd_ratio_min > 0.7 and sd_ratio_max < 1.3"
WARNED = {"chain": "(rhat > 1.05 or bulk_ess < 100)", "particles": "(lowest(ess) < 0.05 * num_particles or khat > 0.7)"}
SIGNS = {
    "chain": "R-hat or the bulk ESS: R-hat above 1.05, or fewer than 100 effective draws",
    "particles": "The ESS or k-hat: at some time less than 5 % effective, or k-hat above 0.7",
}
TRACES = {"chain": "rhat", "particles": "ess"}
FOUND = {
    "chain": "R-hat {rhat:.2f}, bulk ESS {bulk_ess:.0f}",
    "particles": "lowest ESS {lowest(ess):.0f} of {num_particles:,}",
}


def practice(number: int) -> Lesson:
    """The practice of that number: the same cases and seeds each time. Raises InputError for a number above 10^9."""
    if not 0 <= number < 10**9:
        raise InputError(f"invalid practice number {number}: it must be from 0 to 999,999,999")
    rng = np.random.default_rng(number)
    drawn = [POOL[k] for k in rng.choice(len(POOL), NUM_CASES, replace=False)]
    steps = [step for k, case in enumerate(drawn, 1) for step in _steps(k, *case, int(rng.integers(10_000)))]
    return Lesson(
        f"practice-{number}",
        "Practice: keep or rerun?",
        "Twelve runs without the exact posterior, two questions about each. Which would you keep?",
        "A run is worth keeping if TV is below 0.2. In more than two dimensions: if each mean is within 0.3 posterior "
        "standard deviations, and each standard deviation within 30 %.",
        tuple(steps),
        minutes=30,
        varies=True,
    )


def practice_named(name: str) -> Lesson | None:
    """The practice of that name, such as "practice-17"; None for another name."""
    found = NAME.fullmatch(name)
    return practice(int(found[1])) if found else None


def _recipe(preset: str, hint: int | None, seed: int) -> Recipe:
    recipe = find_preset(preset).recipe.replaced(seed=seed)
    if hint is None:
        return recipe
    changes = find_preset(preset).hints[hint]
    options = {**recipe.target_options, **changes.options}
    return recipe.replaced(knobs=dict(changes.knobs), target_options=options)


def _steps(k: int, preset: str, hint: int | None, seed: int) -> list[Step]:
    """Judge the run, then say which diagnostic would have told."""
    recipe = _recipe(preset, hint, seed)
    method, target = recipe.make_method(), recipe.make_target()
    family = "chain" if method.family == "chain" else "particles"
    good = PLANAR if target.planar is not None else MOMENTS
    truth = (
        "TV {tv:.2f}"
        if target.planar is not None
        else "mean off by {mean_error:.2f} sds, sds {sd_ratio_min:.2f} to {sd_ratio_max:.2f} of the exact ones"
    )
    told = f"{truth}; {FOUND[family]}."  # told after the second question, which is about these numbers
    judge = {
        "title": f"Case {k}: keep or rerun?",
        "recipe": recipe.to_dict(),
        "hide": ["exact", "numbers"],
        "trace": TRACES[family],
        "after": {
            "ask": "The exact posterior is hidden. What would you do with this run?",
            "options": [
                {"say": "Keep it", "right": good, "because": f"{truth}.", "hope": True},
                {"say": "Run it again, with other settings", "right": f"not ({good})", "because": f"{truth}."},
            ],
        },
    }
    bad = f"not ({good})"
    signs = {
        SIGNS[family]: f"{bad} and {WARNED[family]}",
        "None of these: only a comparison with other settings or starting points": f"{bad} and not {WARNED[family]}",
        "No warning was needed: the run is good": good,
    }
    why = {
        "title": f"Case {k}: how could you tell?",
        "question": {
            "ask": "Now the exact posterior is shown. Which sign would have told you without it?",
            "options": [{"say": sign, "right": right, "because": told} for sign, right in signs.items()],
        },
    }
    words = f"{method.title} on: {target.title}. Play the run, look at the picture and the traces, and decide."
    texts = {"judge": words, "why": "Look at the run again, with everything shown."}
    blocks: dict[str, dict[str, Any]] = {"judge": judge, "why": why}
    return [read(Step, block, f"case {k}", name=f"{part}-{k}", text=texts[part]) for part, block in blocks.items()]
