"""A picture looks alike in every renderer: ranges, ticks, marks, and colours by role."""

from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.colors import to_hex

import pmdviz
from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.export.figure import Box, FigureLayout, PicturePanel
from pmdviz.export.films import RaceFilm
from pmdviz.export.options import Look, RaceLook, spelled_out
from pmdviz.pictures import Picture, tick_words
from pmdviz.scenes import style
from pmdviz.scenes.data_columns import data_picture, moment
from pmdviz.scenes.geometry import Geometry, GeometryKnobs, density_picture, kl_picture, triangle_picture
from pmdviz.scenes.race import difference_of, difference_picture, race_traces_picture
from pmdviz.scenes.stage import SCENES, stage_picture
from pmdviz.scenes.trace_columns import GROUPS, step_marks, traces_axes
from pmdviz.scenes.trace_columns import traces_picture as run_traces
from pmdviz.views.drawing import PictureFigure
from tests.support.tables import looped

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
    yield data_picture(moment(session.frame))


def races():
    made = pmdviz.race("pmd:num_particles=50,pmd:num_particles=100", "gaussian", budget=60)
    scene = RaceFilm(made, RaceLook.checked({"every": 20})).last_scene()
    rows, metric = [tile.trace for tile in scene.tiles], scene.recipe.shown[0]
    yield race_traces_picture(rows, metric, "visited", 0.1, 100)
    yield difference_picture(difference_of(scene), "visited", 100.0)


def geometries():
    setting = Geometry(GeometryKnobs.checked({"steps": 7}))
    yield from (make(setting) for make in (triangle_picture, density_picture, kl_picture))


@pytest.fixture(scope="module")
def pictures() -> list[Picture]:
    """A dozen and more, of all kinds."""
    return [*stages(), *traces(), *races(), *geometries()]


def in_bokeh(picture, dark):
    made = PictureFigure("figure", picture)
    made.set_theme(dark)
    return made


def in_matplotlib(picture, dark):
    look = Look.checked(spelled_out({"theme": "dark" if dark else "light"}))
    paper = FigureLayout(look)
    panel = PicturePanel(paper, Box(0, 0, 500, 500), lambda scene: scene, picture)
    panel.show(picture)
    return panel


def points(mark, axis):
    name = mark.look.get(axis, axis)
    return np.asarray(mark.columns[name], float)


@looped("dark", [False, True])
def test_ranges_ticks_marks_and_colours_are_the_pictures(pictures, dark):
    assert len(pictures) > 12 and {mark.kind for each in pictures for mark in each.marks.values()} >= {
        "line", "areas", "band", "bars", "dots", "signs", "segments", "image"}  # fmt: skip
    table = style.colours(dark)
    for picture in pictures:
        page, film = in_bokeh(picture, dark), in_matplotlib(picture, dark)
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
