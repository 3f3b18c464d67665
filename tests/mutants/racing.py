"""Planted faults in races: the lock step, entrants, mode masses, the summary, bands, tiles."""

from tests.mutants.engine import fault

LOCKSTEP, ENTRANTS, MODES = (
    f"tests/{name}.py"
    for name in ("experiments/race/test_lockstep", "experiments/race/test_entrants", "metrics/test_modes")
)
RUNS, TILES = "tests/experiments/race/test_runs.py", "tests/views/test_race_tiles.py"

MUTANTS = [
    fault(
        "pmdviz/experiments/race/lockstep.py",
        "mine == lowest or mine + self._next_rows(k) <= lowest + self.recipe.target.num_data",
        "True",
        LOCKSTEP,
    ),
    fault("pmdviz/experiments/race/lockstep.py", "max(self.level, lowest) + rows", "lowest + rows", LOCKSTEP),
    fault("pmdviz/experiments/race/entrants.py", "{one.text} #{number}", "{one.text}", ENTRANTS),
    fault("pmdviz/metrics/modes.py", "heights[lower] - flat[cell] < PROMINENCE", "False", MODES),
    fault("pmdviz/metrics/modes.py", "on_grid(grid)[inside] * grid.cell_volume", "on_grid(grid)[inside]", MODES),
    fault("pmdviz/experiments/race/result.py", "np.std(values, ddof=1)", "np.std(values)", RUNS),
    fault("pmdviz/scenes/race_columns.py", "end = min(float(", "end = max(float(", TILES),
    fault("pmdviz/scenes/tiling.py", "-row * (1 + GAP + self.head)", "-row * (1 + GAP)", TILES),
]
