"""Where the toys appear: run by tests/structure/test_one_file.py in a process that has imported them and no more."""

import json

import numpy as np
import pytest

import pmdviz
from pmdviz.cli.main import main
from pmdviz.engine.session import Session
from pmdviz.lab.race import Race
from pmdviz.lab.theory import TheoryPage
from pmdviz.scenes.inside import inside
from pmdviz.scenes.stage import SceneChoice, applicable_scenes
from pmdviz.scenes.trace_columns import GROUPS


@pytest.fixture(scope="module")
def run():
    return pmdviz.run(target="toy_mean", method="toy_average", seed=0, budget=600)


def told(capsys, *words):
    assert main(list(words)) == 0
    return capsys.readouterr().out


def test_python_and_the_command_line_list_and_run_them(capsys):
    assert "toy_mean" in pmdviz.list_targets() and "toy_average" in pmdviz.list_methods()
    text, tables = told(capsys, "list"), json.loads(told(capsys, "list", "--json", "-"))
    assert "toy_mean: A toy mean" in text and "toy_average: A toy average" in text
    assert "toy_mean" in tables["targets"] and "toy_average" in tables["methods"]
    docs = told(capsys, "list", "--markdown")
    assert "# `toy_mean`" in docs and "# `toy_average`" in docs
    found = json.loads(
        told(capsys, "run", "--target", "toy_mean", "--method", "toy_average", "--budget", "300", "--json", "-")
    )
    assert found["recipe"]["target"] == "toy_mean" and found["final"]["toy_spread"] > 0


def test_experiments_are_listed_and_run(capsys, tmp_path):
    assert "toy_mean_error" in pmdviz.list_experiments() and "toy_mean_error" in told(capsys, "list")
    assert "toy_mean_error" in TheoryPage().experiments.chosen.options.values()
    found = pmdviz.experiment("toy_mean_error", seeds=30, workers=1)
    (result,) = found.summary
    assert abs(result["slope"] + 0.5) < 5 * result["standard_error"]
    assert "slope -0." in told(
        capsys, "experiment", "toy_mean_error", "--workers", "1", "--out", str(tmp_path / "t.csv")
    )
    assert len((tmp_path / "t.csv").read_text().splitlines()) == 81


def test_the_pages_offer_them():
    lab, race = pmdviz.Lab(target="toy_mean", method="toy_average", budget=300), Race()
    assert lab.setup.target.value == "toy_mean" and "toy_average" in lab.setup.method.options.values()
    assert race.setup.target.options["A toy mean"]


def test_the_run_is_right_and_menus_offer_its_parts(run):
    """The running average of batches is the likelihood of all data after whole passes."""
    exact = run.target.exact
    assert run.final.visited == 600
    assert np.abs(run.mean() - exact.mean).max() < 0.25  # 500 draws of the prior: few lie near the posterior
    assert len(run.history["toy_spread"]) == len(run.history["toy_share"]) == len(run.history["iteration"])
    assert run.final.metrics["toy_spread"] == pytest.approx(np.trace(run.cov()))
    frame = run.final
    assert {"toy_spread", "step_toy_share"} <= set(GROUPS.of(frame.target, frame.method))
    assert "toy_distances" in applicable_scenes(frame.target, frame.method)


def test_the_race_has_them_and_the_panel_tells_their_steps(capsys):
    found = pmdviz.race(methods=["toy_average", "importance"], target="toy_mean", budget=300, seeds=1)
    assert [row["method"] for row in found.rows] == ["toy_average", "importance"]
    assert all(row["toy_spread"] > 0 for row in found.rows)
    session = Session(pmdviz.Recipe("toy_mean", "toy_average", budget=100))
    session.advance()
    before, after = session.frame, session.advance()
    told = inside(before, after, *SceneChoice().of(after.target, after.method)).told
    assert [each["title"] for each in told["terms"]] == ["weight before", "toy likelihood", "normaliser"]
