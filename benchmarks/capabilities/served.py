"""Capabilities that a person sees in a browser: the served app, exported pages, notebooks. Each function raises."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cached_property, partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import psutil
from PIL import Image

import pmdviz
from benchmarks.capabilities import commands
from benchmarks.capabilities.commands import LESSON, METHODS, OWN_TARGET, PRESETS, SUFFIXES, TARGETS, Desk, docs_site
from pmdviz import Recipe
from pmdviz.lab.controls.widgets import MORE
from tests.support.browser import (
    HELPERS_JS,
    await_answer,
    choose,
    chromium,
    free_port,
    in_sight,
    lab_command,
    open_page_tab,
    server,
    set_speed,
)
from tests.support.jupyter_page import NOTEBOOK, jupyter

TABLE: list[tuple[str, Callable[[Any], str | None]]] = []
tries = partial(commands.tries, table=TABLE)
FIRST = "pmdviz.iteration() >= 0"  # the first picture is there
PATIENCE = 300.0  # seconds: a busy machine compiles kernels meanwhile

# Where things are on the page. A page that changes is met by changing these, and only these.
STAGE, TRACES, TILES = ".pmdviz-stage", ".pmdviz-traces:not(.pmdviz-hidden)", ".pmdviz-race-tiles"
TABS = {"lab": "Lab", "lessons": "Lessons", "race": "Race", "theory": "Theory", "geometry": "Geometry"}
PRESET, TARGET, METHOD, BUDGET, SPEED = "Preset", "Target", "Method", "Run length (observations used)", "Speed"
PICTURE, METRIC, CLOCK, OPTIONS = "Picture", "Traces", "Against", "Data and options of the target"
KNOB = "#knob-{}"
FAST, ENDLESS = "as fast as it goes", "endless"
EXPORTED, DIAGNOSED, FIT = ".pmdviz-export-status", ".pmdviz-diagnosed", ".pmdviz-fit-said"
RACE_JS = """(() => { const a = pmdviz.model("race-acknowledge")?.words
  return a ? JSON.parse(a)["pmdviz-status"] : "" })()"""
RACE_AT = f"Number(({RACE_JS}.match(/iteration ([\\d,]+)/) ?? [0, '-1'])[1].replaceAll(',', ''))"
LESSON_JS = """(() => { for (const m of window.Bokeh?.documents[0]?._all_models.values() ?? [])
  if (m.data?.told?.lesson !== undefined) return m.data.told
  return {} })()"""
CHOSEN_JS = """(label) => {
  const all = (root) => [...root.querySelectorAll("*")].flatMap((e) => [e, ...(e.shadowRoot ? all(e.shadowRoot) : [])])
  const menu = all(document).find((e) => e.matches("select") && e.labels?.[0]?.textContent.trim() === label)
  return menu?.selectedOptions[0]?.textContent }"""
NGINX = """pid {folder}/pid; error_log {folder}/error.log; events {{}}
http {{ access_log off; {more} server {{ listen 127.0.0.1:{front}; location /stats/lab/ {{
  proxy_pass http://127.0.0.1:{back}/; proxy_http_version 1.1; proxy_buffering off; proxy_set_header Host $http_host;
  proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection upgrade; }} }} }}
"""
BANDS_JS = """Bokeh.documents.flatMap((doc) => [...doc._all_models.values()])
  .filter((m) => m.glyph?.type === "VArea" && m.data_source.data.x?.length > 1).length"""


class Page:
    """A page of the app as a person uses it; the browser's complaints and requests are kept."""

    def __init__(self, context: Any, url: str, ready: str = FIRST) -> None:
        self.problems: list[str] = []
        self.requests: list[str] = []
        self.context, self.page = context, context.new_page()
        self.page.set_default_timeout(PATIENCE * 1000)
        self.page.add_init_script(HELPERS_JS)
        self.page.on("console", lambda m: self.problems.append(m.text) if m.type == "error" else None)
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(url)
        self.wait(f"window.pmdviz && {ready}")

    def wait(self, condition: str, seconds: float = PATIENCE) -> None:
        """Until a JavaScript expression is true."""
        self.page.wait_for_function(condition, timeout=seconds * 1000, polling=50)

    def rest(self, expression: str = "pmdviz.iteration()", looks: int = 8) -> Any:
        """The value of an expression once it has stayed the same for so many tenths of a second."""
        seen: list[Any] = []
        while len(seen) < looks or any(look != seen[-1] for look in seen[-looks:]):
            assert len(seen) < 10 * PATIENCE, f"{expression} never comes to rest"
            self.page.wait_for_timeout(100)
            seen.append(self.page.evaluate(expression))
        return seen[-1]

    def press(self, label: str) -> None:
        """Click the first button of that name, where it is; an entry of the small menu is chosen."""
        if label in MORE and not self.button(label).is_visible():
            choose(self.page, label)
        else:
            in_sight(self.page, lambda: self.page.get_by_role("button", name=label, exact=True)).click()

    def button(self, label: str) -> Any:
        """The first visible button of that name."""
        return self.page.get_by_role("button", name=label, exact=True).locator("visible=true").first

    def choose(self, label: str, option: str) -> None:
        """Choose from the menu of that name, where it is."""
        if label == SPEED:
            set_speed(self.page, option)
            return
        self.menu(label).select_option(label=option)

    def begin(self, label: str, option: str) -> None:
        """Choose what begins another run, and wait for its first picture: the address changes with it."""
        before = self.page.evaluate("location.search")
        self.choose(label, option)
        self.wait(f"location.search !== {json.dumps(before)} && pmdviz.iteration() === 0")
        self.rest("pmdviz.picture()")

    def menu(self, label: str) -> Any:
        """The menu of that name, where it is."""
        return in_sight(self.page, lambda: self.page.get_by_label(label, exact=True))

    def options(self, label: str) -> list[str]:
        """What a menu offers."""
        return self.menu(label).locator("option").all_inner_texts()

    def menu_text(self, words: str | re.Pattern[str]) -> Any:
        """A title that can be pressed, where it is."""
        return in_sight(self.page, lambda: self.page.get_by_text(words))

    def type(self, knob: str, value: str) -> None:
        """Type into a knob's box and press Enter."""
        box = in_sight(self.page, lambda: self.page.locator(KNOB.format(knob)))
        box.fill(value)
        box.press("Enter")

    def words(self) -> str:
        """The state in words up to TV of independent draws, which arrives when it has been computed."""
        return self.page.evaluate("pmdviz.words()").partition(", independent draws")[0]

    def said(self, text: str | re.Pattern[str]) -> Any:
        """Wait until a visible text is there."""
        found = self.page.get_by_text(text).locator("visible=true").first
        found.wait_for()
        return found

    def reach(self, iteration: int) -> None:
        """Until the run has come so far."""
        self.wait(f"pmdviz.iteration() >= {iteration}")

    def step(self, to: int) -> None:
        """Press Step until an iteration is shown."""
        for expected in range(self.page.evaluate("pmdviz.iteration()") + 1, to + 1):
            self.press("Step")
            self.wait(f"pmdviz.iteration() === {expected}")

    def played(self, to: int) -> int:
        """Play to an iteration, no faster than Pause can be pressed, pause, and say which one is shown."""
        self.choose(SPEED, "10 iterations a second")
        self.press("Play")
        self.reach(to)
        self.press("Pause")
        self.button("Play").wait_for()
        return self.rest()

    def pixels(self, selector: str = STAGE) -> np.ndarray:
        """A part of the page as a grey picture, once it no longer changes."""
        part = self.page.locator(selector).locator("visible=true").first
        last = b""
        for _ in range(40):
            shot = part.screenshot()
            if shot == last:
                break
            last = shot
            self.page.wait_for_timeout(300)
        return np.asarray(Image.open(io.BytesIO(last)).convert("L"), float)

    def becomes(self, old: np.ndarray, alike: bool = False, part: str = STAGE, share: float = 0.001) -> np.ndarray:
        """The picture of a part once it differs from an old one (or is alike). Raises AssertionError if it never is."""
        late = time.monotonic() + PATIENCE / 4
        while differ(now := self.pixels(part), old, share) is alike:
            assert time.monotonic() < late, f"the picture {'differs from' if alike else 'is'} the one before"
        return now

    def go(self, tab: str) -> None:
        """Go to a page by its tab."""
        open_page_tab(self.page, tab)

    def downloaded(self, folder: Path, click: Callable[[], Any]) -> Path:
        """The file that a click downloads."""
        with self.page.expect_download() as coming:
            click()
        path = folder / coming.value.suggested_filename
        coming.value.save_as(path)
        return path

    def copied(self, part: str) -> str:
        """What the clipboard has, once a part of it is there."""
        late = time.monotonic() + PATIENCE / 4
        while part not in (text := self.page.evaluate("navigator.clipboard.readText()")):
            assert time.monotonic() < late, text
            self.page.wait_for_timeout(100)
        return text

    def close(self) -> None:
        """Close it. Raises AssertionError for what the browser complained of."""
        self.page.close()
        assert self.problems == [], self.problems[:3]


def differ(one: np.ndarray, two: np.ndarray, share: float = 0.001) -> bool:
    """Whether two pictures differ in more than a shift of less than a pixel, which a new layout may bring."""
    return one.shape != two.shape or float((np.abs(one - two) > 80).mean()) > share


class Stand:
    """A browser and the servers that the checks share; each is begun when it is first needed."""

    def __init__(self, desk: Desk) -> None:
        self.desk, self.folder, self.long = desk, desk.folder, desk.long
        self._stack = ExitStack()
        self._lab: Page | None = None

    def __enter__(self) -> Stand:
        return self

    def __exit__(self, *error: Any) -> None:
        self._stack.close()

    @cached_property
    def browser(self) -> Any:
        """A Chromium for all checks."""
        return self._stack.enter_context(chromium())

    @cached_property
    def url(self) -> str:
        """The usual server."""
        return self._stack.enter_context(self.serving())

    @cached_property
    def class_url(self) -> str:
        """A server as a teacher begins one: lessons, a target and docs of one's own, limits."""
        self.desk.write("own_target.py", OWN_TARGET)
        (self.folder / "lessons").mkdir(exist_ok=True)
        self.desk.write("lessons/few_particles.md", LESSON)
        more = ["--lessons", str(self.folder / "lessons"), "--target", "own_target:dose"]
        more += ["--docs", str(docs_site(self.desk)), "--max-particles", "3000", "--max-sessions", "3"]
        return self._stack.enter_context(self.serving(*more))

    @contextmanager
    def serving(self, *more: str, port: int = 0, command: list[str] | None = None) -> Iterator[str]:
        """A server of its own; its address. Raises AssertionError for a traceback in its log."""
        port = port or free_port()
        path = self.folder / f"serve-{port}.log"
        with path.open("a") as log:
            environment = {"PYTHONPATH": self.desk.environment()["PYTHONPATH"]}
            with server(command or lab_command(port, *more), port, log=log, **environment):
                yield f"http://127.0.0.1:{port}"
        assert "Traceback" not in path.read_text(encoding="utf-8"), path.read_text(encoding="utf-8")[-1000:]

    def context(self, **options: Any) -> Any:
        """A person's browser: what it keeps is its own."""
        size, grants = {"width": 1440, "height": 900}, ["clipboard-read", "clipboard-write"]
        return self.browser.new_context(
            **{"viewport": size, "permissions": grants, "accept_downloads": True, **options}
        )

    @cached_property
    def usual(self) -> Any:
        """One for all checks that leave nothing in it: scripts are read once."""
        return self.context()

    @contextmanager
    def page(self, query: str = "", url: str = "", ready: str = FIRST, **options: Any) -> Iterator[Page]:
        """A page of the app, closed at the end; with options it is in a browser of its own."""
        context = self.context(**options) if options else self.usual
        page = Page(context, f"{url or self.url}{query}", ready)
        try:
            yield page
        except BaseException:
            page.page.close()
            raise
        page.close()
        if options:
            context.close()

    @contextmanager
    def lab(self) -> Iterator[Page]:
        """The Lab at iteration 0 of its first preset, in one page for all checks until one of them fails."""
        page, self._lab = self._lab, None
        if page is None:
            page = Page(self.usual, self.url)
        else:
            page.go("Lab")
            for preset in ("A single Gaussian", "Two modes"):
                page.begin(PRESET, preset)
        try:
            yield page
            assert page.problems == [], page.problems[:3]
        except BaseException:
            page.page.close()
            raise
        self._lab = page


# Serve


def moves(stand: Stand, url: str) -> None:
    """A page is drawn; Play moves iteration and pixels, Pause stops both."""
    with stand.page(url=url) as page:
        before = page.pixels()
        stood = page.played(4)
        page.becomes(page.becomes(before), alike=True)
        assert page.page.evaluate("pmdviz.iteration()") == stood >= 4


@tries("Serve")
def serve(stand: Stand) -> None:
    """pmdviz serve."""
    moves(stand, stand.url)


@tries("Serve")
def panel_serve(stand: Stand) -> None:
    """panel serve pmdviz/app.py."""
    port, app = free_port(), str(Path(pmdviz.__file__).with_name("app.py"))
    command = [sys.executable, "-m", "panel", "serve", app, "--port", str(port), "--liveness"]
    with stand.serving(port=port, command=command) as url:
        moves(stand, f"{url}/app")


@tries("Serve")
def two_processes(stand: Stand) -> None:
    """--num-procs."""
    port = free_port()
    with stand.serving("--num-procs", "2", port=port) as url:
        other = url.replace(str(port), str(port + 1))
        listening = [
            c for c in psutil.net_connections("tcp") if c.status == "LISTEN" and c.laddr.port in (port, port + 1)
        ]
        assert len({c.pid for c in listening}) == 2, listening
        for each in (url, other):
            moves(stand, each)


@tries("Serve")
def own_target(stand: Stand) -> None:
    """--target module:object."""
    with stand.page(url=stand.class_url) as page:
        page.begin(TARGET, "dose")
        page.step(2)
        assert "TV" in page.words()


@tries("Serve")
def own_lessons(stand: Stand) -> None:
    """--lessons FOLDER."""
    with stand.page("?lesson=few_particles", url=stand.class_url) as page:
        page.wait(f"{LESSON_JS}.lesson")
        page.said(re.compile("watch both modes"))
        page.wait("pmdviz.words().includes('of 4,000')")


@tries("Serve")
def own_docs(stand: Stand) -> None:
    """--docs FOLDER."""
    context = stand.browser.new_context()
    page = context.new_page()
    page.goto(f"{stand.class_url}/docs/tutorials/first-steps.html")
    assert page.get_by_role("heading", level=1).inner_text().startswith("First steps")
    page.get_by_role("link", name=re.compile("Race|race")).first.wait_for()
    context.close()


@tries("Serve")
def limits(stand: Stand) -> None:
    """Limits per session."""
    with stand.page(url=stand.class_url) as page:
        page.type("num_particles", "5000")
        page.said(re.compile("at least 1 and at most 3,000"))
        others = [page.context.new_page() for _ in range(3)]
        for other in others:
            other.goto(stand.class_url)
        others[-1].get_by_text("Server full (3 sessions)").wait_for()


@tries("Serve")
def prefixed(stand: Stand) -> None:
    """Behind a proxy with a prefix."""
    program = shutil.which("nginx") or shutil.which("/usr/sbin/nginx")
    assert program, "nginx is not installed"
    front, back, folder = free_port(), free_port(), stand.folder / "nginx"
    folder.mkdir(exist_ok=True)
    written = [f"{what}_temp_path {folder}/{what};" for what in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")]
    config = stand.desk.write(
        "nginx/nginx.conf", NGINX.format(folder=folder, front=front, back=back, more="".join(written))
    )
    with stand.serving("--allow-websocket-origin", f"127.0.0.1:{front}", port=back):
        proxy = subprocess.Popen([program, "-c", str(config), "-g", "daemon off;"])
        try:
            await_answer(proxy, f"http://127.0.0.1:{front}/stats/lab/liveness")
            moves(stand, f"http://127.0.0.1:{front}/stats/lab")
        finally:
            proxy.terminate()
            proxy.wait()


@tries("Serve")
def a_class(stand: Stand) -> str:
    """A class on one server."""
    from tests.support.crowd import Crowd

    number, seconds = (30, 60) if stand.long else (5, 15)
    with stand.serving() as url:
        crowd = Crowd(url)
        crowd.join(number)
        begun = time.monotonic()
        before = [client.iteration for client in crowd.clients]
        time.sleep(seconds)
        rates = [client.rate(begun, time.monotonic()) for client in crowd.clients]
        moved = [client.iteration - old for client, old in zip(crowd.clients, before, strict=True)]
        crowd.leave()
    assert crowd.errors == [] and min(moved) > 0 and min(rates) > 0.25 * sorted(rates)[number // 2], (moved, rates)
    return f"{number} sessions, {min(rates):.1f} to {max(rates):.1f} frames a second"


# Lab


@tries("Lab")
def transport(stand: Stand) -> None:
    """Play, pause, step, back, restart, replay, seed, undo, speed."""
    with stand.lab() as page:
        page.step(2)
        second, words = page.pixels(), page.words()
        page.press("Back")
        page.wait("pmdviz.iteration() === 1")
        page.becomes(second)
        page.choose(SPEED, "1 iteration a second")
        page.press("Play")
        page.reach(3)
        page.press("Pause")
        page.choose(SPEED, FAST)
        page.press("Restart")
        page.wait("pmdviz.iteration() === 0")
        page.press("Replay")
        page.reach(3)
        page.press("Pause")
        page.rest()
        line = page.page.get_by_role("slider", name="Iteration", exact=True)
        for key, at in (("Home", 0), ("ArrowRight", 1), ("ArrowRight", 2)):
            line.press(key)
            page.wait(f"pmdviz.iteration() === {at}")
        line.blur()  # the ring around it lies on the picture
        assert page.words() == words, (page.words(), words)
        page.becomes(second, alike=True)
        page.begin(TARGET, "Two modes on a line (1-D)")
        page.press("Undo")
        page.wait(f"pmdviz.words().startsWith({json.dumps(words)})")
        seed = page.page.locator(KNOB.format("seed")).input_value()
        page.press("New seed")
        page.wait(f"pmdviz.find('{KNOB.format('seed')}').value !== '{seed}' && pmdviz.iteration() === 0")


@tries("Lab")
def preset_menu(stand: Stand) -> str:
    """59 presets."""
    with stand.lab() as page:
        titles = [title for title in page.options(PRESET) if title != "Custom"]
        assert len(titles) >= PRESETS, len(titles)
        tried = titles if stand.long else titles[1::20]
        last = page.pixels()
        for title in tried:
            page.begin(PRESET, title)
            assert "?" in page.page.locator(".pmdviz-heading h2").inner_text()
            page.step(1)
            last = page.becomes(last)
    return f"{len(titles)} presets, {len(tried)} tried"


def chosen_js(label: str) -> str:
    """The chosen option of a menu, in JavaScript."""
    return f"({CHOSEN_JS})({json.dumps(label)})"


@tries("Lab")
def target_menu(stand: Stand) -> str:
    """23 targets with options."""
    with stand.lab() as page:
        titles = page.options(TARGET)
        assert len(titles) >= TARGETS, len(titles)
        tried = titles if stand.long else ["Banana (2-D)", "Ising model (discrete)"]
        for title in tried:
            last = page.pixels()
            page.begin(TARGET, title)
            page.step(1)
            page.becomes(last)
        page.begin(TARGET, "Conjugate Gaussian (any dimension)")
        page.menu_text(OPTIONS).click()
        page.type("num_data", "37")
        page.said(re.compile(r"\b37 observations"))
        page.step(1)
    return f"{len(titles)} targets, {len(tried)} tried"


@tries("Lab")
def method_menu(stand: Stand) -> str:
    """35 methods with settings."""
    with stand.lab() as page:
        titles = page.options(METHOD)
        assert len(titles) > 15, "the methods that fit the mixture"
        tried = titles if stand.long else ["Stein variational gradient descent", "Hamiltonian Monte Carlo"]
        for title in tried:
            page.begin(METHOD, title)
            page.step(1)
        page.begin(METHOD, "Particle Mirror Descent")
        page.type("eta", "3.5")
        page.step(1)
        page.wait("location.search.includes('at=1')")
        query = dict(part.split("=", 1) for part in urlsplit(page.page.url).query.split("&"))
        assert Recipe.from_link(query["run"]).start_knobs().eta == 3.5
        page.go("Methods")
        page.said(re.compile(r"^(\d+) of (\d+) methods"))
        words = page.page.get_by_text(re.compile(r"\d+ of \d+ methods")).first.inner_text()
        assert int(re.search(r"of (\d+) methods", words)[1]) >= METHODS, words
    return f"{len(titles)} methods for the mixture, {len(tried)} tried"


@tries("Lab")
def trace_menus(stand: Stand) -> str:
    """Traces of every metric against four clocks."""
    with stand.lab() as page:
        page.played(12)
        groups, clocks = page.options(METRIC), page.options(CLOCK)
        assert len(groups) >= 10 and len(clocks) >= 4, (groups, clocks)
        for label, options in ((CLOCK, clocks[1:] + clocks[:1]), (METRIC, groups[1:])):
            for option in options:
                last = page.pixels(TRACES)
                page.choose(label, option)
                page.wait(f"{chosen_js(label)} === {json.dumps(option)}")
                page.becomes(last, part=TRACES, share=0.0003)
    return f"{len(groups)} groups, {len(clocks)} clocks"


PICTURES = {  # target, method, knobs: the pictures that its menu has
    "mixture": ("pmd", {}, ("Posterior", "Lines of descent", "Where they differ", "Marginals")),
    "logistic": ("pmd", {}, ("Decision lines", "Marginals")),
    "sparse_gp": ("structured_pmd", {}, ("Function",)),
    "topics": ("structured_pmd", {}, ()),  # a single picture has no menu
    "ising": ("gibbs", {}, ()),
}


@tries("Lab")
def pictures(stand: Stand) -> str:
    """Pictures, ancestors."""
    seen = 0
    for target, (method, knobs, titles) in PICTURES.items():
        link = Recipe(target, method, budget=10**6, **knobs).to_link()
        with stand.page(f"?run={link}&at=4") as page:
            page.reach(4)
            offered, last = page.options(PICTURE), None
            assert set(titles) <= set(offered), (target, offered)
            if not titles:
                last = page.pixels()
                page.step(5)
                assert (page.pixels() != last).any()
                seen += 1
            for title in offered:
                page.choose(PICTURE, title)
                page.wait(f"{chosen_js(PICTURE)} === {json.dumps(title)}")
                last = page.pixels() if last is None else page.becomes(last)
                seen += 1
            if target == "logistic":
                page.choose(PICTURE, "Posterior")
                page.choose("Horizontal", "w₁")
                page.wait("pmdviz.model('stage').below[0].axis_label === 'w₁'")
    return f"{seen} pictures"


@tries("Lab")
def other_seeds(stand: Stand) -> None:
    """Other seeds as a band."""
    with stand.lab() as page:
        page.choose(BUDGET, "2,000")
        page.type("num_particles", "200")
        page.played(8)
        page.choose("Other seeds", "8")
        page.press("Repeat with other seeds")
        page.said(re.compile("of 8 other seeds"))
        assert page.page.evaluate(BANDS_JS) == 1


@tries("Lab")
def compares(stand: Stand) -> None:
    """Compare two settings."""
    with stand.lab() as page:
        page.choose(BUDGET, "5,000")
        page.type("num_particles", "200")
        page.wait("pmdviz.words().includes('of 5,000')")
        page.choose("What differs", "Bandwidth h")
        page.page.locator(".pmdviz-sheet").get_by_role("button", name="Compare", exact=True).locator(
            "visible=true"
        ).click()
        page.wait(f"{RACE_AT} >= 0")
        page.wait("JSON.parse(pmdviz.model('race-acknowledge').shown).entrants.length === 2")
        page.press("Play")
        page.wait(f"{RACE_AT} > 4")
        page.press("Pause")


@tries("Lab")
def fit_card(stand: Stand) -> None:
    """Goodness-of-fit card."""
    link = Recipe("mixture", "svi", budget=20_000).to_link()
    with stand.page(f"?run={link}&at=20") as page:
        page.reach(20)
        page.menu_text("Goodness-of-fit test").click()
        page.press("Test this sample")
        page.page.locator(FIT, has_text=", p = ").wait_for()
        words = page.page.locator(FIT, has_text=", p = ").inner_text()
        assert "rejected" in words, words


@tries("Lab")
def diagnoses(stand: Stand) -> None:
    """Diagnosis."""
    with stand.page("?preset=head_start") as page:
        page.choose(SPEED, FAST)
        page.press("Play")
        page.said(re.compile("Done:"))
        page.press("Why?")
        page.wait(f"/\\d/.test(pmdviz.find('{DIAGNOSED}')?.textContent ?? '')")
        assert re.search(r"\d", page.page.locator(DIAGNOSED).inner_text())


@tries("Lab")
def looks(stand: Stand) -> None:
    """Presenter mode, keyboard, both themes."""
    with stand.page(color_scheme="light") as page:
        light = page.pixels().mean()
        page.page.keyboard.press("Space")
        page.reach(2)
        page.page.keyboard.press("Space")
        page.rest()
        page.page.keyboard.press("r")
        page.wait("pmdviz.iteration() === 0")
        page.page.keyboard.press("?")
        page.page.get_by_role("dialog", name="Help").wait_for()
        page.page.get_by_role("dialog", name="Help").get_by_role("button", name="Close").click()
        page.page.keyboard.press("p")
        page.wait("parseInt(pmdviz.model('stage').below[0].axis_label_text_font_size) >= 18")
        page.button("All settings").wait_for(state="hidden")
        page.page.keyboard.press("p")
        page.button("All settings").wait_for()
        page.page.get_by_label("Toggle theme").click()
        page.wait("pmdviz.model('stage').background_fill_color !== '#ffffff'")
        assert page.pixels().mean() < light - 60


@tries("Lab")
def phone(stand: Stand) -> None:
    """Phone."""
    options = {"is_mobile": True, "has_touch": True, "user_agent": "Mozilla/5.0 (Linux; Android 14) Mobile"}
    with stand.page(viewport={"width": 390, "height": 844}, **options) as page:
        box = page.page.locator(STAGE).bounding_box()
        assert box["width"] >= 350 and abs(box["width"] - box["height"]) < 2, box
        button = page.button("Play").bounding_box()
        assert (
            button["y"] + button["height"] <= 844 and page.page.evaluate("document.documentElement.scrollWidth") <= 390
        )
        before = page.pixels()
        page.button("Play").tap()
        page.reach(3)
        page.press("Pause")
        page.becomes(before)


# Pages


@tries("Pages")
def race(stand: Stand) -> None:
    """Race: two clocks, bands, table, share."""
    race = pmdviz.RaceRecipe.checked("pmd:num_particles=100,smc:num_particles=80", "mixture", budget=2_000)
    with stand.page(f"?page=race&race={race.to_link()}", ready=f"{RACE_AT} >= 0") as page:
        before = page.pixels(TILES)
        page.choose(SPEED, FAST)
        page.press("Play")
        page.wait(f"{RACE_AT} > 5")
        page.press("Pause")
        page.rest(RACE_AT)
        page.becomes(before, part=TILES)
        page.page.get_by_text("All measurements").click()
        head = page.page.locator(".scroller th.visited")
        for order in ("ascending", "descending"):
            head.get_by_role("button").click()
            page.wait(f"pmdviz.find('.scroller th.visited').getAttribute('aria-sort') === '{order}'")
            seen = [int(text.replace(",", "")) for text in page.page.locator(".scroller td.visited").all_inner_texts()]
            assert len(seen) == 2 and seen == sorted(seen, reverse=order == "descending"), seen
        page.press("Methods and settings")
        page.choose("Add a method", "Stochastic variational inference (Gaussian)")
        page.press("Add")
        page.wait("JSON.parse(pmdviz.model('race-acknowledge').shown).entrants.length === 3")
        page.choose("Clock", "likelihood evaluations")
        page.wait(f"{RACE_JS}.includes('evaluations')")
        page.choose("Bands over", "4 seeds")
        page.press("Bands")
        page.wait(f"{BANDS_JS} >= 3")
        page.choose("Bands over", "32 seeds")
        page.press("Bands")
        page.press("Cancel bands")
        page.said(re.compile("Cancelled"))
        page.press("Share")
        page.press("Copy link")
        page.said("Copied to the clipboard.")
        link = page.page.evaluate("navigator.clipboard.readText()")
    with stand.page(f"?{urlsplit(link).query}", ready=f"{RACE_AT} >= 0") as page:
        page.wait("JSON.parse(pmdviz.model('race-acknowledge').shown).entrants.length === 3")


@tries("Pages")
def challenge(stand: Stand) -> None:
    """Challenge: a score that replays."""
    with stand.page("?lesson=five_passes", locale="en") as page:
        page.wait(f"{LESSON_JS}.lesson && {LESSON_JS}.goal")
        page.choose(SPEED, FAST)
        page.press("Play")
        page.wait(f"/Score \\d+ of 100/.test({LESSON_JS}.score ?? '')")
        score = re.search(r"Score \d+", page.page.evaluate(f"{LESSON_JS}.score"))[0]
        page.button("Copy link to this attempt").click()
        link = page.copied("five_passes")
    with stand.page(f"?{urlsplit(link).query}") as page:
        page.wait(f"({LESSON_JS}.score ?? '').includes('replayed from the link')")
        assert page.page.evaluate(f"{LESSON_JS}.score").startswith(score)


# Share and export


@tries("Share and export")
def links(stand: Stand) -> None:
    """Link, QR code, Python from the page."""
    with stand.lab() as page:
        page.played(5)
        page.type("bandwidth", "0.5")
        page.wait("JSON.parse(pmdviz.model('acknowledge').shown).bandwidth === 0.5")
        page.step(page.rest() + 1)
        page.press("Copy link")
        page.said("Copied to the clipboard.")
        link, words = page.page.evaluate("navigator.clipboard.readText()"), page.words()
        page.press("Copy Python")
        names: dict[str, Any] = {}
        exec(page.copied("import pmdviz"), names)
        assert f"TV {names['run'].final.metrics['tv']:.3f}"[:7] in words, (words, names["run"].final.metrics["tv"])
        page.menu_text("Link and QR code").click()
        page.press("Show a QR code")
        code = page.page.get_by_alt_text(re.compile("QR code"))
        code.wait_for()
        assert code.evaluate("image => image.naturalWidth") > 100
    with stand.page(f"?{urlsplit(link).query}") as page:
        page.wait(f"pmdviz.words().startsWith({json.dumps(words)})")


@tries("Share and export")
def page_files(stand: Stand) -> str:
    """Files of a run from the page."""
    with stand.lab() as page:
        stood = page.played(6)
        path = page.downloaded(stand.folder, lambda: page.press("Download CSV"))
        rows = list(csv.reader(line for line in path.read_text(encoding="utf-8").splitlines() if line[0] != "#"))
        assert len(rows) >= 4, rows
        path = page.downloaded(stand.folder, lambda: page.press("Save PNG"))
        with Image.open(path) as picture:
            assert picture.size[0] > 300
        page.press("Export …")
        page.menu("Kind of file").wait_for()
        made = {}
        kinds = [title.partition(":")[0].lower() for title in page.options("Kind of file")]
        assert set(SUFFIXES) <= set(kinds), kinds
        for suffix in SUFFIXES if stand.long else ("gif", "json"):
            box = page.menu("Kind of file")
            box.select_option(label=next(t for t in page.options("Kind of file") if t.startswith(f"{suffix.upper()}:")))
            page.page.wait_for_timeout(1500)
            page.press("Export")
            page.page.locator(EXPORTED, has_text=f"pmdviz.{suffix} is ready.").wait_for()
            link = page.page.get_by_text(re.compile(rf"^Download pmdviz.{suffix} "))
            made[suffix] = page.downloaded(stand.folder, link.click)
        with Image.open(made["gif"]) as film:
            assert film.n_frames == stood + 1, (film.n_frames, stood)
        recipe = Recipe.from_json(made["json"].read_text(encoding="utf-8"))
        assert pmdviz.run(recipe).final.iteration == stood
        page.press("Restart")
        page.wait("pmdviz.iteration() === 0")
        opened = json.loads(made["json"].read_text(encoding="utf-8")) | {"seed": 11}
        written = stand.desk.write("opened.json", json.dumps(opened))
        page.page.locator("input[type=file][accept='.json']").set_input_files(written)
        page.wait(f"pmdviz.find('{KNOB.format('seed')}').value === '11'")
    return ", ".join(made)


@tries("Share and export")
def export_cancelled(stand: Stand) -> None:
    """Cancel a film from the page."""
    with stand.lab() as page:
        page.choose(BUDGET, ENDLESS)
        page.choose(SPEED, FAST)
        page.press("Play")
        page.reach(60)
        page.press("Export …")
        page.menu("Kind of file").wait_for()
        page.choose("Kind of file", next(t for t in page.options("Kind of file") if t.startswith("GIF:")))
        page.choose("Size", "1920x1080")
        page.press("Export")
        page.page.locator(EXPORTED, has_text=" frames, ").wait_for()
        before = page.page.evaluate("pmdviz.iteration()")
        page.reach(before + 2)
        page.press("Cancel")
        page.page.locator(EXPORTED, has_text="Cancelled: no file was made.").wait_for()


@tries("Share and export")
def race_files(stand: Stand) -> None:
    """Files of a race from the page."""
    race = pmdviz.RaceRecipe.checked("pmd:num_particles=100,smc:num_particles=80", "mixture", budget=1_000)
    with stand.page(f"?page=race&race={race.to_link()}", ready=f"{RACE_AT} >= 0") as page:
        page.press("Step")
        page.wait(f"{RACE_AT} > 0")
        page.page.get_by_text("Save a file: film, page, picture or data").locator("visible=true").click()
        page.menu("Kind of file").wait_for()
        for suffix in ("json", "png"):
            page.menu("Kind of file").select_option(
                label=next(t for t in page.options("Kind of file") if t.startswith(f"{suffix.upper()}:"))
            )
            page.page.wait_for_timeout(1500)
            page.press("Export")
            page.page.locator(EXPORTED, has_text=f"pmdviz-race.{suffix} is ready.").locator("visible=true").wait_for()
            path = page.downloaded(
                stand.folder, page.page.get_by_text(re.compile(rf"^Download pmdviz-race.{suffix} ")).click
            )
            if suffix == "json":
                assert len(pmdviz.RaceRecipe.from_json(path.read_text(encoding="utf-8")).entrants) == 2
            else:
                assert Image.open(path).size[0] > 300


# Notebooks

CELLS = ("import pmdviz\nlab = pmdviz.Lab(num_particles=200, budget=None)\nlab",
         "race = pmdviz.Race(['pmd:num_particles=50', 'smc:num_particles=50'], budget=1_000)\nrace")  # fmt: skip


@tries("Notebooks")
def notebook_7(stand: Stand) -> None:
    """Notebook 7, offline."""
    with jupyter(stand.folder / NOTEBOOK[0], CELLS, NOTEBOOK) as served:
        page = served.open(stand.browser)
        page.page.set_default_timeout(PATIENCE * 1000)
        for _ in range(
            5
        ):  # anywidget gives up after two seconds, as docs/how-to/in-a-notebook.md says: the cell is run again
            page.run(0)
            page.page.wait_for_timeout(10_000)
            if page.page.evaluate("pmdviz.iteration() >= 0"):
                break
        page.page.get_by_role("button", name="Play", exact=True).first.click()
        page.until("lab.widget.iteration >= 3", PATIENCE)
        page.ask("[lab.set(bandwidth=0.5), setattr(lab.widget, 'playing', False)]")
        page.page.wait_for_function("pmdviz.find('input#knob-bandwidth').value === '0.5'")
        assert page.ask("[lab.widget.bandwidth, lab.recipe.method, len(lab.run.particles)]") == [0.5, "pmd", 200]
        page.run(1)
        page.until("race.widget.iteration >= 0", PATIENCE)
        assert page.foreign == [], page.foreign
        page.close()


# Promises


@tries("Promises")
def cancels(stand: Stand) -> str:
    """Cancel."""
    knobs = {"num_particles": 100_000, "batch_size": 10_000, "policy": "always", "step_limit": 0.0, "budget": 10**7}
    link = Recipe("mixture", target_options={"num_data": 10_000}, **knobs).to_link()
    with stand.page(f"?run={link}") as page:
        before = page.pixels()
        page.press("Step")
        button = page.button("Cancel")
        button.wait_for()
        begun = time.monotonic()
        button.click()
        page.said(re.compile("^Cancelled"))
        seconds = time.monotonic() - begun
        page.becomes(before, alike=True)
        assert page.page.evaluate("pmdviz.iteration()") == 0
    return f"{1000 * seconds:.0f} ms from the click to the words, on this machine as loaded as it is"


@tries("Promises")
def memory(stand: Stand) -> str:
    """Memory flat over sessions."""
    from tests.support.crowd import Crowd

    rounds, together = (30, 10) if stand.long else (4, 5)
    port = free_port()
    with stand.serving(port=port) as url:
        pid = next(c.pid for c in psutil.net_connections("tcp") if c.status == "LISTEN" and c.laddr.port == port)
        used = []
        for _ in range(rounds):
            crowd = Crowd(url)
            crowd.join(together)
            time.sleep(2)
            crowd.leave()
            assert crowd.errors == [], crowd.errors
            time.sleep(20)  # a closed session is let go of within seconds
            used.append(psutil.Process(pid).memory_info().rss / 2**20)
        elsewhere = [c.raddr for c in psutil.Process(pid).net_connections() if c.raddr and c.raddr.ip != "127.0.0.1"]
    half = rounds // 2
    assert used[-1] - used[half - 1] < 1.0 * together * half, used
    assert elsewhere == [], elsewhere
    return f"{rounds * together} sessions, {used[-1] - used[half - 1]:+.1f} MB over the second half"


@tries("Promises")
def no_requests(stand: Stand) -> str:
    """No request leaves the machine."""
    with stand.page() as page:
        for tab in ("Race", "Theory", "Geometry", "Methods", "Lessons", "Lab"):
            page.go(tab)
            page.wait(f"document.title === 'pmdviz: {tab}'")
            page.page.wait_for_timeout(1_000)
        own = (stand.url, stand.url.replace("http", "ws"), "blob:", "data:")
        foreign = [url for url in page.requests if not url.startswith(own)]
        assert foreign == [] and len(page.requests) > 10, foreign
        return f"{len(page.requests)} requests"
