"""How the bench measures and sums up, and that its methods go as far as they say; no figure is judged."""

import json
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from benchmarks.dimension import DRAWS, ENTRANTS, VISITED, distances, figures_of, pooled
from benchmarks.helpers.dimension_figure import BOTTOM, COLOURS, LEAST, MOST, TOP, drawn, spread
from benchmarks.helpers.regressions import errors, linear
from pmdviz.densities.density import KernelDensity

ROOT = Path(__file__).parents[2]


def gaussian(mean, covariance):
    return KernelDensity(mean[None], np.zeros(1), np.linalg.cholesky(covariance))


def test_the_exact_moments_are_no_distance_away():
    made = linear(4, 0, num_data=50)
    found = distances(made.mean, made.covariance, made)
    assert found["error_of_mean"] == 0 and found["kl"] == pytest.approx(0, abs=1e-12)
    assert [found[name] for name in ("sd_ratio", "sd_ratio_least", "sd_ratio_largest")] == pytest.approx([1, 1, 1])


def test_distances_are_those_found_by_draws_from_the_exact_posterior():
    """Of a Gaussian q the closed form and `regressions.errors`, which draws, must agree."""
    made, stretch = linear(3, 0, num_data=50), np.array([0.5, 1.0, 2.0])
    moved = made.mean + np.array([0.3, -0.4, 0.0]) * np.sqrt(np.diag(made.covariance))
    covariance = made.covariance * np.outer(stretch, stretch)
    found, drawn = distances(moved, covariance, made), errors(gaussian(moved, covariance), made)
    assert found["error_of_mean"] == pytest.approx(np.sqrt(0.25 / 3)) == pytest.approx(drawn["error_of_mean"])
    assert found["sd_ratio_least"] == pytest.approx(0.5) and found["sd_ratio_largest"] == pytest.approx(2)
    assert found["sd_ratio"] == pytest.approx(1)
    assert found["kl"] == pytest.approx(drawn["kl"], rel=0.1)


def test_runs_are_pooled_by_median_and_range_and_caveats_are_counted():
    runs = [{"kl": kl, "caveat": caveat} for kl, caveat in ((1.0, ""), (9.0, "so"), (2.0004, "so"))]
    assert pooled(runs) == {"runs": 3, "kl": [2.0, 1.0, 9.0], "caveats": 2}


@pytest.mark.parametrize("name", ["SVI", "one-pass SMC", "HMC"])
def test_methods_go_as_far_as_they_say(name):
    made = linear(2, 0)
    found = figures_of(ENTRANTS[name], made, 0)
    assert found["error_of_mean"] < 1 and 0.5 < found["sd_ratio"] < 2 and found["caveat"] == ""
    if name == "HMC":
        assert found["visited"] > DRAWS * made.target.num_data
    else:
        assert found["visited"] == {"SVI": VISITED, "one-pass SMC": made.target.num_data}[name]


def test_the_gradient_of_the_regression_is_that_of_its_log_joint():
    made, h = linear(3, 1, num_data=40), 1e-5
    theta = np.random.default_rng(0).standard_normal((1, 3))
    up, down = (made.target.log_joint(theta + sign * h * np.eye(3)) for sign in (1, -1))
    np.testing.assert_allclose((up - down) / (2 * h), made.target.grad_log_joint(theta)[0], rtol=1e-6)


def test_names_are_spread_apart_in_their_order_and_stay_where_there_is_room():
    assert spread([10, 90, 50], 15, 0, 100) == [10, 90, 50]
    assert spread([52, 50, 51, 99], 15, 0, 100) == [80, 50, 65, 99]
    crowded = spread([100, 99, 98, 40], 15, 0, 100)
    assert crowded == [100, 85, 70, 40]


def test_the_figure_has_a_point_for_every_dimension_and_fills_those_that_carried_a_caveat():
    by_d = {
        "1": {"error_of_mean": [LEAST, 0, 1], "caveats": 0},
        "20": {"error_of_mean": [9 * MOST, 0, 1], "caveats": 2},
    }
    root = ElementTree.fromstring(drawn({"SVI": by_d}))
    circles = [one.attrib for one in root.iter("{http://www.w3.org/2000/svg}circle")]
    assert [float(one["cy"]) for one in circles] == [BOTTOM, TOP] and float(circles[0]["cx"]) < float(circles[1]["cx"])
    assert [one["class"].split()[0] for one in circles] == ["open", "f0"]
    assert "SVI" in [one.text for one in root.iter("{http://www.w3.org/2000/svg}text")]


def test_every_method_has_a_colour():
    assert {*COLOURS} == {*ENTRANTS} and len({*COLOURS.values()}) == len(ENTRANTS)


def test_the_figure_of_the_docs_is_that_of_the_measured_figures():
    measured = json.loads((ROOT / "docs/measured/dimension.json").read_text(encoding="utf-8"))
    assert (ROOT / "assets/dimension.svg").read_text(encoding="utf-8") == drawn(measured["figures"])
