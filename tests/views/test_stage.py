import numpy as np
import pytest

from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.scenes import style
from pmdviz.scenes.stage import SCENES
from pmdviz.views import StageView
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
    lattice = Session(Recipe("ising", "gibbs"))
    view = StageView(lattice.target, SCENES["lattice"])

    def bare():
        return [axis.major_label_text_alpha == 0.0 for axis in view.figure.axis] + [
            not g.visible for g in view.figure.grid
        ]

    assert all(bare())
    view.look_at(Session(Recipe("mixture")).target, SCENES["posterior"], (0, 1))
    assert not any(bare())


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
