import threading
import time

import numpy as np
import pytest

from pmdviz.experiments.sweep import planned
from pmdviz.experiments.theory import STRATEGIES, VARIED, planned_runs
from pmdviz.kernels.pool import Cancelled
from pmdviz.lab.loop.work import WAITING, Measurement
from pmdviz.lab.pages.theory import TheoryPage
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


def rows(slope=-0.5, seeds=6):
    rng = np.random.default_rng(0)
    sizes = np.repeat([64, 256, 1024], seeds)
    errors = sizes.astype(float) ** slope * np.exp(0.2 * rng.standard_normal(len(sizes)))
    return [{"num_particles": int(m), "iterations": int(m), "num_data": 20, "bounded": e, "tv": 2 * e,
             "kl_forward": e**2} for m, e in zip(sizes, errors, strict=True)]  # fmt: skip


def test_all_points_are_drawn_and_fitted_and_the_error_can_be_changed_afterwards():
    page = TheoryPage()
    page._rows, page._measured = rows(), {"target": "gaussian", "strategy": "particles", "varied": "mT"}
    page._redraw()
    (view,) = page.sweep_view.views
    assert [len(view.sources[f"dots-{k}"].data["x"]) for k in (0, 2)] == [18, 2]
    assert [tool.tooltips[0][1] for tool in view.hovers] == ["one run", "mean of the runs", "fit"]
    assert np.isnan(view.sources["legs"].data["x"]).sum() == 2 and view.figure.name == "theory"
    assert "(all 18 points)" in page.found.object and "Theorem 5: slope -0.50" in page.found.object
    assert "as printed" in page.found.object and "√(log T / T)" in page.found.object
    assert "constants of the bounds are not known" in page.found.object
    page.error.value = "tv"
    assert view.figure.yaxis[0].axis_label == "TV (0 to 1)"
    np.testing.assert_allclose(view.sources["dots-0"].data["y"], [2 * row["bounded"] for row in rows()])
    assert "The paper gives no bound for this error" in page.found.object  # weighted particles have no density
