"""Other seeds: what is run, shown, said, cancelled, refused and let go of."""

import threading

import numpy as np
import pytest

from pmdviz.engine.recipe import Recipe
from pmdviz.experiments.sweep import SeedRuns, other_seeds, run_seed
from pmdviz.lab.loop import work as luck_work
from pmdviz.lab.loop.runner import Runner
from pmdviz.lab.panels.comparing import ASK, CANCEL, LuckPanel
from pmdviz.views import TracesView
from tests.lab.threads import until

RECIPE = Recipe("gaussian", "pmd", num_particles=100, budget=200, batch_size=10)


def shown(runner):
    snapshot, traces = runner.snapshot(), TracesView()
    traces.show(snapshot.trace, {})
    panel = LuckPanel(traces)
    panel.seeds.value = 8
    panel.show(snapshot, False)
    return panel


@pytest.fixture
def held(monkeypatch):
    """Set once a run has begun, which then waits for Cancel."""
    begun, opened = threading.Event(), threading.Event()

    def slow(recipe, seed, tell):
        begun.set()
        while not opened.wait(0.01):
            tell(0.5)
        return run_seed(recipe, seed, tell)

    monkeypatch.setattr(luck_work, "run_seed", slow)
    yield begun
    opened.set()


async def test_the_band_and_the_verdict_are_those_of_single_runs():
    runner = Runner(RECIPE)
    runner.session.advance(1000)
    panel = shown(runner)
    panel._press()
    assert panel.running and panel.button.label == CANCEL and "Repeating with 8 seeds" in panel.said.object
    await until(lambda: not panel.running)
    snapshot = runner.snapshot()
    runs = SeedRuns([run_seed(RECIPE, seed) for seed in other_seeds(0, 8)])
    ends = np.array([run.history["tv"][-1] for run in runs.whole])
    lower = int(np.sum(ends < snapshot.frame.tv))
    assert f": {lower} of 8 other seeds" in panel.said.object and 'role="status"' in panel.said.object
    traces = panel._traces
    band = next(source for name, source in traces.sources.items() if name.startswith("band tv"))
    assert np.array_equal(band.data["high"], runs.band("visited", "tv")["high"])
    assert panel.button.label == ASK and traces.legend.items[-1].label.value == "middle 80\u00a0% of 8 seeds"
    assert traces.corner.text.endswith("lower")


async def test_it_is_cancelled_and_let_go_of(held):
    panel = shown(Runner(RECIPE))
    panel._press()
    await until(held.is_set)
    panel._press()
    await until(lambda: not panel.running)
    assert panel.runs is None and "Cancelled" in panel.said.object and panel.button.label == ASK
    panel._press()
    panel.forget()
    assert not panel.running and panel.recipe is None
