import numpy as np
import pytest
from bokeh.models import VArea

from pmdviz.experiments.race import Race, RaceRecipe
from pmdviz.scenes import style
from pmdviz.scenes.columns import Tiling, placed
from pmdviz.scenes.race import Standing, cut, race_scene
from pmdviz.views import RaceTiles
from tests.support.tables import looped


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
    assert (
        x.tolist()[:3] == [3.0, 3.5, 4.0] and np.isnan(x[3]) and y.tolist()[:3] == [-1.0, -0.5, 0.0] and np.isnan(y[3])
    )
    assert cut("PMD, warm start", 20) == "PMD, warm start"
    assert cut("PMD, bandwidth rule: isotropic, bandwidth = 0.5", 26) == "PMD, bandwidt…dwidth = 0.5"


def scene(*methods):
    race = Race(RaceRecipe.checked(methods, budget=500))
    standings = [Standing(race, k) for k in range(len(methods))]
    for k, standing in enumerate(standings):
        race.sessions[k].advance(2)
        standing.take()
    return race_scene(race, [standing.tile() for standing in standings], None)


def test_each_particle_is_drawn_in_its_own_tile_and_drawing_twice_changes_nothing():
    made = scene("pmd", "svi", "gibbs")
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
    assert tuple(drawn[f"particles-{k}"].fill_color for k in range(len(own))) == own
    assert tuple(drawn[f"approximate-{k}"].line_color for k in range(len(own))) == own
    assert drawn["exact"].line_color == drawn["areas"].fill_color == theme.layers["floor"]
    grey = [colour for colour in own if len({colour[1:3], colour[3:5], colour[5:7]}) == 1]
    assert not grey and theme.layers["floor"] not in own


def areas(panel):
    return [renderer for renderer in panel.figure.renderers if isinstance(renderer.glyph, VArea)]
