"""The menus of the stage: a choice that waits for the page's lock is kept as it was made."""

from pmdviz.lab.controls import setup as picture
from pmdviz.methods import METHODS
from pmdviz.scenes.stage import SCENES
from pmdviz.targets import make_target


def test_a_choice_outlives_the_picture_of_an_earlier_one(monkeypatch):
    waiting, chosen = [], []
    monkeypatch.setattr(picture, "handed", lambda act: lambda event: waiting.append((act, event)))
    controls = picture.PictureControls(chosen.append)
    shown = make_target("logistic"), [METHODS["sgld"]], SCENES["posterior"]
    controls.show(*shown, (0, 1))
    waiting.clear()
    controls.pair[1].value = 2
    [(act, event)] = waiting
    controls.show(*shown, (1, 0))  # drawn before the choice's turn came
    act(event)
    assert [choice.pair for choice in chosen] == [(1, 2)]
