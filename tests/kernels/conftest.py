"""Numbers drawn alike in every test of the kernels."""

import numpy as np
import pytest


@pytest.fixture
def rng():
    return np.random.default_rng(20_261_121)
