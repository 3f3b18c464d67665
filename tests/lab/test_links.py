"""Links and recipe files: every recipe comes back the same; whatever else is opened gives one sentence."""

import base64
import json
import string
import zlib
from types import SimpleNamespace
from urllib.parse import parse_qsl, unquote

import numpy as np
import pytest
import segno
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pmdviz.engine.frame import Frame
from pmdviz.engine.recipe import FORMAT, MAX_BUDGET, Recipe, fold
from pmdviz.engine.session import Session
from pmdviz.errors import InputError
from pmdviz.lab import Lab
from pmdviz.lab.links import LONGEST, Link, Page, agreement, is_local, query, read
from pmdviz.lab.loop.frame_sender import Acknowledge
from pmdviz.lab.panels.commands import next_recipe
from pmdviz.lab.panels.sharing import NO_CODE, OPENING, LinkBuilder, RecipeFile, qr_code
from pmdviz.presets import PRESETS
from tests.support.engine import changes_of, recipes
from tests.support.tables import looped, refused


def given_in(text):
    """The arguments of a query, as a server hands them on."""
    return {name: [value] for name, value in parse_qsl(text[1:])}


@st.composite
def turned_recipes(draw):
    """A recipe with changes on the way."""
    recipe = draw(recipes())
    changes = []
    for _ in range(draw(st.integers(0, 5))):
        changes.append((draw(st.integers(1, 500)), draw(changes_of(recipe))))
        try:
            recipe.replaced(changes=changes)
        except InputError:
            changes.pop()
    return recipe.replaced(changes=changes)


@settings(max_examples=25, deadline=None)
@given(turned_recipes())
def test_a_recipe_comes_back_the_same_and_its_text_is_canonical(recipe):
    text = recipe.to_link()
    again = Recipe.from_link(text)
    assert again == recipe and again.to_link() == text
    assert set(text) <= set(string.ascii_letters + string.digits + "-_.")


def test_the_default_is_short_and_a_preset_is_found():
    assert len(Recipe().to_link()) < 80
    for name, preset in PRESETS.items():
        assert read({"preset": [name.encode()]}).recipe == preset.recipe == Recipe.from_link(preset.recipe.to_link())


def test_a_link_holds_iteration_digest_and_look():
    session = Session(Recipe("gaussian", num_particles=30, seed=4))
    session.advance(7)
    session.set(bandwidth=0.4)
    frame = session.advance(2)
    text = query(session.recipe, frame, Page(hide=("data", "seed"), embed=True))
    assert text.startswith(f"?run={FORMAT}.") and "hide=data,seed" in text
    link = read(given_in(text))
    assert link == Link(session.recipe, 9, frame.digest, ("data", "seed"), True)
    assert Session(link.recipe).seek(9).digest == link.digest


class Shown(SimpleNamespace):
    """What a digest is made of."""

    digest, mean_distance = Frame.digest, Frame.mean_distance


def test_a_frame_that_was_rounded_differently_is_not_taken_for_another_one():
    rng = np.random.default_rng(0)
    for particles in (rng.normal(size=(50, 2)), rng.choice([-1.0, 1.0], (50, 9))):
        frame = Shown(iteration=3, visited=30, particles=particles, weights=rng.dirichlet(np.ones(50)))
        shared = frame.digest
        assert agreement(frame, shared) == "same"
        rounded = Shown(**{**vars(frame), "particles": particles * (1 + 1e-9)})
        assert rounded.digest[:12] != shared[:12] and agreement(rounded, shared) == "rounded"
        other = Shown(**{**vars(frame), "particles": np.vstack([particles[:-1], particles[:1]])})
        assert agreement(other, shared) == "other"
        for text in ("0" * 12, "0" * 20, shared[:12], "not hexadecimal digits", shared + "00"):
            assert agreement(frame, text) == "other", text


@looped("start, iteration", [("start", 0), ("here", 3), ("end", MAX_BUDGET)])
def test_a_link_starts_where_the_teacher_says_and_carries_the_preset(start, iteration):
    session = Session(PRESETS["too_bold"].recipe)
    session.set(eta=3.0)  # a preset is there to be played with: its question stays
    text = query(session.recipe, session.advance(3), Page(presenter=True), "too_bold", start)
    link = read(given_in(text))
    assert (link.iteration, link.preset, link.presenter) == (iteration, "too_bold", True)
    assert link.recipe == session.recipe and bool(link.digest) == (start == "here")
    if start == "here":
        assert Lab(link=link).screen.heading.question == PRESETS["too_bold"].question


@looped(
    "text, words",
    [
        (None, "a link is a text, as Recipe.to_link gives it; got None"),
        (b"1.x", "a link is a text"),
        ("", "incomplete"),
        ("garbage", "incomplete"),
        ("0.abc", "reads links of format 4; this one has format 0: make it again here"),
        ("3.abc", "this one has format 3"),
        ("9" * 99 + ".abc", "this one has format 99999999999…"),
        ("².", "incomplete"),
        ("4.", "cut short"),
        ("4.!!!!", "cut short"),
        (Recipe(seed=5).to_link()[:-4], "cut short"),
        (Recipe(seed=5).to_link() + "AAAA", "cut short"),
        (f"{FORMAT}." + "A" * 1_000_000, "at most 1,000,000 characters; this one has 1,000,002"),
    ],
)
def test_what_is_no_link_gives_a_sentence(text, words):
    refused(words, Recipe.from_link, text)


def test_no_longer_link_is_read_than_is_written_and_a_small_one_cannot_unfold_to_a_large_one(monkeypatch):
    packed = zlib.compress(b'{"target":"' + b"a" * 50_000_000 + b'"}', 9, wbits=-15)
    bomb = f"{FORMAT}." + base64.urlsafe_b64encode(packed).decode().rstrip("=")
    assert len(bomb) < 100_000
    refused("cut short", Recipe.from_link, bomb)
    long = fold({"changes": [[k, {"bandwidth": 0.1 + 0.1 * (k % 2)}] for k in range(1, 1001)]})
    assert LONGEST < len(long) < 4000 and len(Recipe.from_link(long).changes) == 1000
    monkeypatch.setattr(Recipe, "from_link", lambda text: pytest.fail("it was unpacked"))
    for arguments in ({"run": [long.encode()]}, {"run": [b"4.A"], "hide": [b"a" * 2000]}):
        refused(r"a link has at most 2,000 characters; this one has [\d,]+", read, arguments)


@settings(max_examples=80, deadline=None)
@given(st.text(max_size=80), st.integers(0, 60))
@example("4.", 0)
def test_any_text_gives_a_recipe_or_a_sentence(text, at):
    good = Recipe(seed=7).to_link()
    for tried in (text, good[:at] + text + good[at:]):
        try:
            assert isinstance(Recipe.from_link(tried), Recipe)
        except InputError as error:
            assert str(error)


def test_an_address_that_others_cannot_open_is_found():
    for address in ("http://localhost:5006/?lesson=one_step", "localhost:5006", "http://127.0.0.1:5006"):
        assert is_local(address), address
    assert is_local("http://0.0.0.0:5006") and is_local("http://[::1]:5006")
    assert not is_local("https://lab.example.org/") and not is_local("http://192.168.1.5:5006")


def test_a_qr_code_holds_the_modules_of_the_address_and_an_address_that_none_can_hold_is_a_sentence():
    address, ack = "https://example.org/app?preset=two_modes&start=start", Acknowledge()
    picture = unquote(qr_code(address).split('src="data:image/svg+xml;charset=utf-8,')[1].split('"')[0])
    assert picture.count("<path") == 2  # light ground and dark modules
    width = segno.make_qr(address, error="l").symbol_size(scale=8, border=4)[0]
    assert f"width='{width}'" in picture.replace('"', "'")
    builder = LinkBuilder(lambda start, page: None, ack)
    builder.view.collapsed = False
    (button,) = [one for row in builder.view if hasattr(row, "objects") for one in row if one.label == "Show a QR code"]
    button.param.trigger("clicks")
    ack.update(address="https://example.org/?run=" + "x" * 3000, copied=1)
    assert builder.code.object == NO_CODE


# A recipe out of a file.


def opened(content):
    """What the box asks for when a file is chosen, the recipe of it or the sentence; read by no one but the worker."""
    begun, session = [], Session(Recipe("gaussian", num_particles=10))
    file = RecipeFile(lambda what, **parts: begun.append((what, parts)))
    file.box.value = content
    try:
        return begun, next_recipe(session, begun[0][1]) if begun else None
    except InputError as error:
        return begun, str(error)


def test_a_recipe_and_what_run_wrote_begin_a_run_and_any_other_file_gets_a_sentence():
    recipe = Recipe("gaussian", seed=3, num_particles=50, changes=((4, {"bandwidth": 0.3}),))
    for plain in (recipe.to_dict(), {"recipe": recipe.to_dict(), "final": {"tv": 0.1}}):
        content = json.dumps(plain).encode()
        assert opened(content) == ([(OPENING, {"content": content})], recipe)
    assert opened(b"") == ([], None)
    for content in (b"\xff\xfe", b"{", b"[1]", b'{"sed": 1}', b'{"pmdviz_recipe": 99}'):
        words = opened(content)[1]
        assert isinstance(words, str) and "\n" not in words, content
