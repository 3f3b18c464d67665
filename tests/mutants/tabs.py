"""Planted faults in the pages of the app."""

from tests.mutants.engine import fault

TABS, LIVE, LAB = "tests/serve/test_tabs.py", "tests/lab/test_live.py", "tests/lab/test_lab.py"
DEFAULTS = "tests/serve/test_model_defaults.py"

MUTANTS = [
    fault("pmdviz/serve/tabs.py", "self.built[other].look(on)", "pass", TABS),
    fault(
        "pmdviz/serve/tabs.py", "if name not in self._kinds or name == self.active:", "if name == self.active:", TABS
    ),
    fault("pmdviz/serve/tabs.py", "if name not in self.built and name not in self._tasks:", "if True:", TABS),
    fault("pmdviz/serve/tabs.py", "self.built[name].look(False)", "pass", TABS),
    fault("pmdviz/serve/tabs.py", "        self._put(name, PARTS[-1])\n", "", TABS),
    fault("pmdviz/serve/tabs.py", "await asyncio.sleep(GAP_S)", "pass", TABS),
    fault("pmdviz/serve/tabs.py", "async with turn():", "if True:", TABS),
    fault("pmdviz/serve/model_defaults.py", "if is_themed(model, descriptor.name):", "if False:", DEFAULTS),
    fault("pmdviz/serve/model_defaults.py", "if type(value) not in PLAIN or", "if False and", DEFAULTS),
    fault("pmdviz/lab/controls/commands.py", '"" if whole else runner.preset', '"" if whole else ""', LAB),
    fault("pmdviz/lab/controls/setup.py", "self._presets.get(began)", "self._presets.get(self.preset.value)", LAB),
    fault("pmdviz/lab/panels/film.py", "            super().hide()\n", "            pass\n", "tests/lab/test_film.py"),
    fault("pmdviz/lab/loop/live.py", "self.playing and self._seen and not", "self.playing and not", LIVE),
]
