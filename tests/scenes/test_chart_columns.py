import numpy as np
import pytest

from pmdviz.experiments.base import Chart, Series
from pmdviz.scenes.chart_columns import EDGE, MANY, axis, chart_columns, chart_legend, level_columns, log_ticks, placed
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


@looped("low", [1e-9, 0.0203, 1, 700])
@looped("factor", [1.02, 1.3, 3, 20, 400, 1e5, 1e11])
def test_a_log_axis_has_some_round_ticks(low, factor):
    found = log_ticks(low, low * factor)
    assert 2 <= len(found) <= 13 and all(low <= tick <= low * factor for tick in found)
    assert found == sorted(found) and all(float(f"{tick:.2e}") == pytest.approx(tick, rel=1e-9) for tick in found)


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
