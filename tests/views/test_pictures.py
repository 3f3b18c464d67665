import numpy as np
import pytest

from pmdviz.experiments.base import Chart, Ellipses, Group, HeatMap, Histogram, Series
from pmdviz.scenes import style
from pmdviz.views import PicturesView
from tests.support.tables import looped

X = np.array([1.0, 10, 100])


def chart(number=2, title="Errors", **rest):
    series = [Series(f"series {k}", X, (k + 1) / X, 0.5 / X, (k + 2) / X) for k in range(number)]
    return Chart(
        series, "m", "error", slopes=[("Theorem: slope -1", -1.0)], levels=[("floor", 0.01)], title=title, **rest
    )


def heat_map():
    return HeatMap(np.array([[0.5, -2.0, 0.0], [1.0, 0.0, 0.0]]), "j", "i", "correlation", title="Matrix")


def histogram():
    return Histogram(np.array([0.0, 1, 2]), np.array([3, 5]), [("observed", 1.5)], "statistic", "replicates")


def ellipses(bold=True):
    groups = [
        Group("parts", np.zeros((2, 2)), np.array([np.eye(2)] * 2)),
        Group("all", np.zeros((1, 2)), np.eye(2)[None], bold),
    ]
    return Ellipses(groups, np.zeros((5, 2)), "first", "second")


ALL = chart(), heat_map(), histogram(), ellipses()


@pytest.fixture
def view():
    made = PicturesView()
    made.show(ALL)
    return made


def test_each_picture_is_drawn_under_its_words(view):
    errors, matrix, counts, plane = ({name: each.sources[name].data for name in each.drawn} for each in view.views)
    assert errors["line-1"]["y"].tolist() == [2, 0.2, 0.02] and len(errors["slope-0"]["x"]) == 2
    assert errors["words above"]["text"] == ["floor"]
    assert view.views[0].hovers[0].tooltips[0] == ("", "series 0")
    assert matrix["image"]["image"][0].tolist() == [[0.5, -2, 0], [1, 0, 0]]
    mapper, rows = view.views[1].drawn["image"].renderer.glyph.color_mapper, view.views[1].figure.y_range
    assert mapper.low == -2 and (rows.start, rows.end) == (1.5, -0.5)  # the first row is at the top
    assert view.views[1].figure.yaxis[0].ticker.ticks == [0, 1], "there are no half rows"
    assert counts["bars"]["top"].tolist() == [3, 5] and counts["mark-0"]["x"] == [1.5, 1.5]
    groups = [view.views[3].drawn[f"group-{k}"].renderer.glyph for k in range(2)]
    assert [one.line_width for one in groups] == [1.2, 3.0]
    x, y = view.views[3].figure.x_range, view.views[3].figure.y_range
    assert x.end - x.start == pytest.approx(y.end - y.start)
    assert (
        "Errors" in view.heads[0].text
        and "Theorem: slope -1" in view.heads[0].text
        and "observed" in view.heads[2].text
    )
    for one, picture in zip(view.views, ALL, strict=True):
        assert one.figure.xaxis[0].axis_label == picture.x_label and one.figure.yaxis[0].axis_label == picture.y_label


@looped("dark", [False, True])
def test_colours_are_those_of_the_theme_and_differ(view, dark):
    view.set_theme(dark)
    view.show([chart(8), *ALL[1:]])  # made after the theme was put on
    colours = style.entrant_colours(dark)
    lines = [view.views[0].drawn[f"line-{k}"].renderer.glyph for k in range(8)]
    assert {line.line_color for line in lines} == set(colours)
    assert all(one.figure.background_fill_color == style.theme(dark).paper for one in view.views)
    palette = view.views[1].drawn["image"].renderer.glyph.color_mapper.palette
    assert palette[len(palette) // 2] == style.theme(dark).paper
    assert colours[0] in view.heads[0].text
    assert view.views[3].figure.min_border_left + view.views[3].figure.min_border_right == (
        view.views[3].figure.min_border_bottom + view.views[3].figure.min_border_top
    )
