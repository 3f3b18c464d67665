"""What the tests of the kernels share."""

import numpy as np
import pytest

from pmdviz.kernels import pool


@pytest.fixture
def rng():
    return np.random.default_rng(20_261_121)


@pytest.fixture
def threads():
    """A check that a call gives the same bits with 1, 2 and 3 threads."""

    def same_bits(call):
        results = []
        for number in (1, 2, 3):
            pool.set_threads(number)
            results.append(call())
        for other in results[1:]:
            np.testing.assert_array_equal(results[0], other)

    yield same_bits
    pool.set_threads(None)
