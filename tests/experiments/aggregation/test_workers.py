"""A worker process that is killed loses nothing."""

import os

import pytest

from pmdviz.experiments.aggregation.experiment import Aggregation
from pmdviz.experiments.base import EXPERIMENTS
from pmdviz.experiments.running import run_experiment

KNOBS = {"num_data": 3000, "num_shards": 3, "repetitions": 4, "lowest": 30, "highest": 60, "num_levels": 2}


def plain(found):
    return repr([{name: value for name, value in row.items() if name != "seconds"} for row in found.rows])


def deadly(marker):
    """The experiment whose third repetition kills the process that computes it, once."""

    class Deadly(Aggregation):
        name = ""  # known to this test alone, and sent to the workers as it is

        def run(self, case):
            if case["seed"] == 2 and not marker.exists():
                marker.write_text(str(os.getpid()))
                os.kill(os.getpid(), 9)
            return super().run(case)

    return Deadly()


@pytest.mark.ci
def test_a_killed_process_loses_nothing(tmp_path, monkeypatch):
    alone = run_experiment("aggregation", KNOBS, workers=1)
    monkeypatch.setitem(EXPERIMENTS, "aggregation", deadly(tmp_path / "died"))
    found = run_experiment("aggregation", KNOBS, workers=2, path=tmp_path / "t.csv")
    assert int((tmp_path / "died").read_text()) != os.getpid()
    assert not found.failed and len(found.rows) == 4 * 11 and plain(found) == plain(alone)
