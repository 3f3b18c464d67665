"""The map in docs/contributing/architecture.md: every path in it exists, and every folder of the package is in it."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "contributing" / "architecture.md").read_text(encoding="utf-8")


def test_the_paths_exist_and_every_folder_is_named():
    paths = {*re.findall(r"`(pmdviz/[\w/]+\.py)`", TEXT)}
    assert paths and [path for path in paths if not (ROOT / path).is_file()] == []
    named = {*re.findall(r"\b(\w+)/", re.search(r"```\n(.*?)```", TEXT, re.DOTALL)[1])}
    folders = {path.parent.name for path in (ROOT / "pmdviz").rglob("__init__.py")}
    assert folders <= named
