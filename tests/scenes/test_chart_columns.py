import numpy as np
import pytest

from pmdviz.experiments import Chart, Series
from pmdviz.scenes import chart_columns as charts
from pmdviz.scenes.chart_columns import (
    axis,
    chart_columns,
)
from tests.support.tables import looped


def power_law(slope, factor=1.0, name="mean"):
    x = np.geomspace(10, 10_000, 7)
    y = factor * x**slope
    return Series(name, x, y, 0.7 * y, 1.3 * y)


def chart(*series, **rest):
    return Chart(series, "particles m", "error", **rest)


def within(columns, x, y):
    return (
        (columns.x.share(x) >= 0) & (columns.x.share(x) <= 1) & (columns.y.share(y) >= 0) & (columns.y.share(y) <= 1)
    ).all()


def test_points_and_bands_lie_within_the_axes_and_what_has_no_place_is_left_out():
    columns = chart_columns(chart(power_law(-0.5), power_law(-0.25, 3.0), levels=[("independent draws", 1e-3)]))
    for lines in columns.series:
        assert within(columns, lines.points["x"], lines.points["y"])
        assert within(columns, lines.band["x"], lines.band["low"]) and within(
            columns, lines.band["x"], lines.band["high"]
        )
    assert columns.y.span[0] < 1e-3
    series = Series("a", np.array([0.0, 1, 2, 3, 4]), np.array([1.0, np.nan, 0.0, -1.0, 5.0]))
    columns = chart_columns(chart(series))
    assert columns.series[0].points["x"].tolist() == [4] and columns.series[0].points["y"].tolist() == [5]
    straight = chart_columns(chart(series, x_log=False, y_log=False))
    assert straight.series[0].points["x"].tolist() == [0, 2, 3, 4]
    series = Series("a", np.array([1.0, 2]), np.array([1.0, 2]), np.array([-1.0, 0.5]), np.array([3.0, 4.0]))
    columns = chart_columns(chart(series))
    assert columns.series[0].band["low"][0] == pytest.approx(columns.y.span[0]) and 0 < columns.y.span[0] < 0.5
    assert chart_columns(chart(series, y_log=False)).series[0].band["low"].tolist() == [-1, 0.5]
    assert axis([np.array([0.1, 1.0])], log=False, from_zero=True).span[0] == 0
    assert axis([np.array([0.9, 1.0])], log=False, from_zero=True).span[0] > 0.85
    assert axis([np.array([-0.1, 1.0])], log=False, from_zero=True).span[0] < -0.1


@looped("values", [[], [np.nan], [0.0], [-2.0]])
def test_an_axis_without_usable_values_is_an_axis(values):
    for log in (False, True):
        made = axis([np.array(values)], log)
        assert made.span[0] < made.span[1] and np.isfinite(made.span).all()


def test_an_ellipse_holds_68_per_cent_of_its_gaussian():
    rng = np.random.default_rng(0)
    mean, root = np.array([1.0, -2.0]), np.array([[2.0, 0.0], [1.5, 0.5]])
    cov = root @ root.T
    line = charts.outlines(mean, cov)
    inside = np.column_stack([line["x"], line["y"]])[:-1] - mean
    radius2 = np.einsum("ni,ij,nj->n", inside, np.linalg.inv(cov), inside)
    np.testing.assert_allclose(radius2, radius2[0], rtol=1e-9)
    draws = rng.standard_normal((100_000, 2)) @ root.T
    share = (np.einsum("ni,ij,nj->n", draws, np.linalg.inv(cov), draws) < radius2[0]).mean()
    assert abs(share - charts.MASS) < 4 * np.sqrt(charts.MASS * (1 - charts.MASS) / 100_000)
