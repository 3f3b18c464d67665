"""The legend that switches layers: other words and what a browser tells back leave it as it was."""

from pmdviz.lab.panels.screen import GHOST, LayerSwitches
from pmdviz.scenes.stage import LAYERS


def switches():
    heard = []
    made = LayerSwitches(heard.append)
    made.name({"exact": "exact posterior", "particles": "particles"})
    return made, heard


def test_a_press_is_heard_and_neither_names_nor_labels_that_a_browser_tells_back_hide_anything():
    made, heard = switches()
    made.boxes["particles"].value = []
    assert heard[-1] == [name for name in (*LAYERS, GHOST) if name != "particles"]
    made, _ = switches()
    made.boxes["exact"].value = []
    made.name({"exact": "exact mean", "particles": "draws"})
    assert made.boxes["particles"].options == ["draws"] and made.boxes["exact"].options == ["exact mean"]
    assert "particles" in made.seen and "exact" not in made.seen
    made.name({"particles": "draws"})
    assert not made.boxes["exact"].visible and "exact" not in made.seen
    made, _ = switches()
    made.name({"exact": "exact posterior", "particles": "draws"})
    made.boxes["particles"]._process_events({"labels": ["draws"], "active": [0]})
    assert made.seen == [*LAYERS, GHOST]
