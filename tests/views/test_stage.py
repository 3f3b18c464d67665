"""The stage, the tiles of a race and the pictures of experiments in Bokeh."""

import numpy as np
import pytest

import pmdviz
from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.experiments import Chart, Ellipses, Group, HeatMap, Histogram, Series
from pmdviz.export.films import RaceFilm
from pmdviz.export.options import RaceLook
from pmdviz.scenes import style
from pmdviz.scenes.columns import Tiling, placed
from pmdviz.scenes.race import cut
from pmdviz.scenes.stage import SCENES
from pmdviz.views import PicturesView, RaceTiles, StageView
from tests.support.tables import looped


@pytest.fixture
def session():
    return Session(Recipe("mixture", num_particles=200, batch_size=50))


def ranges(view):
    x, y = view.figure.x_range, view.figure.y_range
    return x.start, x.end, y.start, y.end


def test_drawing_twice_changes_nothing_and_ranges_belong_to_the_user(session):
    view = StageView(session.target)
    view.show(session.advance(1))
    view.figure.x_range.start = -1.23
    seen = ranges(view)
    data = {name: source.data for name, source in view.sources.items()}
    view.show(session.frame)
    assert view.sources["areas"].data is data.pop("areas")
    for name, source in ((name, view.sources[name]) for name in data):
        for column, array in source.data.items():
            assert np.array_equal(array, data[name][column], equal_nan=True)
    view.show(session.advance(5))
    assert ranges(view) == seen
    view.fit()
    assert ranges(view) != seen


def test_another_target_brings_its_ranges_and_axes_without_numbers_are_bare(session):
    view = StageView(session.target)
    view.show(session.frame)
    outlines = view.sources["areas"]
    before = len(outlines.data["xs"])
    shown = view.scene.columns(session.frame, view.pair)
    one = shown.areas["level"] == shown.areas["level"][0]
    view.draw(shown._replace(areas={name: column[one] for name, column in shown.areas.items()}))
    assert before > 1 and len(outlines.data["xs"]) == len(outlines.data["ys"]) == before  # BokehJS stops at fewer
    assert [np.isnan(row).all() for row in outlines.data["xs"]] == [False, *[True] * (before - 1)]
    view.draw(shown)
    other = Session(Recipe("bimodal1d", num_particles=100))
    view.look_at(other.target, view.scene, view.pair)
    view.show(other.frame)
    assert view.figure.y_range.start < 0 < view.figure.y_range.end
    assert view.figure.yaxis[0].axis_label.startswith("density")
    view = StageView(session.target)
    view.show(Session(Recipe("mixture", num_particles=6_000)).frame)
    assert view.legend.items[-1].label.value == "particles (5,000 of 6,000 drawn)"
    view = StageView(Session(Recipe("ising", "gibbs")).target, SCENES["lattice"])
    for bare in (True, False):
        assert {axis.major_label_text_alpha == 0.0 for axis in view.figure.axis} == {bare}
        assert {not grid.visible for grid in view.figure.grid} == {bare}
        view.look_at(session.target, SCENES["posterior"], (0, 1))


def luminance(colour):
    parts = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return linear @ [0.2126, 0.7152, 0.0722]


def contrast(a, b):
    high, low = sorted((luminance(a), luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@looped("dark", [False, True])
def test_contrast(dark):
    colours = style.theme(dark)
    for text in (colours.text, colours.muted):
        assert contrast(text, colours.paper) >= 4.5
    for name, colour in colours.layers.items():
        assert contrast(colour, colours.paper) >= 3, name


# The tiles of a race.


@looped("number", range(9))
@looped("columns", [2, 3])
def test_tiles_do_not_overlap_and_lie_in_the_ranges(number, columns):
    tiling = Tiling(number, columns)
    (x0, x1), (y0, y1) = tiling.ranges
    assert x1 - x0 == pytest.approx(tiling.size[0]) and y1 - y0 == pytest.approx(tiling.size[1])
    corners = np.array([tiling.corner(k) for k in range(number)]).reshape(-1, 2)
    assert (corners[:, 0] >= x0).all() and (corners[:, 0] + 1 <= x1).all()
    assert (corners[:, 1] >= y0).all() and (corners[:, 1] + 1 + tiling.head <= y1 + 1e-9).all()
    for k, one in enumerate(corners):
        for other in corners[:k]:
            assert abs(one[0] - other[0]) >= 1 or abs(one[1] - other[1]) >= 1 + tiling.head


def test_what_lies_outside_a_tile_is_not_drawn_in_the_next_one_and_long_titles_are_cut():
    x, y = placed(np.array([0.0, 5.0, 10.0, 11.0]), np.array([0.0, 1.0, 2.0, 1.0]), ((0, 10), (0, 2)), (3.0, -1.0))
    np.testing.assert_array_equal(x, [3.0, 3.5, 4.0, np.nan])
    np.testing.assert_array_equal(y, [-1.0, -0.5, 0.0, np.nan])
    assert cut("PMD, warm start", 20) == "PMD, warm start"
    assert cut("PMD, bandwidth rule: isotropic, bandwidth = 0.5", 26) == "PMD, bandwidt…dwidth = 0.5"


def test_each_particle_is_drawn_in_its_own_tile_and_drawing_twice_changes_nothing():
    made = RaceFilm(pmdviz.race(["pmd", "svi", "gibbs"], budget=200), RaceLook.defaults()).last_scene()
    view = RaceTiles()
    view.draw(made)
    assert view.tiling == Tiling(3, 3) and view.figure.styles["aspect-ratio"]
    drawn = [view.sources[f"particles-{k}"].data for k in range(3)]
    for k, dots in enumerate(drawn):
        assert (np.floor(dots["x"] / view.tiling.corner(1)[0]) == k).all()
        assert (dots["size"] <= 9).all() and (dots["size"] >= 1.2).all()
    assert 1_000 < len(drawn[0]["x"]) <= 1_333
    exact, areas = view.sources["exact"].data, view.sources["areas"].data
    assert np.isnan(exact["x"]).sum() >= 3 and len(areas["xs"]) == 3  # the regions of 50, 80 and 95 % of all tiles
    view.draw(made)
    assert view.sources["exact"].data is exact and view.sources["areas"].data is areas
    assert np.array_equal(view.sources["particles-0"].data["x"], drawn[0]["x"])
    view.draw(made._replace(tiles=made.tiles[:1]))
    assert [len(view.sources[f"approximate-{k}"].data["x"]) > 0 for k in range(3)] == [True, False, False]


@looped("dark", [False, True])
def test_colours_mean_methods_and_the_exact_posterior_is_neutral(dark):
    view = RaceTiles()
    view.set_theme(dark)
    own, theme = style.entrant_colours(dark), style.theme(dark)
    drawn = {key: layer.renderer.glyph for key, layer in view.drawn.items()}
    for k, colour in enumerate(own):
        assert drawn[f"particles-{k}"].fill_color == drawn[f"approximate-{k}"].line_color == colour
    assert drawn["exact"].line_color == drawn["areas"].fill_color == theme.layers["floor"]
    grey = [colour for colour in own if len({colour[1:3], colour[3:5], colour[5:7]}) == 1]
    assert not grey and theme.layers["floor"] not in own


# The pictures of experiments.


X = np.array([1.0, 10, 100])


def chart(number=2):
    series = [Series(f"series {k}", X, (k + 1) / X, 0.5 / X, (k + 2) / X) for k in range(number)]
    slopes, levels = [("Theorem: slope -1", -1.0)], [("floor", 0.01)]
    return Chart(series, "m", "error", slopes=slopes, levels=levels, title="Errors")


PARTS = Group("parts", np.zeros((2, 2)), np.array([np.eye(2)] * 2))
ALL = (
    chart(),
    HeatMap(np.array([[0.5, -2.0, 0.0], [1.0, 0.0, 0.0]]), "j", "i", "correlation", title="Matrix"),
    Histogram(np.array([0.0, 1, 2]), np.array([3, 5]), [("observed", 1.5)], "statistic", "replicates"),
    Ellipses([PARTS, Group("all", np.zeros((1, 2)), np.eye(2)[None], True)], np.zeros((5, 2)), "first", "second"),
)


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
    assert "Errors" in view.heads[0].text and "Theorem: slope -1" in view.heads[0].text
    assert "observed" in view.heads[2].text
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
