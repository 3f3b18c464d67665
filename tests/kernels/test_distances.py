import numpy as np
import pytest
from scipy.spatial.distance import pdist

from pmdviz.kernels import distances
from pmdviz.kernels.distances import median_distance


@pytest.mark.parametrize("dim", [1, 2, 3, 7])
@pytest.mark.parametrize("num", [2, 3, 4, 5, 60, 301])
def test_against_scipy(num, dim, rng):
    points = rng.normal(size=(num, dim))
    assert median_distance(points) == pytest.approx(np.median(pdist(points)), rel=1e-13)


@pytest.mark.parametrize("size", [1e-200, 1e-9, 1e9, 1e200])
def test_the_unit_does_not_matter(size, rng):
    points = rng.normal(size=(40, 2))
    assert median_distance(size * points) == pytest.approx(size * median_distance(points), rel=1e-12)


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


@pytest.mark.parametrize("leave_out", [-1, 3, 4])
def test_something_must_be_left(leave_out):
    with pytest.raises(ValueError, match="below the 3 pairs"):
        median_distance(np.arange(3.0)[:, None], leave_out)


def test_compiled_and_plain_python_agree(rng):
    points = rng.normal(size=(20, 3))
    np.testing.assert_allclose(
        distances._squared_distances(points), distances._squared_distances.py_func(points), rtol=1e-12
    )


@pytest.mark.parametrize("points", [np.zeros((1, 2)), np.zeros((0, 2)), np.zeros(3), np.array([[0.0], [np.nan]])])
def test_what_cannot_be_used_is_refused(points):
    with pytest.raises(ValueError, match="two points|shape|finite"):
        median_distance(points)
