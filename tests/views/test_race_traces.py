"""What the Race page's traces hand to a browser before and after there are bands."""

import numpy as np
from bokeh.models import VArea

from pmdviz.scenes import style
from pmdviz.scenes.race_columns import CLOCKS, METRICS
from pmdviz.views.race_traces import RaceTraces


def areas(panel):
    return [renderer for renderer in panel.figure.renderers if isinstance(renderer.glyph, VArea)]


def test_bands_are_made_when_there_are_some():
    """Every model of a page is built, walked through and sent while all visitors of a server wait."""
    traces = RaceTraces()
    models = set().union(*(panel.figure.references() for panel in traces.panels.values()))
    assert len(models) < 260 and not any(areas(panel) for panel in traces.panels.values())
    x = np.linspace(1.0, 100.0, 20)
    history = {name: x for name in CLOCKS} | {name: x / 200 for name in METRICS}
    traces.show_bands([[history, history]] * 3)
    traces.set_theme(dark=True)
    for panel in traces.panels.values():
        assert len(panel.bands[2].data["x"]) > 10
        assert [area.glyph.fill_color for area in areas(panel)] == list(style.entrant_colours(True)[:3])
        assert {area.level for area in areas(panel)} == {"underlay"}
    traces.show_bands([])
    assert not len(traces.panels["tv"].bands[0].data["x"])
