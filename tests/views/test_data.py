import pmdviz
from pmdviz.engine.session import Session
from pmdviz.scenes.data_columns import moment
from pmdviz.views import DataView
from tests.support.own import own_target


def test_what_stands_still_is_sent_once_and_what_is_not_known_is_not_drawn():
    session, view, changed = Session(pmdviz.Recipe(num_particles=100)), DataView(), []
    view.show(moment(session.advance(1)))
    view.set_theme(dark=True)
    words = [item.label.value for item in view.legend.items]
    assert words[:2] == ["data", "batch of this step"] and words[2].startswith("predicted: exact")
    moving = {view.sources[name] for name in ("batch", "batch dots", "approximate")}
    assert not moving & {renderer.data_source for item in view.legend.items for renderer in item.renderers}
    over = [renderer for renderer in view.figure.renderers if renderer.data_source in moving]
    assert {renderer.level for renderer in over} == {"overlay"} and len(over) == 3
    for model in view.figure.references() - moving:
        for name in model.properties():
            model.on_change(name, lambda attr, old, new: changed.append(attr))
    before = view.sources["batch"].data["top"]
    view.show(moment(session.advance(1)))
    assert not changed and (view.sources["batch"].data["top"] != before).any()
    target = own_target(log_likelihood=lambda t, x: -0.5 * ((x[None, :, 0] - t) ** 2).sum(1))
    view = DataView()
    view.show(moment(Session(pmdviz.Recipe(target, num_particles=50)).advance(1)))
    assert [item.label.value for item in view.legend.items] == ["data", "batch of this step"]
    assert not len(view.sources["approximate"].data["x"])
