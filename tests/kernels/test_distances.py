import numpy as np
import pytest
from scipy.spatial.distance import pdist

from pmdviz.kernels.distances import median_distance
from tests.support.tables import looped


@looped("dim", [1, 2, 3, 7])
@looped("num", [2, 3, 4, 5, 60, 301])
def test_against_scipy(num, dim, rng):
    points = rng.normal(size=(num, dim))
    assert median_distance(points) == pytest.approx(np.median(pdist(points)), rel=1e-13)


def test_points_that_coincide_are_no_distance_apart():
    assert median_distance(np.zeros((5, 2))) == 0.0
    assert median_distance(np.array([[0.0], [0.0], [0.0], [0.0], [3.0]])) == 0.0
    assert median_distance(np.array([[0.0], [0.0], [3.0]])) == 3.0


@pytest.mark.parametrize("copies", [1, 2, 5])
def test_pairs_of_copies_can_be_left_out(copies, rng):
    points = rng.normal(size=(31, 2))
    found = median_distance(np.repeat(points, copies, axis=0), 31 * copies * (copies - 1) // 2)
    assert found == pytest.approx(np.median(pdist(points)), rel=1e-13)


def test_an_odd_number_of_distances_left_has_one_in_the_middle():
    assert median_distance(np.array([[0.0], [0.0], [1.0], [5.0]]), 1) == 4.0  # of 1, 1, 4, 5, 5
