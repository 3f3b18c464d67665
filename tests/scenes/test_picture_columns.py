import numpy as np
import pytest

from pmdviz.experiments.base import Ellipses, Group, HeatMap, Histogram
from pmdviz.scenes import picture_columns as drawn
from pmdviz.scenes.chart_columns import NUMBER, colour_numbers


def test_colours_are_alike_on_both_sides_of_zero_and_bars_lie_within_the_axes():
    made = HeatMap(np.array([[0.5, -2.0], [np.nan, 1.0]]), "j", "i", "correlation")
    assert drawn.heat_columns(made).top == 2 and "from -2.00 to 2.00" in drawn.heat_legend(made)[0].words
    for nothing in (np.zeros((2, 2)), np.full((1, 1), np.nan)):
        assert drawn.heat_columns(made._replace(values=nothing)).top == 1
    palette = drawn.diverging("#ffffff", "#0000ff", "#ff0000")
    assert (palette[0], palette[len(palette) // 2], palette[-1]) == ("#0000ff", "#ffffff", "#ff0000")
    assert len(set(palette)) == len(palette) % 2 * len(palette)
    made = Histogram(np.array([0.0, 1, 2]), np.array([3, 5]), [("observed", 4.0), ("unknown", np.nan)], "x", "runs")
    (left, right), (bottom, top) = drawn.histogram_spans(made)
    assert left < 0 and right > 4 and bottom == 0 and top > 5
    assert drawn.bars(made)["left"].tolist() == [0, 1] and drawn.bars(made)["top"].tolist() == [3, 5]
    assert [len(mark["x"]) for mark in drawn.marks(made)] == [2, 0]
    assert [entry.words for entry in drawn.histogram_legend(made)] == ["observed", "unknown"]
    empty = Histogram(np.array([0.0, 0.0]), np.array([0]), [], "x", "y")
    assert all(low < high for low, high in drawn.histogram_spans(empty))


def test_an_ellipse_holds_68_per_cent_of_its_gaussian():
    rng = np.random.default_rng(0)
    mean, root = np.array([1.0, -2.0]), np.array([[2.0, 0.0], [1.5, 0.5]])
    cov = root @ root.T
    line = drawn.outlines(mean, cov)
    inside = np.column_stack([line["x"], line["y"]])[:-1] - mean
    radius2 = np.einsum("ni,ij,nj->n", inside, np.linalg.inv(cov), inside)
    np.testing.assert_allclose(radius2, radius2[0], rtol=1e-9)
    draws = rng.standard_normal((100_000, 2)) @ root.T
    share = (np.einsum("ni,ij,nj->n", draws, np.linalg.inv(cov), draws) < radius2[0]).mean()
    assert abs(share - drawn.MASS) < 4 * np.sqrt(drawn.MASS * (1 - drawn.MASS) / 100_000)


def test_ellipses_have_gaps_between_them_and_both_axes_are_equally_long():
    means, covs = np.zeros((3, 2)), np.array([np.eye(2)] * 3)
    covs[1, 0, 0] = np.nan
    line = drawn.outlines(means, covs)
    assert np.isnan(line["x"]).sum() == 2
    flat = drawn.outlines(np.zeros(2), np.array([[1.0, 1.0], [1.0, 1.0]]))  # one eigenvalue is 0, or just below
    assert np.isfinite(flat["x"][:-1]).all()
    assert len(drawn.outlines(np.empty((0, 2)), np.empty((0, 2, 2)))["x"]) == 0
    points = {"x": np.array([0.0, 10.0]), "y": np.array([5.0, 6.0])}
    (x0, x1), (y0, y1) = drawn.square([points, {"x": np.array([np.nan]), "y": np.array([np.nan])}])
    assert x1 - x0 == pytest.approx(y1 - y0) and x0 < 0 and x1 > 10 and (y0 + y1) / 2 == pytest.approx(5.5)
    many = Ellipses(
        [Group("a", np.zeros((1, 2)), np.eye(2)[None], True)], np.zeros((3 * drawn.MOST_POINTS, 2)), "x", "y"
    )
    assert len(drawn.ellipse_points(many)["x"]) == drawn.MOST_POINTS
    assert [entry.sign for entry in drawn.ellipse_legend(many, {})] == ["bold", "dots"]


def test_a_name_keeps_its_number_and_no_two_of_a_picture_share_a_colour():
    known = colour_numbers(["a", "b", "c"], {})
    assert known == {"a": 0, "b": 1, "c": 2}
    assert colour_numbers(["machines", "c"], known) == {"machines": 3, "c": 2}
    full = {str(k): k for k in range(NUMBER)}
    found = colour_numbers([*"3xyz", "0"], full)
    assert found["3"] == 3 and found["0"] == 0 and len({number % NUMBER for number in found.values()}) == 5
    assert len(set(colour_numbers([*"abcdefghijklmnop"], {}).values())) == 16
