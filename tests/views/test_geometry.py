import numpy as np

from pmdviz.lab.pages.geometry import GeometryPage
from pmdviz.scenes import style
from pmdviz.scenes.geometry import Geometry, GeometryKnobs


def test_axes_hold_every_setting_and_a_drag_is_told():
    views = GeometryPage().views
    for view in (views["density"], views["kl"]):
        spans = view.figure.x_range.end, view.figure.y_range.end
        for values in ({"peak": 0.95, "gamma": 1.0}, {"peak": 0.4, "steps": 40}):
            view.show(Geometry(GeometryKnobs.checked(values)))
            drawn = view.sources["exact" if "exact" in view.sources else "bound"].data
            assert np.nanmax(drawn["y"]) < view.figure.y_range.end
            assert (view.figure.x_range.end, view.figure.y_range.end) == spans
    view, told = views["triangle"], []
    view.set_theme(dark=True)
    line, dots = (view.drawn[name].renderer for name in ("mirror", "mirror_dots"))
    assert line.glyph.line_color == dots.glyph.fill_color == style.DARK.layers["approximate"]
    letters = [layer for layer in view.drawn.values() if layer.mark.kind == "words"]
    assert {letter.mark.columns["text"][0] for letter in letters} == {"A", "B", "C", "p", "q₀"}
    assert {letter.renderer.glyph.text_color for letter in letters} == {style.DARK.text}
    assert view.figure.min_border_left == 16  # the theme's own is for figures with axes
    view.dragged.on_change("data", lambda attr, old, new: told.append(new))
    view.dragged.data = {"x": [0.3], "y": [0.2]}
    assert told == [{"x": [0.3], "y": [0.2]}]
