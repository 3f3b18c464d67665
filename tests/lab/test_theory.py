import threading
import time

import pytest

from pmdviz.experiments.sweep import planned
from pmdviz.experiments.theory import STRATEGIES, VARIED, planned_runs
from pmdviz.kernels.pool import Cancelled
from pmdviz.lab.loop.work import WAITING, Measurement
from tests.support.tables import looped


def waited(condition, seconds=60.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


@looped("name", VARIED)
@looped("strategy", STRATEGIES)
@looped("target", ["gaussian", "bimodal1d"])
def test_every_choice_is_a_sweep_that_can_be_planned(target, strategy, name):
    recipe, over = planned_runs(target, strategy, name)
    jobs = planned(recipe, over, 2, together=True)
    assert len(jobs) == 12
    values = [job.recipe.budget / job.recipe.knobs["batch_size"] for job in jobs[::2]]
    assert (len(set(values)) == 1) == ("T" not in VARIED[name].letters)  # T stands still unless it is varied


def test_work_says_how_far_it_is_waits_and_can_be_cancelled():
    go = threading.Event()

    def act(tell):
        tell(2, 5)
        go.wait(60)
        tell(3, 5)
        return "done"

    first, second = Measurement(act, "runs"), Measurement(lambda tell: "second", "runs")
    waited(lambda: first.total == 5)
    assert (first.words, first.short) == ("2 of 5 runs", "2 of 5")
    assert (second.words, second.over) == (WAITING, False)
    first.cancel()
    assert first.over
    go.set()
    with pytest.raises(Cancelled):
        first.result()
    waited(lambda: second.over)
    assert second.result() == "second"
