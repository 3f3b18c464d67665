"""What the benches measure with: known errors of known densities, optima, exponents, and where a run is looked at."""

import json

import numpy as np
import pytest

from benchmarks import beyond_the_plane, claims_gp, claims_topics, dimension
from benchmarks.helpers.contest import Contest, Missing, Peer, rows_of
from benchmarks.helpers.regressions import errors, linear
from benchmarks.optima import Optimum, _above, gaussian_optima, mixture_optima, negative_elbo, nodes
from pmdviz.densities.density import KernelDensity
from pmdviz.targets import make_target


def gaussian(mean, covariance):
    return KernelDensity(mean[None], np.zeros(1), np.linalg.cholesky(covariance))


def test_the_exact_posterior_of_a_regression_has_no_errors():
    for d in (2, 7):
        made = linear(d, 0, num_data=50)
        for found in (
            errors(gaussian(made.mean, made.covariance), made),
            dimension.distances(made.mean, made.covariance, made),
        ):
            assert found["error_of_mean"] == 0 and found["sd_ratio"] == pytest.approx(1) and abs(found["kl"]) < 1e-9


def test_a_moved_and_stretched_density_has_the_errors_that_it_must_have():
    made, stretch = linear(3, 0, num_data=50), np.array([0.5, 1.0, 2.0])
    moved = made.mean + np.array([0.3, -0.4, 0.0]) * np.sqrt(np.diag(made.covariance))
    covariance = made.covariance * np.outer(stretch, stretch)
    found, drawn = dimension.distances(moved, covariance, made), errors(gaussian(moved, covariance), made)
    assert found["error_of_mean"] == pytest.approx(np.sqrt(0.25 / 3)) == pytest.approx(drawn["error_of_mean"])
    assert found["sd_ratio_least"] == pytest.approx(0.5) and found["sd_ratio_largest"] == pytest.approx(2)
    assert found["kl"] == pytest.approx(drawn["kl"], rel=0.1)
    shift, inverse = moved - made.mean, np.linalg.inv(covariance)
    kl = 0.5 * (np.trace(inverse @ made.covariance) + shift @ inverse @ shift - 3)  # the determinants are the same
    assert found["kl"] == pytest.approx(kl, rel=1e-9)


def test_runs_are_pooled_and_their_caveats_counted():
    runs = [{"kl": kl, "caveat": caveat} for kl, caveat in ((1.0, ""), (9.0, "so"), (2.0004, "so"))]
    assert dimension.pooled(runs) == {"runs": 3, "kl": [2.0, 1.0, 9.0], "caveats": 2}
    ends = [("so", "tv", 0.4), ("", "error_of_mean", 1.5), ("", "tv", 0.2), ("so", "tv", 0.1)]
    ends.append(("", "error_of_mean", 0.1))
    expected = {"failed": 2, "failed_with_caveat": 1, "well": 2, "well_with_caveat": 1}
    told, summed = beyond_the_plane.told, beyond_the_plane.summed
    assert told(ends) == expected
    both = {**expected, "failed": 3, "failed_with_caveat": 2, "rate_failed": 0.667, "rate_well": 0.5}
    assert summed([told(ends), told(ends[:1])]) == both
    assert summed([told(ends[:1])])["rate_well"] is None


def test_a_method_in_many_dimensions_visits_as_many_data_as_it_says():
    made = linear(2, 0)
    for name, visited in (("SVI", dimension.VISITED), ("one-pass SMC", made.target.num_data)):
        found = dimension.figures_of(dimension.ENTRANTS[name], made, 0)
        assert found["visited"] == visited and found["error_of_mean"] < 1 and found["caveat"] == "", name


def test_runs_of_gaussian_processes_and_topics_are_looked_at_where_they_should(monkeypatch):
    small = claims_gp.PROBLEMS["function"]._replace(options={"num_data": 256, "dim": 20}, steps=(1, 2))
    monkeypatch.setitem(claims_gp.PROBLEMS, "function", small)
    for name, visited in (("svi", [128, 256]), ("subset", [128, 128])):
        rows = claims_gp.measured(claims_gp.ENTRANTS[name], "function", {}, 0, 0)
        assert [row["budget"] for row in rows] == [128, 256] and [row["visited"] for row in rows] == visited
    bars = {"data": "bars", "num_topics": 4, "num_data": 200, "side": 3, "length": 20}
    rows = claims_topics.measured(claims_topics.ENTRANTS["pmd 1"], bars, {}, 3, 4)
    assert [(row["pass"], row["visited"]) for row in rows] == [(k, 200 * k) for k in (1, 2, 3, 4, 5)]
    assert rows[-1]["perplexity"] < rows[0]["perplexity"] < 9
    rows = claims_topics.measured(claims_topics.ENTRANTS["smc 1"], bars, {}, 3, 4)
    assert len({row["perplexity"] for row in rows}) == 1 and rows[-1]["visited"] == 200


# The optima that SVI and NPV are measured against.


def test_the_gradient_of_the_elbo_is_that_of_differences():
    target, (points, weights) = make_target("mixture", num_data=40, sigma_x=1.5), nodes()
    flat = np.array([0.4, -0.9, np.log(0.3), np.log(0.5), -0.2])
    _, gradient = negative_elbo(flat, target, points, weights)
    for k, step in enumerate(1e-5 * np.eye(5)):
        ahead, behind = (negative_elbo(flat + s, target, points, weights)[0] for s in (step, -step))
        assert gradient[k] == pytest.approx((ahead - behind) / 2e-5, rel=1e-5, abs=1e-5)


@pytest.mark.ci
def test_the_optimum_on_a_gaussian_is_the_posterior_and_the_best_climb_comes_first():
    target = make_target("gaussian", num_data=30)
    for optimum in gaussian_optima(target, 2):
        np.testing.assert_allclose(optimum.density.mean, target.exact.mean, atol=1e-5)
        np.testing.assert_allclose(optimum.density.cov, target.exact.cov, atol=1e-5)
        assert optimum.tv < 1e-3
    optima = mixture_optima(make_target("mixture", num_data=60, sigma_x=1.5), 2)
    assert optima[0].elbo >= optima[1].elbo and all(0 < optimum.tv < 1 for optimum in optima)


def test_runs_are_held_against_the_optimum_of_their_side():
    lower, upper = Optimum(2.0, None, 0.4, False), Optimum(1.0, None, 0.6, True)
    found = _above([[(0.41, False), (0.62, True)], [(0.4, False), (0.6, True)]], [[lower, upper]] * 2)
    assert found["tv"] == pytest.approx(0.5075, abs=1e-3)
    assert found["above_the_best_optimum"] == pytest.approx(0.1075, rel=0.01)
    assert found["above_the_optimum_of_its_mode"] == pytest.approx(0.0075, rel=0.01)
    assert found["largest_above_the_optimum_of_its_mode"] == pytest.approx(0.02, rel=0.01)


# Times: what a row says; how long anything takes is never judged.


def absent():
    raise ImportError("No module named 'absent'")


def test_a_row_for_each_peer_that_is_there_and_a_sentence_for_each_that_is_not():
    missing, peers = Missing(), (Peer("here", lambda: lambda: 3.0), Peer("not here", absent))
    contest = Contest("adding", "small", lambda: 1.0, 1000, peers=peers, error=lambda x: abs(x - 1.0), calls=4)
    (row,) = rows_of(contest, 1, missing)
    assert (row["name"], row["size"], row["peer"]) == ("adding", "small", "here")
    assert (row["accuracy"], row["peer_accuracy"]) == (0.0, 2.0)
    assert row["ratio"] == pytest.approx(row["peer_ms"] / row["ours_ms"], rel=0.01)
    assert missing.words == {"not here": "not here is left out: No module named 'absent'"}
    json.dumps(row, allow_nan=False)
