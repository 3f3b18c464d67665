"""The essay as one file: formulas, what it may load, its links, and the command that writes it."""

import base64
import hashlib
import html
import re
import xml.etree.ElementTree as ElementTree
from urllib.parse import parse_qs, urlsplit

import pytest

from pmdviz.cli.main import main
from pmdviz.errors import InputError
from pmdviz.essay.build import mathml, page
from pmdviz.essay.pictures import PICTURES
from pmdviz.lab import links
from tests.support.tables import looped


@looped(
    "formula, made",
    [
        ("q_t^2", "<math><msubsup><mi>q</mi><mi>t</mi><mn>2</mn></msubsup></math>"),
        (r"\frac{1}{γ}", "<math><mfrac><mn>1</mn><mi>γ</mi></mfrac></math>"),
        ("a < b", "<math><mi>a</mi><mo>&lt;</mo><mi>b</mi></math>"),
    ],
)
def test_a_formula_is_mathml(formula, made):
    assert mathml(formula) == made
    assert mathml(formula, block=True) == made.replace("<math>", '<math display="block">')


@looped("formula, words",
    [("{a", "a formula cannot be read: .*closing"), ("a}", "Unmatched closing"), (r"\bogus", r"Unknown command.*bogus"),
     (r"\frac{1", "got .*frac")],
)  # fmt: skip
def test_a_formula_that_cannot_be_read_is_a_sentence(formula, words):
    with pytest.raises(InputError, match=words):
        mathml(formula)


def test_every_formula_and_picture_is_well_formed_and_it_loads_its_own_script_and_style_alone():
    text = page()
    found = re.findall(r"<math.*?</math>", text, re.DOTALL)
    assert text.count("<math") >= 40 and text.count("<canvas") == 2 * len(PICTURES)
    for one in found:
        ElementTree.fromstring(one)
    assert "$" not in re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL) and "\ue000" not in text
    text = page()
    policy = html.unescape(re.search(r'Content-Security-Policy" content="([^"]*)"', text)[1])
    texts = re.findall(r"<(?:style|script)>(.*?)</(?:style|script)>", text, re.DOTALL)
    hashes = {base64.b64encode(hashlib.sha256(one.encode()).digest()).decode() for one in texts}
    assert {*re.findall(r"'sha256-([^']+)'", policy)} == hashes and len(hashes) == 3
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


def test_the_command_writes_it_or_says_why_it_cannot(tmp_path, capsys):
    path = tmp_path / "essay.html"
    assert main(["essay", str(path)]) == 0
    assert path.read_text(encoding="utf-8") == page() and str(path) in capsys.readouterr().out
    for name, words in (("essay.pdf", "ends in .html"), ("no/essay.html", "no such folder")):
        assert main(["essay", str(tmp_path / name)]) == 2
        assert words in capsys.readouterr().err and [*tmp_path.iterdir()] == [path]
