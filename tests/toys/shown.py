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


def told(capsys, *words):
    assert main(list(words)) == 0
    return capsys.readouterr().out


def test_python_and_the_command_line_list_and_run_them(capsys, tmp_path):
    tables = json.loads(told(capsys, "list", "--json", "-"))
    text, docs = told(capsys, "list"), told(capsys, "list", "--markdown")
    assert "toy_mean" in tables["targets"] and "toy_average" in tables["methods"] and "toy_mean_error" in text
    assert "# `toy_mean`" in docs and "# `toy_average`" in docs
    toys = ("--target", "toy_mean", "--method", "toy_average")
    found = json.loads(told(capsys, "run", *toys, "--budget", "300", "--json", "-"))
    assert found["recipe"]["target"] == "toy_mean" and found["final"]["toy_spread"] > 0
    (result,) = pmdviz.experiment("toy_mean_error", seeds=30, workers=1).summary
    assert abs(result["slope"] + 0.5) < 5 * result["standard_error"]
    out = ("--workers", "1", "--out", str(tmp_path / "t.csv"))
    assert "slope -0." in told(capsys, "experiment", "toy_mean_error", *out)
    assert len((tmp_path / "t.csv").read_text().splitlines()) == 81


def test_the_pages_offer_them():
    lab, race = pmdviz.Lab(target="toy_mean", method="toy_average", budget=300), Race()
    assert lab.setup.target.value == "toy_mean" and "toy_average" in lab.setup.method.options.values()
    assert race.setup.target.options["A toy mean"]
    assert "toy_mean_error" in TheoryPage().chosen.options.values()


def test_the_run_is_right_menus_offer_its_parts_and_it_races():
    """The running average of batches is the likelihood of all data after whole passes."""
    run = pmdviz.run(target="toy_mean", method="toy_average", seed=0, budget=600)
    frame = run.final
    assert frame.visited == 600
    assert np.abs(run.mean() - run.target.exact.mean).max() < 0.25  # 500 draws of the prior: few lie near the posterior
    assert len(run.history["toy_spread"]) == len(run.history["toy_share"]) == len(run.history["iteration"])
    assert frame.metrics["toy_spread"] == pytest.approx(np.trace(run.cov()))
    assert {"toy_spread", "step_toy_share"} <= set(GROUPS.of(frame.target, frame.method))
    assert "toy_distances" in applicable_scenes(frame.target, frame.method)
    found = pmdviz.race(methods=["toy_average", "importance"], target="toy_mean", budget=300, seeds=1)
    assert all(row["toy_spread"] > 0 for row in found.rows)
    session = Session(pmdviz.Recipe("toy_mean", "toy_average", budget=100))
    before, after = session.advance(), session.advance()
    terms = inside(before, after, *SceneChoice().of(after.target, after.method))["terms"]
    assert [each["title"] for each in terms] == ["weight before", "toy likelihood", "normaliser"]
