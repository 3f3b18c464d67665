"""The essay as one file: formulas, what it may load, its links, and the command that writes it."""

import base64
import hashlib
import html
import math
import re
import xml.etree.ElementTree as ElementTree
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest

from pmdviz.cli.main import main
from pmdviz.essay.build import DOT, HERE, NUMBER, SPECIAL, drawn, mathml, number, page, pictures_of, told
from pmdviz.essay.pictures import PICTURES, computed, kept, rounded
from pmdviz.lab import links
from pmdviz.render import picture_json
from tests.support.tables import looped, refused


def test_the_command_writes_it_and_a_formula_that_cannot_be_read_is_a_sentence(tmp_path, capsys):
    for formula, words in (("{a", "a formula cannot be read: .*closing"), (r"\bogus", r"Unknown command.*bogus")):
        refused(words, mathml, formula)
    path = tmp_path / "essay.html"
    assert main(["essay", str(path)]) == 0
    assert path.read_text(encoding="utf-8") == page() and str(path) in capsys.readouterr().out
    for name, words in (("essay.pdf", "ends in .html"), ("no/essay.html", "no such folder")):
        assert main(["essay", str(tmp_path / name)]) == 2
        assert words in capsys.readouterr().err and [*tmp_path.iterdir()] == [path]


def test_every_formula_and_picture_is_well_formed_and_it_loads_its_own_script_and_style_alone():
    text = page()
    found = re.findall(r"<math.*?</math>", text, re.DOTALL)
    assert text.count("<math") >= 40 and text.count("<canvas") == 2 * len(PICTURES)
    for one in found:
        ElementTree.fromstring(one)
    assert "$" not in re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL) and "\ue000" not in text
    policy = html.unescape(re.search(r'Content-Security-Policy" content="([^"]*)"', text)[1])
    texts = re.findall(r"<(?:style|script)>(.*?)</(?:style|script)>", text, re.DOTALL)
    hashes = {base64.b64encode(hashlib.sha256(one.encode()).digest()).decode() for one in texts}
    assert {*re.findall(r"'sha256-([^']+)'", policy)} == hashes and len(hashes) == 2
    assert policy.startswith("default-src 'none'") and "unsafe" not in policy
    assert re.findall(r"\b(?:src|href|action)=|url\((?!#)|@import|\bstyle=|\son\w+=", text) == []


def test_only_the_served_page_opens_the_app_with_the_runs_of_its_pictures():
    found = re.findall(r'data-frame="([^"]*)".*?<a href="([^"]*)"', page(served=True))
    assert len(found) == len(PICTURES) and not re.search(r"<a[ >]|<button[^>]*data-frame|frame-src", page())
    for addresses, picture in zip(found, PICTURES.values(), strict=True):
        for address, embedded in zip(map(html.unescape, addresses), (True, False), strict=True):
            assert address.startswith("./?") and len(address) < links.LONGEST
            link = links.read(parse_qs(urlsplit(address).query))
            assert link.recipe.to_json() == picture.recipe().to_json() and link.iteration == 0
            assert link.embed is embedded


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
    layer = {"name": "", "colour": "exact", "columns": [columns], "kind": "dots"}
    panel = {"title": "", "x": axis, "y": axis, "layers": [layer]}
    (picture,) = pictures_of(panel, 1)
    assert picture.marks["0"].columns["size"] == [DOT, 2 * DOT]
    assert rounded({"a": np.array([1 / 3, np.nan, np.inf]), "b": True, "c": "x"}) == {
        "a": [0.33333, None, None], "b": True, "c": "x",
    }  # fmt: skip


SOURCE = (HERE / "essay.md").read_text(encoding="utf-8")
PROSE = SOURCE.split("## References")[0]
ROWS = {name: {row: np.array(values, float) for row, values in one["rows"].items()} for name, one in kept().items()}


def test_no_figure_is_written_by_hand_and_each_picture_says_what_its_slider_changes():
    assert re.findall(r"\d+", SPECIAL.sub("", PROSE)) == []
    assert re.findall(r"^\[\[(\w+)\]\]$", PROSE, re.M) == [*PICTURES]
    for name, picture in PICTURES.items():
        caption = PROSE.split(f"[[{name}]]\n")[1].split("\n\n")[0]
        used = {found[2] for found in NUMBER.finditer(caption) if found[1] == name}
        assert len([row for row in used if len({*ROWS[name][row]}) > 1]) >= 2, name
        assert NUMBER.search(picture.said)
    for found in NUMBER.finditer(SOURCE):
        texts = number(*found.groups())
        assert len(texts) == len(PICTURES[found[1]].values) and all(texts)
    for picture in PICTURES.values():
        assert len({*told(picture)}) == len(picture.values)
