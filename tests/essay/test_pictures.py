"""The essay's pictures: the file holds what they compute, and the drawing is what they say."""

import math

import numpy as np
import pytest

from pmdviz.essay.build import DOT, drawn, pictures_of
from pmdviz.essay.pictures import PICTURES, computed, kept, rounded
from pmdviz.render.canvas import picture_json
from tests.support.tables import looped


def close(one, two):
    """Equal but for the last digits, which another processor rounds differently."""
    if isinstance(one, dict):
        return one.keys() == two.keys() and all(close(one[name], two[name]) for name in one)
    if isinstance(one, list):
        return len(one) == len(two) and all(map(close, one, two))
    if isinstance(one, float) and isinstance(two, (int, float)):
        return math.isclose(one, two, rel_tol=1e-3, abs_tol=1e-6)
    return one == two


@pytest.mark.parametrize("names", [["step"], pytest.param([*PICTURES], marks=pytest.mark.nightly)])
def test_a_picture_is_what_its_file_has(names):
    for name in names:
        assert close(computed(name), kept()[name]), name


@looped("name", PICTURES)
def test_everything_that_moves_has_one_state_for_each_value_and_begins_with_the_first(name):
    picture, one = PICTURES[name], kept()[name]
    assert 0 <= picture.start < len(picture.values)
    assert {len(row) for row in one["rows"].values()} == {len(picture.values)}
    layers = [layer for panel in one["panels"] for layer in panel["layers"]]
    assert {len(layer["columns"]) for layer in layers} == {1, len(picture.values)}
    assert all(len(columns["x"]) == len(columns["y"]) for layer in layers for columns in layer["columns"])
    for panel in one["panels"]:
        states, made = pictures_of(panel, len(picture.values)), drawn(panel, picture.start, len(picture.values))
        assert {len(states), len(made["changes"])} == {len(picture.values)} and made["changes"][picture.start] == {}
        assert all({*state.legend} <= {*state.marks} and state.about.startswith(state.title) for state in states)
        assert made["picture"] == picture_json(states[picture.start], lambda key, name, values, axis: values)
        moving = {key for change in made["changes"] for key in change.get("marks", ())}
        assert moving == {f"{k}" for k, layer in enumerate(panel["layers"]) if len(layer["columns"]) > 1}


def test_the_area_of_a_dot_is_its_weight_and_numbers_that_are_kept_have_five_digits():
    columns = {"x": [0.0, 1.0], "y": [0.0, 0.0], "size": [1.0, 4.0]}
    axis = {"label": "", "low": 0.0, "high": 1.0, "log": False}
    panel = {
        "title": "",
        "x": axis,
        "y": axis,
        "layers": [{"name": "", "colour": "exact", "columns": [columns], "kind": "dots"}],
    }
    (picture,) = pictures_of(panel, 1)
    assert picture.marks["0"].columns["size"] == [DOT, 2 * DOT]
    assert rounded({"a": np.array([1 / 3, np.nan, np.inf]), "b": True, "c": "x"}) == {
        "a": [0.33333, None, None], "b": True, "c": "x",
    }  # fmt: skip
