"""What a run will need, by the work that its method's knobs declare."""

from __future__ import annotations

from pmdviz.engine.recipe import Recipe
from pmdviz.experiments.forecast import Size
from pmdviz.targets import Target

# On one core of an AMD EPYC at d = 2; a kernel and a pair take twice as long with 10 more coordinates.
KERNEL_S, PAIR_S, STEP_S, START_S = 2.5e-9, 1e-9, 5e-5, 0.2  # a kernel; a particle and datum; a step; a run
WIDER = 10
BASE_MB, PAIR_MB = 200.0, 2.4e-5  # of a worker, and of three numbers for each particle and datum


def size_of_run(recipe: Recipe, target: Target) -> Size:
    """Seconds and memory of a run to the end of its budget."""
    knobs = recipe.start_knobs()
    work, steps = knobs.work_on(target), (recipe.budget or 0) / knobs.rows(target.num_data)
    pairs = work.likelihoods + work.gradients
    step_s = (work.kernels * KERNEL_S + pairs * PAIR_S) * (1 + target.dim / WIDER) + STEP_S
    return Size(START_S + steps * step_s, BASE_MB + pairs * PAIR_MB)
