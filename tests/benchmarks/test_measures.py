"""What the benches measure with: known errors of known densities, and where a run is looked at."""

import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks import dimension, names
from benchmarks.rows import tables_of
from benchmarks.statistics import End, described
from pmdviz.cli.main import parser_of
from pmdviz.targets import make_target


def test_a_moved_and_stretched_density_has_the_errors_that_it_must_have():
    made, stretch = make_target("linear", dim=3, num_data=50).exact, np.array([0.5, 1.0, 2.0])
    still = dimension.distances(made.mean, made.cov, made)
    assert still["error_of_mean"] == 0 and still["sd_ratio"] == pytest.approx(1) and abs(still["kl"]) < 1e-9
    moved = made.mean + np.array([0.3, -0.4, 0.0]) * np.sqrt(np.diag(made.cov))
    covariance = made.cov * np.outer(stretch, stretch)
    found = dimension.distances(moved, covariance, made)
    assert found["error_of_mean"] == pytest.approx(np.sqrt(0.25 / 3))
    assert found["sd_ratio_least"] == pytest.approx(0.5) and found["sd_ratio_largest"] == pytest.approx(2)
    shift, inverse = moved - made.mean, np.linalg.inv(covariance)
    kl = 0.5 * (np.trace(inverse @ made.cov) + shift @ inverse @ shift - 3)  # the determinants are the same
    assert found["kl"] == pytest.approx(kl, rel=1e-9)


def test_a_run_is_judged_by_the_metrics_that_it_has_and_by_its_caveat():
    row = tables_of("beyond-the-plane")["default"][1][-1]._replace(knobs={"budget": 500})
    found = row.measure(100)
    assert found["mean_error"] > 0 and found["caveat"] in (0, 1) and "tv" not in found


def test_a_weight_counts_as_so_many_points_and_weighted_draws_come_from_the_surrogate():
    row = next(row for row in tables_of("stein")["surrogates"][1] if row.knobs and not row.method)
    target, points = make_target("gmm", **row.options), np.array([[1.0, -2.0], [0.5, 3.0]])
    repeated = described(End(target, points[[0, 0, 1]], np.full(3, 1 / 3), 0))
    assert described(End(target, points, np.array([2, 1]) / 3, 0)) == pytest.approx(repeated, rel=1e-12)
    drawn = row._replace(knobs={"surrogate_mean": 0.0, "surrogate_sd": 1.0}, count=2000).measure(0)
    assert drawn["mmd2"] < 2e-3 and drawn["ratio"] == pytest.approx(1, abs=0.1), "all weights 1"


def test_the_commands_that_wrote_the_measurements_can_be_read_by_the_command_line():
    """All but the one of outside.json, whose page says so: its bench compared programs that are not installed here."""
    for path in (Path(__file__).parents[2] / "docs/measured").glob("*.json"):
        command = json.loads(path.read_text(encoding="utf-8")).get("command")
        if command is not None and path.name != "outside.json":
            words = command.removeprefix("python -m pmdviz ").split()
            assert parser_of(words[:1]).parse_args(words).name in names(), path.name
