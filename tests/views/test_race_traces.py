import numpy as np
import pytest
from bokeh.models import VArea

from pmdviz.metrics import METRICS
from pmdviz.scenes import style
from pmdviz.scenes.race_columns import CLOCKS
from pmdviz.views.race_traces import RaceTraces


def areas(panel):
    return [renderer for renderer in panel.figure.renderers if isinstance(renderer.glyph, VArea)]


def test_bands_are_made_when_there_are_some():
    """Every model of a page is built, walked through and sent while all visitors of a server wait."""
    traces = RaceTraces([METRICS["tv"], METRICS["kl_forward"]])
    models = set().union(*(panel.figure.references() for panel in traces.panels.values()))
    assert len(models) < 260 and not any(areas(panel) for panel in traces.panels.values())
    x = np.linspace(1.0, 100.0, 20)
    history = {name: x for name in CLOCKS} | {name: x / 200 for name in ("tv", "kl_forward")}
    traces.show_bands([[history, history]] * 3)
    traces.set_theme(dark=True)
    for panel in traces.panels.values():
        assert len(panel.bands[2].data["x"]) > 10
        assert [area.glyph.fill_color for area in areas(panel)] == list(style.entrant_colours(True)[:3])
        assert {area.level for area in areas(panel)} == {"underlay"}
    traces.show_bands([])
    assert not len(traces.panels["first"].bands[0].data["x"])


def test_other_metrics_have_figures_of_their_own():
    """Axes of another kind and other words; the sources stay those that the page sends."""
    traces = RaceTraces([METRICS["tv"], METRICS["kl_forward"]])
    sources, before = [*traces.sources], traces.panels["second"]
    assert not traces.measure([METRICS["tv"], METRICS["kl_forward"]]) and traces.panels["second"] is before
    assert traces.measure([METRICS["mean_error"], METRICS["log_loss"]]) and traces.sources == sources
    labels = [panel.figure.yaxis.axis_label for panel in traces.panels.values()]
    assert labels == ["error of the mean (posterior sds)", "log loss (nats a row)"]
    assert [type(panel.figure.y_scale).__name__ for panel in traces.panels.values()] == ["LogScale", "LinearScale"]
    row = {name: np.array([0.0, 50.0]) for name in CLOCKS} | {"mean_error": [2.0, 0.5], "log_loss": [0.7, 0.4]}
    traces.show([row], {"mean_error": None, "log_loss": None}, 100)
    assert traces.sources[0].data["second"].tolist() == pytest.approx([0.7, 0.4])
    assert traces.panels["second"].figure.y_range.start <= 0.4 < 0.7 <= traces.panels["second"].figure.y_range.end
    assert traces.measure([METRICS["ksd"]]) and [*traces.panels] == ["first"]
