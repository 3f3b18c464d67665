"""The stage, tiles, traces and pictures in Bokeh, and that all renderers draw the same."""

from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.colors import to_hex

import pmdviz
from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.experiments import Chart, Ellipses, Group, HeatMap, Histogram, Series
from pmdviz.export.figure import Box, FigureLayout, PicturePanel
from pmdviz.export.films import RaceFilm
from pmdviz.export.options import Look, RaceLook, spelled_out
from pmdviz.pictures import nice, tick_words, ticks
from pmdviz.scenes import style
from pmdviz.scenes import trace_columns as columns
from pmdviz.scenes.columns import Tiling, placed
from pmdviz.scenes.data_columns import moment
from pmdviz.scenes.geometry import Geometry, GeometryKnobs, density_picture, kl_picture, triangle_picture
from pmdviz.scenes.race import cut, difference_of, difference_picture, race_traces_picture
from pmdviz.scenes.stage import SCENES, stage_picture
from pmdviz.scenes.trace_columns import GROUPS, step_marks, traces_axes
from pmdviz.scenes.trace_columns import traces_picture as run_traces
from pmdviz.views import PicturesView, RaceTiles, StageView, TracesView
from pmdviz.views.drawing import PictureFigure
from tests.support.tables import looped


@pytest.fixture
def session():
    return Session(Recipe("mixture", num_particles=200, batch_size=50))


def ranges(view):
    x, y = view.figure.x_range, view.figure.y_range
    return x.start, x.end, y.start, y.end


def draw(view, frame):
    view.name_layers(frame.method)
    view.draw(view.scene.columns(frame, view.pair))


def test_drawing_twice_changes_nothing_and_ranges_belong_to_the_user(session):
    view = StageView(session.target)
    draw(view, session.advance(1))
    view.figure.x_range.start = -1.23
    seen = ranges(view)
    data = {name: source.data for name, source in view.sources.items()}
    draw(view, session.frame)
    assert view.sources["areas"].data is data.pop("areas")
    for name, source in ((name, view.sources[name]) for name in data):
        for column, array in source.data.items():
            assert np.array_equal(array, data[name][column], equal_nan=True)
    draw(view, session.advance(5))
    assert ranges(view) == seen
    view.follow()
    assert ranges(view) != seen


def test_another_target_brings_its_ranges_and_axes_without_numbers_are_bare(session):
    view = StageView(session.target)
    draw(view, session.frame)
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
    draw(view, other.frame)
    assert view.figure.y_range.start < 0 < view.figure.y_range.end
    assert view.figure.yaxis[0].axis_label.startswith("density")
    view = StageView(session.target)
    draw(view, Session(Recipe("mixture", num_particles=6_000)).frame)
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


def test_each_picture_is_drawn_under_its_words():
    x, parts = np.array([1.0, 10, 100]), Group("parts", np.zeros((2, 2)), np.array([np.eye(2)] * 2))
    series = [Series(f"series {k}", x, (k + 1) / x, 0.5 / x, (k + 2) / x) for k in range(2)]
    slopes, levels = [("Theorem: slope -1", -1.0)], [("floor", 0.01)]
    view = PicturesView()
    view.set_theme(True)
    view.show([
        Chart(series, "m", "error", slopes=slopes, levels=levels, title="Errors"),
        HeatMap(np.array([[0.5, -2.0, 0.0], [1.0, 0.0, 0.0]]), "j", "i", "correlation", title="Matrix"),
        Histogram(np.array([0.0, 1, 2]), np.array([3, 5]), [("observed", 1.5)], "statistic", "replicates"),
        Ellipses([parts, Group("all", np.zeros((1, 2)), np.eye(2)[None], True)], np.zeros((5, 2)), "first", "second"),
    ])  # fmt: skip
    errors, matrix, counts, plane = ({name: each.sources[name].data for name in each.drawn} for each in view.views)
    assert errors["line-1"]["y"].tolist() == [2, 0.2, 0.02] and len(errors["slope-0"]["x"]) == 2
    assert errors["words above"]["text"] == ["floor"]
    assert matrix["image"]["image"][0].tolist() == [[0.5, -2, 0], [1, 0, 0]]
    mapper, rows = view.views[1].drawn["image"].renderer.glyph.color_mapper, view.views[1].figure.y_range
    assert mapper.low == -2 and (rows.start, rows.end) == (1.5, -0.5)  # the first row is at the top
    assert mapper.palette[len(mapper.palette) // 2] == style.theme(True).paper
    assert view.views[1].figure.yaxis[0].ticker.ticks == [0, 1], "there are no half rows"
    assert counts["bars"]["top"].tolist() == [3, 5] and counts["mark-0"]["x"] == [1.5, 1.5]
    x, y = view.views[3].figure.x_range, view.views[3].figure.y_range
    assert len(plane) >= 2 and x.end - x.start == pytest.approx(y.end - y.start)
    assert "Errors" in view.heads[0].text and "Theorem: slope -1" in view.heads[0].text
    assert "observed" in view.heads[2].text and style.entrant_colours(True)[0] in view.heads[0].text


NO_FLOORS = {"floor_tv": None, "floor_kl": None}


def history(n=50, **columns):
    base = {
        "iteration": np.arange(n),
        "visited": 100 * np.arange(n),
        "evaluations": 1000 * np.arange(n),
        "seconds": 0.01 * np.arange(n),
    }
    values = {"tv": np.geomspace(0.9, 0.09, n), "kl_forward": np.geomspace(5, 0.05, n), "ess": np.full(n, 800.0)}
    values["ancestors"] = np.full(n, 90.0)
    values |= {"kl_reverse": np.geomspace(9, 0.04, n), "cross_entropy": np.linspace(4, -1, n)}
    return base | values | columns


def test_traces_keep_their_ends_peaks_ranges_and_lines_without_values():
    kl = np.array([np.inf, 1e6, np.nan, 0.5, 0.0])
    view = TracesView("kl")
    view.show(history(5, kl_forward=kl, kl_reverse=np.full(5, np.inf)), NO_FLOORS)
    shown = view.sources["traces"].data["kl_forward"]
    span = view.figure.y_range
    assert span.end <= 100 and span.start > 0
    assert np.isfinite(shown[[0, 1, 3, 4]]).all() and np.isnan(shown[2])
    assert shown[0] == np.float32(span.end) and shown[4] == np.float32(span.start)
    assert view.corner.text == "reverse KL > 100"
    rng = np.random.default_rng(0)
    one, two = rng.random(100_000), rng.random(100_000)
    one[12_345], two[76_543], two[:50], two[500:900] = 9.0, -9.0, np.nan, np.nan
    rows = columns.extremes([one, two])
    assert 0.9 * columns.MAX_POINTS < len(rows) <= columns.MAX_POINTS and np.array_equal(rows, np.unique(rows))
    assert {0, 12_345, 76_543, 99_999} <= set(rows.tolist())
    for values in (one, two):
        for k in range(500, 99_000, 1_000):
            part, kept = values[k : k + 1_000], values[rows[(rows >= k - 250) & (rows < k + 1_250)]]
            assert np.nanmax(kept) >= np.nanmax(part) and np.nanmin(kept) <= np.nanmin(part)  # 200 rows a bucket
    assert list(columns.extremes([one[:7]])) == list(range(7))
    assert len(columns.extremes([np.full(5_000, np.nan)], 100)) <= 100
    view = TracesView()
    view.show(history(30_000), NO_FLOORS)
    assert all(len(column) <= columns.MAX_POINTS for column in view.sources["traces"].data.values())
    low, high = columns.value_range(columns.GROUPS["kl"], [np.array([0.9, 0.03])], [0.02])
    assert low <= 0.02 and high >= 0.9
    assert columns.value_range(columns.GROUPS["kl"], [np.array([1e9])])[1] == 100
    assert columns.value_range(columns.GROUPS["accuracy"], [np.array([0.1, 0.99])])[1] == 1
    low, high = columns.value_range(columns.GROUPS["cross_entropy"], [np.array([-1.0, 4.0])])
    assert low < -1 and high > 4
    assert columns.clamped(np.array([0.0, np.inf]), 0.1, 10).tolist() == [np.float32(0.1), 10.0]
    assert columns.clock_end("visited", 300, 20_000) == 20_400
    assert columns.clock_end("iteration", 130, 20_000) == 200


def test_a_run_that_has_ended_by_itself_has_the_whole_axis():
    """A ladder asks for a small part of a budget that longer ones fit into."""
    session = Session(Recipe(target="gaussian", method="ais", num_particles=10, num_temperatures=5, budget=20_000))
    session.advance(3)
    assert columns.budget_drawn(session.frame, 20_000) == 20_000
    session.advance(5)
    assert session.ended and columns.budget_drawn(session.frame, 20_000) == session.frame.spent < 1_000
    assert columns.budget_drawn(session.frame, None) is None
    view = TracesView()
    view.show(history(10), NO_FLOORS, budget=20_000)
    assert view.figure.x_range.end == 20_400
    view.figure.x_range.update(start=100, end=500)
    view.show(history(20), NO_FLOORS, budget=20_000)
    assert (view.figure.x_range.start, view.figure.x_range.end) == (100, 500)
    view.follow()
    assert view.figure.x_range.end == 20_400


STAGES = [
    ("mixture", "pmd", "posterior"),
    ("mixture", "svi", "posterior"),
    ("bimodal1d", "pmd", "posterior"),
    ("mixture", "pmd", "difference"),
    ("logistic", "pmd", "decision_lines"),
    ("ising", "gibbs", "lattice"),
]


def stages():
    for target, method, name in STAGES:
        frame = Session(Recipe(target, method)).advance(3)
        scene = SCENES[name]
        yield stage_picture(scene, frame.target, frame.method, (0, 1), scene.columns(frame, (0, 1)))


def traces():
    session = Session(Recipe("mixture", num_particles=100))
    marks = [mark for _ in range(20) for mark in step_marks(session.advance(1))]
    for group in ("tv", "kl"):
        floors = {"floor_tv": 0.05, "floor_kl": 0.02}
        axes = traces_axes(session.history.columns, GROUPS[group], "visited", floors)
        yield run_traces(session.history.columns, GROUPS[group], "visited", axes, floors, marks)
    yield moment(session.frame)


def races():
    made = pmdviz.race("pmd:num_particles=50,pmd:num_particles=100", "gaussian", budget=60)
    scene = RaceFilm(made, RaceLook.checked({"every": 20})).last_scene()
    rows, metric = [tile.trace for tile in scene.tiles], scene.recipe.shown[0]
    yield race_traces_picture(rows, metric, "visited", 0.1, 100)
    yield difference_picture(difference_of(scene), "visited", 100.0)


def points(mark, axis):
    name = mark.look.get(axis, axis)
    return np.asarray(mark.columns[name], float)


def test_ranges_ticks_marks_and_colours_are_the_pictures():
    setting = Geometry(GeometryKnobs.checked({"steps": 7}))
    geometries = [make(setting) for make in (triangle_picture, density_picture, kl_picture)]
    pictures = [*stages(), *traces(), *races(), *geometries]
    assert len(pictures) > 12 and {mark.kind for each in pictures for mark in each.marks.values()} >= {
        "line", "areas", "band", "bars", "dots", "signs", "segments", "image"}  # fmt: skip
    for picture, dark in product(pictures, (False, True)):
        table, look = style.colours(dark), Look.checked(spelled_out({"theme": "dark" if dark else "light"}))
        page, paper = PictureFigure("figure", picture), FigureLayout(look)
        page.set_theme(dark)
        film = PicturePanel(paper, Box(0, 0, 500, 500), lambda scene: scene, picture)
        film.show(picture)
        for name, axis in (("x", picture.x), ("y", picture.y)):
            span, theirs = getattr(page.figure, f"{name}_range"), getattr(film.axes, f"{name}axis")
            assert (span.start, span.end) == getattr(film.axes, f"get_{name}lim")() == (axis.low, axis.high)
            mine = (page.figure.xaxis if name == "x" else page.figure.yaxis)[0]
            assert mine.ticker.ticks == axis.ticks and set(theirs.get_majorticklocs()) <= set(axis.ticks)
            assert mine.major_label_overrides == {tick: tick_words(tick) for tick in axis.ticks}
            assert mine.axis_label == axis.label
        drawn = {key: mark for key, mark in picture.marks.items() if mark.columns}
        assert page.drawn.keys() == film.artists.keys() == drawn.keys()
        for key, mark in drawn.items():
            alike(SimpleNamespace(page=page, film=film, table=table), key, mark)


def alike(made, key, mark):
    """The marks of both renderers are at the places and of the colour that the picture says."""
    data, glyph = made.page.sources[mark.look.get("shared", key)].data, made.page.drawn[key].renderer.glyph
    artist = made.film.artists[key]
    if mark.kind == "line":
        for axis, theirs in zip("xy", artist.get_data(), strict=True):
            np.testing.assert_array_equal(np.asarray(theirs, float), points(mark, axis))
            np.testing.assert_array_equal(np.asarray(data[getattr(glyph, axis)], float), points(mark, axis))
        assert to_hex(artist.get_color()) == glyph.line_color.lower() == made.table[mark.role].lower()
    elif mark.kind == "dots":
        for axis, theirs in zip("xy", artist.get_offsets().T, strict=True):
            np.testing.assert_array_equal(np.ma.getdata(theirs), points(mark, axis))
            np.testing.assert_array_equal(np.asarray(data[axis], float), points(mark, axis))
        assert glyph.fill_color.lower() == made.table[mark.role].lower()
        if len(points(mark, "x")):
            assert to_hex(artist.get_facecolor()[0]) == glyph.fill_color.lower()
    elif mark.kind == "segments":
        assert len(artist.get_segments()) == len(data["x0"]) == len(mark.columns["x0"])
    elif mark.kind == "image":
        np.testing.assert_array_equal(data["image"][0], mark.columns["values"])
        assert artist.get_extent() == [*mark.columns["x"], *mark.columns["y"]]
    elif mark.kind in ("areas", "band", "bars"):
        assert glyph.fill_color.lower() == made.table[mark.role].lower()
        assert {to_hex(patch.get_facecolor()) for patch in artist} == {glyph.fill_color.lower()}
        assert {patch.get_alpha() for patch in artist} == {glyph.fill_alpha}
    elif mark.kind == "words":
        assert [part.get_text() for part in artist] == list(data["text"]) == list(mark.columns["text"])


def test_ticks_are_round_and_inside_the_axis_and_their_numbers_have_no_exponents_of_a_computer():
    assert (nice(3), nice(3, up=False), nice(0.07), nice(1)) == (5, 2, 0.1, 1)
    np.testing.assert_allclose(ticks(-1.0, 2.5), [-1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 2.0, 2.5], atol=1e-12)
    np.testing.assert_allclose(ticks(0, 20_400), [0, 5000, 10_000, 15_000, 20_000])
    for low, high, found in [(0.05, 2, [0.05, 0.1, 0.2, 0.5, 1, 2]), (0.02, 100, [0.1, 1, 10, 100])]:
        np.testing.assert_allclose(ticks(low, high, log=True), found)
    for low, factor in product([1e-9, 0.0203, 1, 700], [1.02, 1.3, 3, 20, 400, 1e5, 1e11]):
        found = ticks(low, low * factor, log=True)
        assert 2 <= len(found) <= 13 and all(low <= tick <= low * factor for tick in found), (low, factor)
        assert found == sorted(found) and all(float(f"{tick:.2e}") == pytest.approx(tick, rel=1e-9) for tick in found)
    said = {0: "0", 1e-14: "0", 0.05: "0.05", -0.5: "−0.5", 12_000: "12,000", 1e-5: "10⁻⁵", 3e8: "3·10⁸"}
    assert {value: tick_words(value) for value in said} == said
