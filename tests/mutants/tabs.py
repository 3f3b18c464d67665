"""Planted faults in the pages of the app."""

from tests.mutants.engine import fault

TABS, LIVE, LAB = "tests/test_tabs.py", "tests/lab/test_live.py", "tests/lab/test_lab.py"

MUTANTS = [
    fault("pmdviz/tabs.py", "self.built[self.active].look(False)", "pass", TABS),
    fault("pmdviz/tabs.py", "if name not in self._kinds or name == self.active:", "if name == self.active:", TABS),
    fault("pmdviz/tabs.py", "new = name not in self.built", "new = True", TABS),
    fault("pmdviz/tabs.py", "(self.controls, controls), (self.foot, foot)", "(self.controls, controls)", TABS),
    fault("pmdviz/lab/acts.py", '"" if whole else runner.preset', '"" if whole else ""', LAB),
    fault("pmdviz/lab/setup.py", "self._presets.get(began)", "self._presets.get(self.preset.value)", LAB),
    fault("pmdviz/lab/film.py", "            super().hide()\n", "            pass\n", "tests/lab/test_film.py"),
    fault("pmdviz/lab/live.py", "self.playing and self._seen and not", "self.playing and not", LIVE),
]
