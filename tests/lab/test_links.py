"""Links and recipe files, what of them is refused, and what a shared server refuses and fits by itself."""

import base64
import json
import math
import zlib
from types import SimpleNamespace
from urllib.parse import parse_qsl, unquote

import numpy as np
import pytest
import segno

from pmdviz import experiments as forecast
from pmdviz.data import files as data_files
from pmdviz.engine import recipe as parts
from pmdviz.engine import session
from pmdviz.engine.frame import Frame
from pmdviz.engine.recipe import FORMAT, MAX_BUDGET, MAX_CHANGES, Recipe, fold
from pmdviz.engine.session import Session
from pmdviz.errors import InputError
from pmdviz.experiments.running import EXPERIMENTS
from pmdviz.lab import Lab
from pmdviz.lab.laboratory import next_recipe
from pmdviz.lab.links import LONGEST, Link, agreement, is_local, query, read
from pmdviz.lab.loop import limits
from pmdviz.lab.loop.frame_sender import Acknowledge
from pmdviz.lab.loop.limits import heaviest, most_within, step_seconds
from pmdviz.lab.loop.runner import Runner
from pmdviz.lab.panels.setup import BUDGETS
from pmdviz.lab.panels.sharing import NO_CODE, OPENING, LinkBuilder, RecipeFile, qr_code
from pmdviz.limits import variable
from pmdviz.methods import METHODS
from pmdviz.presets import PRESETS
from pmdviz.serve.pages import lab_page
from tests.support.tables import looped, refused


def given_in(text):
    return {name: [value] for name, value in parse_qsl(text[1:])}


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
    text = query(session.recipe, session.advance(3), Link(presenter=True), "too_bold", start)
    link = read(given_in(text))
    assert (link.iteration, link.preset, link.presenter) == (iteration, "too_bold", True)
    assert link.recipe == session.recipe and bool(link.digest) == (start == "here")
    if start == "here":
        assert Lab(link=link).screen.heading.question == PRESETS["too_bold"].question


def packed(content):
    """What a link has of a text: shorter, and in letters."""
    letters = base64.urlsafe_b64encode(zlib.compress(content, 9, wbits=-15))
    return f"{FORMAT}." + letters.decode().rstrip("=")


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
        *((text, "cut short") for text in ("4.", "4.!!!!", "4.____", "4.é")),
        (packed(b"\xff"), "this is not a recipe in JSON"),
        (Recipe(seed=5).to_link()[:-4], "cut short"),
        (Recipe(seed=5).to_link() + "AAAA", "cut short"),
        (f"{FORMAT}." + "A" * 1_000_000, "at most 1,000,000 characters; this one has 1,000,002"),
    ],
)
def test_what_is_no_link_gives_a_sentence(text, words):
    refused(words, Recipe.from_link, text)


def test_no_longer_link_is_read_than_is_written_and_a_small_one_cannot_unfold_to_a_large_one(monkeypatch):
    bomb = packed(b'{"target":"' + b"a" * 50_000_000 + b'"}')
    assert len(bomb) < 100_000
    refused("cut short", Recipe.from_link, bomb)
    long = fold({"changes": [[k, {"bandwidth": 0.1 + 0.1 * (k % 2)}] for k in range(1, 1001)]})
    assert LONGEST < len(long) < 4000 and len(Recipe.from_link(long).changes) == 1000
    monkeypatch.setattr(Recipe, "from_link", lambda text: pytest.fail("it was unpacked"))
    for arguments in ({"run": [long.encode()]}, {"run": [b"4.A"], "hide": [b"a" * 2000]}):
        refused(r"a link has at most 2,000 characters; this one has [\d,]+", read, arguments)


def test_an_address_that_others_cannot_open_is_found_and_a_qr_code_holds_one():
    for address in ("http://localhost:5006/?lesson=one_step", "localhost:5006", "http://127.0.0.1:5006"):
        assert is_local(address), address
    assert is_local("http://0.0.0.0:5006") and is_local("http://[::1]:5006")
    assert not is_local("https://lab.example.org/") and not is_local("http://192.168.1.5:5006")
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


def opened(content):
    """What the box asks for when a file is chosen, the recipe of it or the sentence; read by no one but the worker."""
    begun, session = [], Session(Recipe("gaussian", num_particles=10))
    file = RecipeFile(lambda what, **parts: begun.append((what, parts)))
    file.box.value = content
    try:
        return [what for what, _ in begun], next_recipe(session, begun[0][1]) if begun else None
    except InputError as error:
        return [what for what, _ in begun], str(error)


def test_a_recipe_and_what_run_wrote_begin_a_run_and_any_other_file_gets_a_sentence():
    recipe = Recipe("gaussian", seed=3, num_particles=50, changes=((4, {"bandwidth": 0.3}),))
    for plain in (recipe.to_dict(), {"recipe": recipe.to_dict(), "final": {"tv": 0.1}}):
        content = json.dumps(plain).encode()
        assert opened(content) == ([OPENING], recipe)
    assert opened(b"") == ([], None)
    for content in (b"\xff\xfe", b"{", b"[1]", b'{"sed": 1}', b'{"pmdviz_recipe": 99}'):
        words = opened(content)[1]
        assert isinstance(words, str) and "\n" not in words, content


KNOBS = METHODS["pmd"].Knobs


@pytest.fixture
def allow(monkeypatch):
    def allowed(**values):
        for name, value in values.items():
            monkeypatch.setenv(variable(name), str(value))

    return allowed


def test_particles_and_steps_have_limits(allow):
    allow(max_particles=2000)
    refused("at least 1 and at most 2,000; got 5000", limits.capped(KNOBS.specs()["num_particles"], KNOBS).parse, 5000)
    refused("num_particles must be at most 2,000 on this server; got 5,000", limits.check, Recipe(num_particles=5000))
    refused("at most 2,000", limits.check, Recipe(changes=[(3, {"num_particles": 2001})]))
    assert limits.check(Recipe(num_particles=2000)).knobs["num_particles"] == 2000
    refused("most_particles must be at most 2,000 on this server; got 6,000", limits.check, Recipe(growth="power"))
    assert limits.check(Recipe(growth="power", most_particles=2000)).knobs["growth"] == "power"
    assert limits.capped(KNOBS.specs()["most_particles"], KNOBS).bounds == (1, 2000)
    allow(max_particles="", max_step_ms=500)
    for made in EXPERIMENTS.values():  # they have a limit of their own
        assert limits.check_experiment(made.Knobs.defaults()) == made.Knobs.defaults()
    words = r"num_particles must be lower on this server, where a step may take 0.5 s: with 50,000 .* about 2.1 s"
    refused(words, limits.check, Recipe(num_particles=50_000))
    runner = Runner(Recipe(num_particles=100))
    refused(words, runner.set, {"num_particles": 50_000})
    assert runner.session.knobs.num_particles == 100
    refused("at most 24,49", limits.capped(KNOBS.specs()["num_particles"], KNOBS).parse, 50_000)


def test_budgets_changes_and_kept_frames_have_limits(allow, monkeypatch):
    allow(max_budget=10_000)
    refused("budget must be at most 10,000 data on this server; got endless", limits.check, Recipe(budget=None))
    assert limits.budgets(BUDGETS) == {"2,000": 2_000, "5,000": 5_000}
    runner = Runner(Recipe(num_particles=50, budget=6_000))
    for act in (runner.proceed, lambda: runner.limit(None)):
        refused("at most 10,000", act)
    assert runner.session.recipe.budget == 6_000
    allow(max_particles=700)
    recipe = limits.fitted(Recipe())  # the page that opens fits the server
    assert (recipe.knobs["num_particles"], recipe.budget) == (700, 10_000) and limits.check(recipe) is recipe
    lab_page()
    recipe = Recipe("gaussian", num_particles=10, changes=[(k, {"eta": k}) for k in range(1, 502)])
    limits.enforce()  # without a number that was given
    refused("at most 500 changes here; got 501", Recipe.from_json, recipe.to_json())
    allow(max_changes=2)
    limits.enforce()
    runner = Runner(Recipe("gaussian", num_particles=10, budget=None))
    for k in (1, 2):
        runner.advance(1)
        runner.set({"eta": float(k)})
    runner.advance(1)
    refused("at most 2 changes here; restart the run for a new log", runner.set, {"eta": 9.0})
    assert runner.session.knobs.eta == 2.0
    monkeypatch.setattr("pmdviz.lab.loop.runner.SHARE_S", 1e9)  # 40 iterations also where they take long
    monkeypatch.setattr(limits, "KEPT_BYTES", 6 * runner.session.frame.num_bytes)
    limits.enforce()
    runner = Runner(Recipe("gaussian", num_particles=10, budget=None))
    runner.advance(40)
    assert len(runner.session.frames) > 3 and runner.session.kept.num_bytes <= limits.KEPT_BYTES


@pytest.fixture(autouse=True)
def nothing_stays_in_force(monkeypatch):
    """Not even in this process."""
    monkeypatch.setattr(parts, "most_changes", MAX_CHANGES)
    monkeypatch.setattr(session, "most_bytes", session.MEMORY_CAP)
    monkeypatch.setattr(limits, "most_replay_s", math.inf)
    monkeypatch.setattr(data_files, "_forbidden", False)
    monkeypatch.setattr(forecast, "_served", False)


def test_nobody_insists_on_a_server_and_memory_is_always_looked_at(monkeypatch):
    monkeypatch.setattr(forecast, "free_megabytes", lambda: 100.0)
    slow, wide = [forecast.Size(4000.0, 1.0)], [forecast.Size(1.0, 80.0)]
    forecast.check_size(slow, 1, insist=True)
    for sizes, insist in ((slow, False), (wide, False), (wide, True)):
        with pytest.raises(forecast.TooMuch):
            forecast.check_size(sizes, 1, insist)
    limits.enforce()
    with pytest.raises(forecast.TooMuch, match="10 minutes is the most that is allowed here") as error:
        forecast.check_size(slow, 1, insist=True)
    assert not error.value.may_insist


@looped(
    "name, knobs, num_data, heavy",
    [
        ("pmd", {"num_particles": 50_000}, 1000, ("num_particles", 50_000)),
        ("pmd", {"growth": "power", "most_particles": 50_000}, 1000, ("most_particles", 50_000)),
        ("pmd", {"growth": "power", "most_particles": 9_000, "num_particles": 9_000}, 9, ("num_particles", 9_000)),
        ("pmd", {"num_particles": 50, "batch_size": 100_000}, 100_000, ("batch_size", 100_000)),
        ("hmc", {"leapfrog_steps": 1000}, 1000, ("leapfrog_steps", 1000)),
        ("smc_mcmc", {}, 100_000, ("num_particles", 1500)),
        ("mala", {}, 100_000, ("num_data", 100_000)),
        ("gibbs", {}, 77, ("num_data", 77)),
    ],
)
def test_the_knob_that_makes_a_step_long_is_named(name, knobs, num_data, heavy):
    assert heaviest(METHODS[name].Knobs.checked(knobs), num_data) == heavy


@looped("name", METHODS)
def test_more_data_never_shorten_a_step_and_the_most_that_fits_is_the_inverse_of_the_forecast(name):
    knobs = METHODS[name].Knobs.checked({})
    seconds = [step_seconds(knobs, num_data) for num_data in (1, 10, 1000, 100_000)]
    assert 0 < seconds[0] and seconds == sorted(seconds)
    if name in ("pmd", "svgd", "smc_mcmc", "importance"):
        for most_s, rows in [(0.001, 1), (0.01, 100), (1.0, 100_000), (1e-12, 10**6)]:
            most = most_within(most_s, knobs, "num_particles", rows)
            assert most == 1 or step_seconds(knobs.replaced(num_particles=most), rows) <= most_s
            assert most == 100_000 or step_seconds(knobs.replaced(num_particles=most + 1), rows) > most_s
