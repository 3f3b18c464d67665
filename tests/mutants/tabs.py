"""Planted faults in the pages of the app."""

from tests.mutants.engine import fault

TABS, LIVE = "tests/test_tabs.py", "tests/lab/test_live.py"

MUTANTS = [
    fault("pmdviz/tabs.py", "self.built[self.active].look(False)", "pass", TABS),
    fault("pmdviz/tabs.py", "if name not in self._kinds or name == self.active:", "if name == self.active:", TABS),
    fault("pmdviz/tabs.py", "new = name not in self.built", "new = True", TABS),
    fault("pmdviz/lab/live.py", "self.playing and self._seen and not", "self.playing and not", LIVE),
]
