"""Split R-hat and bulk ESS against an independent implementation, and where they are to be had."""

import numpy as np
import pytest
from arviz_stats.base import array_stats

from pmdviz.densities.chains import bulk_ess, normal_scores, rhat
from pmdviz.methods import METHODS, usual_target
from pmdviz.metrics.diagnostics import LAGS, autocorrelation
from tests.support.engine import advanced
from tests.support.tables import looped


def autoregressive(rng, count, n, rho):
    noise, x = rng.normal(size=(count, n)), np.empty((count, n))
    x[:, 0] = noise[:, 0]
    for t in range(1, n):
        x[:, t] = rho * x[:, t - 1] + np.sqrt(1 - rho**2) * noise[:, t]
    return x


@looped("rho", [-0.6, 0.0, 0.5, 0.97])
@looped("count, n", [(1, 4), (1, 5), (1, 200), (1, 1001), (4, 7), (4, 150), (3, 1000)])
def test_both_are_those_of_another_implementation(rho, count, n):
    for seed in range(3):
        chains = autoregressive(np.random.default_rng([seed, count, n]), count, n, rho)
        chains[0] += 0.3 * seed * (count > 1)
        chains = np.round(chains, 3 - seed)  # the last with many ties
        if np.ptp(chains) == 0:
            continue
        assert bulk_ess(chains) == pytest.approx(float(array_stats.ess(chains, method="bulk")), rel=1e-9)
        if count > 1:
            assert rhat(chains) == pytest.approx(float(array_stats.rhat(chains)), rel=1e-9, nan_ok=True)


def test_one_chain_is_judged_by_its_halves():
    for seed in range(5):
        chain = autoregressive(np.random.default_rng(seed), 1, 200, 0.8)
        split = chain.reshape(2, 100)
        scores = [normal_scores(values) for values in (split, np.abs(split - np.median(split)))]
        expected = max(float(array_stats.rhat(each, method="identity")) for each in scores)
        assert rhat(chain) == pytest.approx(expected, rel=1e-12)


def test_chains_in_two_places_or_a_chain_on_its_way_have_a_large_rhat():
    rng = np.random.default_rng(0)
    assert rhat(np.zeros((2, 100))) is None is bulk_ess(np.zeros((2, 100))), "none that differ"
    assert rhat(rng.normal(size=(2, 3))) is None is bulk_ess(np.ones((2, 3))), "too few"
    same = rng.normal(size=(4, 500))
    assert rhat(same) < 1.01 < 1.5 < rhat(same + np.array([[0], [0], [0], [5]]))
    assert rhat(same * np.array([[1], [1], [1], [5]])) > 1.2, "the tail's, where the middles agree"
    assert rhat(same[:1]) < 1.02 < 1.2 < rhat(same[:1] + np.linspace(0, 3, 500))


@looped("method", [name for name, one in METHODS.items() if one.family == "chain" and usual_target(name) == "mixture"])
def test_a_frame_of_chains_has_both_and_the_worst_coordinate_counts(method):
    frame = advanced(method, 60, "banana" if method != "gibbs" else "gaussian", num_chains=3, burn_in=0.5).frame
    assert frame.chains.shape == (3, 30, 2)
    for name, of, worst in (("rhat", rhat, max), ("bulk_ess", bulk_ess, min)):
        assert frame.metrics[name] == worst(of(frame.chains[:, :, k]) for k in range(2))


def test_autocorrelations_are_those_of_another_implementation_and_of_an_autoregression():
    rng = np.random.default_rng(4)
    chain = autoregressive(rng, 1, 400, 0.8)
    for lag in LAGS:
        assert autocorrelation(chain, lag) == pytest.approx(float(array_stats.autocorr(chain[0])[lag]), rel=1e-9)
    long = autoregressive(rng, 4, 20_000, 0.8)
    assert autocorrelation(long, 1) == pytest.approx(0.8, abs=0.02)
    assert autocorrelation(long, 10) == pytest.approx(0.8**10, abs=0.05)
    assert autocorrelation(np.zeros((2, 100)), 1) is None is autocorrelation(chain[:, :40], 50)
