import numpy as np
import pytest

from pmdviz.experiments.base import Chart, Ellipses, Group, HeatMap, Histogram, Series
from pmdviz.scenes import chart_columns as charts
from pmdviz.scenes import style
from pmdviz.scenes.chart_columns import (
    EDGE,
    MANY,
    NUMBER,
    axis,
    chart_columns,
    chart_legend,
    colour_numbers,
    level_columns,
    placed,
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


def boxes(columns):
    """Every triangle's corners, in shares of the axes."""
    for k in range(len(columns.legs["xs"])):
        yield columns.x.share(columns.legs["xs"][k]), columns.y.share(columns.legs["ys"][k])


@looped("measured", [-1.0, -0.5, 0.0, 0.5, 2.0])
@looped("slopes", [(-0.5,), (-0.5, -0.25, -1.0), (1.0,), (0.5, 2.0, -0.5), (-8.0, 8.0)])
def test_slopes_are_right_and_overlap_neither_lines_nor_one_another(measured, slopes):
    crowd = [power_law(measured, factor, str(factor)) for factor in (0.5, 1.0, 4.0)]
    columns = chart_columns(chart(*crowd, slopes=[(f"slope {slope}", slope) for slope in slopes]))
    assert len(columns.slopes) == len(slopes)
    for drawn, slope in zip(columns.slopes, slopes, strict=True):
        assert np.diff(np.log(drawn["y"]))[0] / np.diff(np.log(drawn["x"]))[0] == pytest.approx(slope)
        assert within(columns, drawn["x"], drawn["y"])
    areas = [(u.min(), u.max(), v.min(), v.max()) for u, v in boxes(columns)]
    for left, right, bottom, top in areas:
        for lines in columns.series:
            for name in ("low", "high"):
                at = np.linspace(0, 1, 400)
                u = np.interp(at, np.linspace(0, 1, 7), columns.x.share(lines.band["x"]))
                v = np.interp(at, np.linspace(0, 1, 7), columns.y.share(lines.band[name]))
                assert not ((u > left) & (u < right) & (v > bottom) & (v < top)).any()
    if len(areas) == 2:
        (l0, r0, b0, t0), (l1, r1, b1, t1) = areas
        assert r0 <= l1 or r1 <= l0 or t0 <= b1 or t1 <= b0


def test_a_full_chart_gets_room_below_and_long_lines_have_no_points():
    everywhere = np.random.default_rng(0).uniform(size=(5000, 2))
    (block,), room = placed([("s", -0.5)], (1.0, 1.0), everywhere)
    assert 0.05 < room < 0.5 and block.leg[1].max() <= room - EDGE + 1e-9
    assert placed([("s", -0.5)], (1.0, 1.0), np.empty((0, 2)))[1] == 0
    y = axis([np.array([0.01, 1.0])], log=True)
    found = level_columns([("upper", 0.105), ("far", 0.5), ("lower", 0.1)], y)
    assert found["text"] == ["lower", "upper", "far"] and found["below"] == [True, False, False]
    assert level_columns([], y)["below"] == []
    t = np.arange(1.0, 3 * MANY)
    one = chart(Series("fall", t, 1 / t), Series("exact", t, 1 / t, look="dashes"), slopes=[("rate", -1.0)])
    assert not chart_columns(one).series[0].marked
    assert [(entry.words, entry.sign) for entry in chart_legend(one, {})] == [
        ("fall", "line"), ("exact", "dashes"), ("rate", "slope")]  # fmt: skip
    crowd = chart(*[Series(str(k), t, t) for k in range(16)])
    assert len({(entry.colour % 8, entry.dash) for entry in chart_legend(crowd, {})}) == 16


def test_colours_are_alike_on_both_sides_of_zero_and_bars_lie_within_the_axes():
    made = HeatMap(np.array([[0.5, -2.0], [np.nan, 1.0]]), "j", "i", "correlation")
    assert charts.strongest(made) == 2 and "from -2.00 to 2.00" in charts.heat_legend(made)[0].words
    for nothing in (np.zeros((2, 2)), np.full((1, 1), np.nan)):
        assert charts.strongest(made._replace(values=nothing)) == 1
    palette = style.diverging("#ffffff", "#0000ff", "#ff0000")
    assert (palette[0], palette[len(palette) // 2], palette[-1]) == ("#0000ff", "#ffffff", "#ff0000")
    assert len(set(palette)) == len(palette) % 2 * len(palette)
    made = Histogram(np.array([0.0, 1, 2]), np.array([3, 5]), [("observed", 4.0), ("unknown", np.nan)], "x", "runs")
    (left, right), (bottom, top) = charts.histogram_spans(made)
    assert left < 0 and right > 4 and bottom == 0 and top > 5
    assert charts.bars(made)["left"].tolist() == [0, 1] and charts.bars(made)["top"].tolist() == [3, 5]
    assert [len(mark["x"]) for mark in charts.marks(made)] == [2, 0]
    assert [entry.words for entry in charts.histogram_legend(made)] == ["observed", "unknown"]
    empty = Histogram(np.array([0.0, 0.0]), np.array([0]), [], "x", "y")
    assert all(low < high for low, high in charts.histogram_spans(empty))


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


def test_ellipses_have_gaps_between_them_and_both_axes_are_equally_long():
    means, covs = np.zeros((3, 2)), np.array([np.eye(2)] * 3)
    covs[1, 0, 0] = np.nan
    line = charts.outlines(means, covs)
    assert np.isnan(line["x"]).sum() == 2
    flat = charts.outlines(np.zeros(2), np.array([[1.0, 1.0], [1.0, 1.0]]))  # one eigenvalue is 0, or just below
    assert np.isfinite(flat["x"][:-1]).all()
    assert len(charts.outlines(np.empty((0, 2)), np.empty((0, 2, 2)))["x"]) == 0
    points = {"x": np.array([0.0, 10.0]), "y": np.array([5.0, 6.0])}
    (x0, x1), (y0, y1) = charts.square([points, {"x": np.array([np.nan]), "y": np.array([np.nan])}])
    assert x1 - x0 == pytest.approx(y1 - y0) and x0 < 0 and x1 > 10 and (y0 + y1) / 2 == pytest.approx(5.5)
    many = Ellipses(
        [Group("a", np.zeros((1, 2)), np.eye(2)[None], True)], np.zeros((3 * charts.MOST_POINTS, 2)), "x", "y"
    )
    assert len(charts.ellipse_points(many)["x"]) == charts.MOST_POINTS
    assert [entry.sign for entry in charts.ellipse_legend(many, {})] == ["bold", "dots"]


def test_a_name_keeps_its_number_and_no_two_of_a_picture_share_a_colour():
    known = colour_numbers(["a", "b", "c"], {})
    assert known == {"a": 0, "b": 1, "c": 2}
    assert colour_numbers(["machines", "c"], known) == {"machines": 3, "c": 2}
    full = {str(k): k for k in range(NUMBER)}
    found = colour_numbers([*"3xyz", "0"], full)
    assert found["3"] == 3 and found["0"] == 0 and len({number % NUMBER for number in found.values()}) == 5
    assert len(set(colour_numbers([*"abcdefghijklmnop"], {}).values())) == 16
