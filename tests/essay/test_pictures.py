"""The essay's pictures: the file holds what they compute, and the drawing is what they say."""

import math

import numpy as np
import pytest

from pmdviz.essay.build import DOT, HEIGHT, Scale, dots, draw, line, scales
from pmdviz.essay.pictures import PICTURES, computed, kept, rounded
from tests.support.tables import looped

UP = Scale(0.0, 1.0, 100.0, 0.0, False)


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
    picture = PICTURES[name]
    for panel in kept()[name]["panels"]:
        svg, paths = draw(panel, picture.start, "clip", 0)
        assert all(len(each) == len(picture.values) and f'd="{each[picture.start]}"' in svg for each in paths)
        assert svg.count("data-path") == len(paths) and "nan" not in svg and "inf" not in svg


def test_scales_lines_and_dots_are_drawn_as_their_numbers_say():
    across, up = scales(kept()["width"]["panels"][1])
    assert across.log and across(across.low) < across(0.05) < across(across.high)
    assert up(up.low) > up(up.high)
    assert line({"x": [0, 1, 0], "y": [0, None, 1]}, UP, UP) == "M100.0 100.0M100.0 0.0"
    log = Scale(0.1, 1.0, 100.0, 0.0, True)
    assert line({"x": [0, 1], "y": [0.0, 1.0]}, UP, log) == "M0.0 0.0"
    assert line({"x": [0], "y": [1e9]}, UP, UP) == f"M100.0 -{HEIGHT:.1f}"
    found = dots({"x": [0, 1, 0.5], "y": [0, 0, 0], "size": [1.0, 4.0, 1e-6]}, UP, UP)
    small, large = found
    assert found == {small: "M100.0 100.0h0", large: "M0.0 100.0h0"}
    assert 1.25**large / 1.25**small == pytest.approx(2, rel=0.25) and 1.25**small == pytest.approx(DOT, rel=0.13)
    assert rounded({"a": np.array([1 / 3, np.nan, np.inf]), "b": True, "c": "x"}) == {
        "a": [0.33333, None, None], "b": True, "c": "x",
    }  # fmt: skip
