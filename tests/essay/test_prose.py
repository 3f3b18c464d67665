"""The essay's prose: every figure comes from a picture's rows, and what it says of the pictures is so."""

import re

import numpy as np

from pmdviz.essay.build import HERE, NUMBER, SPECIAL, number, told
from pmdviz.essay.pictures import PICTURES, kept

SOURCE = (HERE / "essay.md").read_text(encoding="utf-8")
PROSE, REFERENCES = SOURCE.split("## References")
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
        texts = number(*found.groups()).texts
        assert len(texts) == len(PICTURES[found[1]].values) and all(texts)
    for picture in PICTURES.values():
        assert len({*told(picture)}) == len(picture.values)
