"""k-hat: the shape of a Pareto tail is found again, and weights without a tail have none."""

import numpy as np
import pytest
from arviz_stats.base import array_stats

from pmdviz.densities.pareto import k_hat


@pytest.mark.parametrize("k", [0.3, 0.7, 1.0, 1.5])
def test_the_shape_of_a_pareto_tail_is_found_again(k):
    """Ten pseudo-observations at 1/2 are taken off again; the fit itself is off by some hundredths."""
    rng, found = np.random.default_rng(int(10 * k)), []
    for _ in range(200):
        tail = int(np.ceil(3 * np.sqrt(1500)))
        found.append((k_hat(np.log(rng.pareto(1 / k, 1500))) * (tail + 10) - 5) / tail)
    assert np.mean(found) == pytest.approx(k, abs=0.06)


def test_neither_order_nor_scale_nor_weights_of_zero_matter():
    values = np.random.default_rng(0).standard_normal(1500) ** 3
    expected = k_hat(values)
    assert k_hat(values[::-1] + 700.0) == pytest.approx(expected, rel=1e-9)
    values[np.argsort(values)[:500]] = -np.inf
    assert k_hat(values) == pytest.approx(expected, rel=1e-9)


def test_few_or_equal_weights():
    assert k_hat(np.zeros(1500)) == k_hat(np.zeros(3)) == -1.0
    few = np.full(1500, -np.inf)
    few[:3] = 0.0
    assert k_hat(few) == np.inf
    assert k_hat(np.linspace(-1e6, 0.0, 1500)) == np.inf, "one has all the weight"


@pytest.mark.parametrize("m, close", [(1600, 1e-9), (100, 1e-9), (1500, 0.05)])
def test_another_library_finds_the_same(m, close):
    """ArviZ takes 3 sqrt(m) weights rounded down for the tail, the paper rounded up: the same at 1600."""
    for seed in range(10):
        log_weights = 1.2 * np.random.default_rng(seed).standard_t(4, m)
        _, theirs = array_stats.psislw(-log_weights)
        assert k_hat(log_weights) == pytest.approx(float(theirs), abs=close)
