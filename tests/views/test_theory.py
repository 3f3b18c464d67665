import numpy as np
import pytest

from pmdviz.experiments.sweep import fitted
from pmdviz.experiments.theory.theorems import Terms
from pmdviz.scenes.picture_columns import groups, line, triangle, usable
from pmdviz.views.theory import RecurrenceView, TheoryView


def test_means_bands_lines_and_triangles_are_those_of_the_law():
    x, y = usable([1, 2, 0, 4, 5], [0.1, np.nan, 0.1, 0.0, 0.5])
    assert (x.tolist(), y.tolist()) == ([1.0, 5.0], [0.1, 0.5])
    x = np.repeat([10.0, 40.0], 11)
    y = np.concatenate([np.arange(11.0), 5 + 0 * np.arange(11.0)])
    found = groups(x, y)
    assert found["x"].tolist() == [10, 40] and found["mean"].tolist() == [5, 5]
    assert (found["low"][0], found["high"][0]) == (1, 9)
    x, mean = np.array([64.0, 256.0, 1024.0]), np.array([0.4, 0.2, 0.1])
    for place in (0, 1):
        shape = triangle(x, mean, -0.5, place)
        (left, right, *_), (top, bottom, *_) = shape["xs"], shape["ys"]
        assert np.log(bottom / top) / np.log(right / left) == pytest.approx(-0.5)
        assert top < mean[0] and right < x[-1]
    assert triangle(x, mean, -0.5, 1)["ys"][0] < triangle(x, mean, -0.5, 0)["ys"][0]
    found = line(np.array([4.0, 100.0, 25.0]), np.log(2.0), -0.5)
    np.testing.assert_allclose(found["y"], [1.0, 0.2])


def drawn(view):
    rng = np.random.default_rng(0)
    x = np.repeat([64, 256, 1024], 5)
    y = 3 * x**-0.5 * np.exp(0.1 * rng.standard_normal(15))
    view.show(x, y, fitted(x, y), [("Theorem 5: slope -0.50 in m", -0.5)])
    return x, y


def test_show_draws_every_point_within_the_ranges_and_the_terms_of_the_recurrence():
    view = TheoryView()
    view.empty("nothing yet")
    assert view.middle.text == "nothing yet"
    x, y = drawn(view)
    assert view.middle.text == "" and len(view.points.data["x"]) == 15
    assert view.labels.data["text"] == ["Theorem 5: slope -0.50 in m"]
    lowest = min(y.min(), min(view.triangles.data["ys"][0]))
    assert view.figure.y_range.start < lowest and view.figure.y_range.end > y.max()
    assert view.figure.x_range.start < 64 and view.figure.x_range.end > 1024
    view.clear("again")
    assert view.points.data["x"] == [] and view.triangles.data["xs"] == [] and view.middle.text == "again"
    view = TheoryView()
    view.show([64, 64], [0.1, 0.2], None, [("bound", -0.5)])
    assert len(view.points.data["x"]) == 2 and view.triangles.data["xs"] == [] and len(view.fit.data["x"]) == 0
    view.show([], [], None, [])
    assert len(view.points.data["x"]) == 2
    view = RecurrenceView()
    view.show(
        [
            Terms(1, 0.5, 4.0, 2.0, 6.0, 4.5, 0.0, 6.5, 0.0, 6.5, 1.5, 1.6),
            Terms(2, 0.3, 1.5, 1.0, 6.0, 2.0, 0.1, 3.1, 0.2, 3.2, 0.9, 1.2),
        ]
    )
    assert view.source.data["measured"].tolist() == [1.5, 0.9]
    assert np.isnan(view.source.data["proved_inexactness"][0])  # nothing has no place on a log axis
    assert view.figure.y_range.start < 0.2 and view.figure.y_range.end > 6.5
