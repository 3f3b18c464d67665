"""Planted faults in races: the lock step, entrants, mode masses, the summary, bands, tiles."""

from tests.mutants.engine import fault

LOCKSTEP, ENTRANTS, MODES = (f"tests/racing/test_{name}.py" for name in ("lockstep", "entrants", "modes"))
RUNS, TILES = "tests/racing/test_runs.py", "tests/views/test_race_tiles.py"

MUTANTS = [
    fault(
        "pmdviz/racing/lockstep.py",
        "mine == lowest or mine + self._next_rows(k) <= lowest + self.target.num_data",
        "True",
        LOCKSTEP,
    ),
    fault("pmdviz/racing/lockstep.py", "max(self.level, lowest) + rows", "lowest + rows", LOCKSTEP),
    fault("pmdviz/racing/entrants.py", "{one.label} #{number}", "{one.label}", ENTRANTS),
    fault("pmdviz/racing/modes.py", "heights[lower] - flat[cell] < PROMINENCE", "False", MODES),
    fault("pmdviz/racing/modes.py", "on_grid(grid)[inside] * grid.cell_volume", "on_grid(grid)[inside]", MODES),
    fault("pmdviz/racing/result.py", "np.std(values, ddof=1)", "np.std(values)", RUNS),
    fault("pmdviz/views/race_columns.py", "end = min(float(", "end = max(float(", TILES),
    fault("pmdviz/views/tiling.py", "-row * (1 + GAP + self.head)", "-row * (1 + GAP)", TILES),
]
