import numpy as np
import pytest
from bokeh.models import VArea

from pmdviz.experiments.race import Race, RaceRecipe
from pmdviz.metrics import METRICS
from pmdviz.scenes import style
from pmdviz.scenes.columns import Tiling, placed
from pmdviz.scenes.race import CLOCKS, Standing, band, cut, line_columns, race_scene, span
from pmdviz.scenes.trace_columns import clock_end
from pmdviz.views.stage import RaceTiles
from pmdviz.views.traces import RaceTraces
from tests.support.tables import looped

DRAWN = ("tv", "kl_forward")


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


def rows(values, step=100.0):
    n = len(values)
    columns = {clock: step * np.arange(n) for clock in CLOCKS}
    return {**columns, "tv": np.array(values), "kl_forward": 2 * np.array(values)}


def test_traces_share_sources_and_other_metrics_have_figures_of_their_own():
    traces = RaceTraces([METRICS[name] for name in DRAWN])
    traces.show([rows([0.9, 0.5, 0.2]), rows([0.9, np.nan, 0.4])], {"tv": 0.08, "kl_forward": None}, 1000)
    panel = traces.panels["first"]
    assert panel.figure.x_range.end == 1020
    np.testing.assert_allclose(panel.sources["fronts"].data["y"], [0.2, 0.4], rtol=1e-6)
    assert panel.sources["floor"].data["y"] == [0.08, 0.08] and "floor" not in traces.panels["second"].drawn
    assert np.isnan(traces.sources[1].data["first"][1]) and panel.middle.text == ""
    traces.choose("seconds")
    lines = [layer.renderer.glyph for key, layer in panel.drawn.items() if key in ("line-0", "line-1")]
    assert {line.x for line in lines} == {"seconds"} and "seconds" in panel.figure.xaxis[0].axis_label
    assert panel.figure.x_range.end == 500
    traces.show([rows([0.9])], {"tv": None, "kl_forward": None}, 1000)
    assert len(traces.sources[1].data["first"]) == 0 and "Press Play" in panel.middle.text
    # Axes of another kind and other words; the sources stay those that the page sends.
    traces = RaceTraces([METRICS["tv"], METRICS["kl_forward"]])
    sources, before = [*traces.sources], traces.panels["second"]
    assert not traces.measure([METRICS["tv"], METRICS["kl_forward"]]) and traces.panels["second"] is before
    assert traces.measure([METRICS["mean_error"], METRICS["log_loss"]]) and traces.sources == sources
    labels = [panel.figure.yaxis[0].axis_label for panel in traces.panels.values()]
    assert labels == ["error of the mean (posterior sds)", "log loss (nats per row)"]
    assert [type(panel.figure.y_scale).__name__ for panel in traces.panels.values()] == ["LogScale", "LinearScale"]
    row = {name: np.array([0.0, 50.0]) for name in CLOCKS} | {"mean_error": [2.0, 0.5], "log_loss": [0.7, 0.4]}
    traces.show([row], {"mean_error": None, "log_loss": None}, 100)
    assert traces.sources[0].data["second"].tolist() == pytest.approx([0.7, 0.4])
    assert traces.panels["second"].figure.y_range.start <= 0.4 < 0.7 <= traces.panels["second"].figure.y_range.end
    assert traces.measure([METRICS["ksd"]]) and [*traces.panels] == ["first"]


def test_a_band_is_the_quantiles_of_the_runs_and_is_made_when_there_are_some():
    runs = [rows([1.0, 1.0 - 0.1 * k, 0.5]) for k in range(5)] + [rows([1.0, 0.8])]
    found = band(runs, "visited", "tv")
    assert found["x"][0] == 0 and found["x"][-1] == 100
    last = [1.0, 0.9, 0.8, 0.7, 0.6, 0.8]
    assert found["middle"][-1] == pytest.approx(np.median(last))
    assert found["low"][-1] == pytest.approx(np.quantile(last, 0.1))
    assert len(band([], "visited", "tv")["x"]) == 0
    assert len(band([rows([np.nan, np.nan])], "visited", "tv")["x"]) == 0
    spans = {name: span(METRICS[name], [np.array([np.inf, 5.0, 1e-3])]) for name in DRAWN}
    columns = line_columns(rows([np.inf, 0.5, 0.0]), spans)
    assert columns["kl_forward"].tolist() == pytest.approx([100.0, 1.0, spans["kl_forward"][0]])
    assert spans["tv"][0] <= 1e-3 and spans["tv"][1] == 1.0
    assert clock_end("seconds", 1.4, 20_000) == 2.0 and clock_end("visited", 500.0, 20_000) == 20_400
    # Every model of a page is built, walked through and sent while all visitors of a server wait.
    traces = RaceTraces([METRICS["tv"], METRICS["kl_forward"]])
    models = set().union(*(panel.figure.references() for panel in traces.panels.values()))
    assert len(models) < 260 and not any(areas(panel) for panel in traces.panels.values())
    x = np.linspace(1.0, 100.0, 20)
    history = {name: x for name in CLOCKS} | {name: x / 200 for name in ("tv", "kl_forward")}
    traces.show([history] * 3, {"tv": None, "kl_forward": None}, 100)
    traces.show_bands([[history, history]] * 3)
    traces.set_theme(dark=True)
    for panel in traces.panels.values():
        made = areas(panel)
        assert len(panel.sources["band-2"].data["x"]) > 10
        assert [each.glyph.fill_color for each in made] == list(style.entrant_colours(True)[:3])
        assert {each.level for each in made} == {"underlay"}
    traces.show_bands([])
    assert not len(traces.panels["first"].sources["band-0"].data["x"])


def areas(panel):
    return [renderer for renderer in panel.figure.renderers if isinstance(renderer.glyph, VArea)]
