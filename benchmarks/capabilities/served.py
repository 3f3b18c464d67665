"""Capabilities of the served app that no test tries in a browser. Each function raises where one is lost."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import psutil
from PIL import Image

import pmdviz
from pmdviz import Recipe
from pmdviz.lab.controls.widgets import MORE
from tests.browser.conftest import Lab, look_alike
from tests.support.browser import await_answer, chromium, free_port, in_sight, lab_command, server, set_speed
from tests.support.crowd import Crowd
from tests.support.jupyter_page import NOTEBOOK, jupyter

ROOT = Path(__file__).parents[2]
TABLE: list[tuple[str, Callable[[Any], str | None]]] = []
PRESETS, TARGETS, METHODS = 59, 23, 35  # at least so many of each
PATIENCE = 300.0  # seconds: a busy machine compiles kernels meanwhile
GRANTS = ["clipboard-read", "clipboard-write"]
PHONE = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True}
STAGE, TRACES = ".pmdviz-stage", ".pmdviz-traces:not(.pmdviz-hidden)"
LESSON_JS = """(() => { for (const m of window.Bokeh?.documents[0]?._all_models.values() ?? [])
  if (m.data?.told?.lesson !== undefined) return m.data.told
  return {} })()"""
BANDS_JS = """Bokeh.documents.flatMap((doc) => [...doc._all_models.values()])
  .filter((m) => m.glyph?.type === "VArea" && m.data_source.data.x?.length > 1).length"""
NGINX = """pid {folder}/pid; error_log {folder}/error.log; events {{}}
http {{ access_log off; {more} server {{ listen 127.0.0.1:{front}; location /stats/lab/ {{
  proxy_pass http://127.0.0.1:{back}/; proxy_http_version 1.1; proxy_buffering off; proxy_set_header Host $http_host;
  proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection upgrade; }} }} }}
"""

OWN_TARGET = """
import numpy as np, pmdviz
dose = pmdviz.custom_target(
    log_prior=lambda theta: -0.5 * (theta**2).sum(axis=1),
    log_likelihood=lambda theta, batch: -0.5 * ((theta[:, :1] - batch[:, 0]) ** 2).sum(axis=1),
    sample_prior=lambda rng, m: rng.standard_normal((m, 2)),
    data=np.random.default_rng(0).normal(1.0, 1.0, (60, 1)), dim=2, name="dose")
"""
LESSON = """---
title: How few particles?
question: Two modes, twenty particles. Is that enough?
minutes: 5
---
The posterior has two modes.

```{step} twenty
---
title: Twenty particles
recipe:
  target: mixture
  target_options: {num_data: 400, sigma_x: 1.5}
  budget: 4000
  knobs: {num_particles: 20}
---
Press **Play** and watch both modes.
```
"""


def tries(area: str) -> Callable[[Any], Any]:
    """Enter a check into the table; its docstring names the capability."""
    return lambda check: TABLE.append((area, check)) or check


class Page(Lab):
    """A page of the app on a machine that may be busy; what the sheets have is found wherever it is."""

    def __init__(self, browser: Any, url: str, **options: Any) -> None:
        super().__init__(browser, url, **{"permissions": GRANTS, **options})
        self.page.set_default_timeout(PATIENCE * 1000)

    def wait(self, condition: str, seconds: float = 0.0) -> None:
        """Until a JavaScript expression is true."""
        super().wait(condition, PATIENCE)

    def press(self, label: str) -> None:
        """Press a button, or choose an entry of the small menu."""
        if label in MORE:
            super().press(label)
        else:
            in_sight(self.page, lambda: self.page.get_by_role("button", name=label, exact=True)).click()

    def menu(self, label: str) -> Any:
        """The menu of that name."""
        return in_sight(self.page, lambda: self.page.get_by_label(label, exact=True))

    def options(self, label: str) -> list[str]:
        """The entries of a menu."""
        return self.menu(label).locator("option").all_inner_texts()

    def choose(self, label: str, option: str) -> None:
        """Choose from a menu, and wait until it shows that."""
        self.menu(label).select_option(label=option)
        chosen = self.menu(label).locator("option:checked")
        chosen.filter(has_text=option).wait_for(state="attached")

    def begin(self, label: str, option: str) -> None:
        """Choose what begins another run, and wait for its first picture: the address changes with it."""
        before = self.page.evaluate("location.search")
        self.menu(label).select_option(label=option)
        self.wait(f"location.search !== {json.dumps(before)} && pmdviz.iteration() === 0")
        self.at_rest("pmdviz.picture()")

    def said(self, text: str) -> None:
        """Wait until a visible text matches a pattern."""
        self.page.get_by_text(re.compile(text)).locator("visible=true").first.wait_for()

    def played(self, to: int) -> int:
        """Play to an iteration, no faster than Pause can be pressed, pause, and say which one is shown."""
        set_speed(self.page, "10 iterations a second")
        self.press("Play")
        self.reach(to)
        self.press("Pause")
        return self.at_rest(looks=8)

    def pixels(self, part: str = STAGE) -> np.ndarray:
        """A part of the page as a grey picture."""
        shot = self.page.locator(part).locator("visible=true").first.screenshot()
        return np.asarray(Image.open(io.BytesIO(shot)).convert("L"), float)

    def becomes(self, old: np.ndarray, alike: bool = False, part: str = STAGE) -> np.ndarray:
        """The picture of a part once it differs from an old one (or is alike). Raises AssertionError if it never is."""
        late = time.monotonic() + PATIENCE / 4
        while look_alike(now := self.pixels(part), old) is not alike:
            assert time.monotonic() < late, f"the picture {'differs from' if alike else 'is'} the one before"
            self.page.wait_for_timeout(100)
        return now


class Stand:
    """A browser and the servers that the checks share; each is begun when it is first needed."""

    def __init__(self, folder: Path, long: bool) -> None:
        self.folder, self.long = folder, long
        self._stack = ExitStack()

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
        site, lessons = self.folder / "site", self.folder / "lessons"
        subprocess.run([sys.executable, "-m", "pmdviz", "docs", str(site), "--gallery", "none"], check=True)
        lessons.mkdir()
        (lessons / "few_particles.md").write_text(LESSON, encoding="utf-8")
        (self.folder / "own_target.py").write_text(OWN_TARGET, encoding="utf-8")
        more = ["--lessons", str(lessons), "--target", "own_target:dose"]
        more += ["--docs", str(site), "--max-particles", "3000", "--max-sessions", "3"]
        return self._stack.enter_context(self.serving(*more))

    @contextmanager
    def serving(self, *more: str, port: int = 0, command: list[str] | None = None) -> Iterator[str]:
        """A server of its own; its address. Raises AssertionError for a traceback in its log."""
        port = port or free_port()
        path = self.folder / f"serve-{port}.log"
        with path.open("a") as log:
            places = os.pathsep.join([str(self.folder), str(ROOT)])
            with server(command or lab_command(port, *more), port, log=log, PYTHONPATH=places):
                yield f"http://127.0.0.1:{port}"
        assert "Traceback" not in path.read_text(encoding="utf-8"), path.read_text(encoding="utf-8")[-1000:]

    @contextmanager
    def page(self, query: str = "", url: str = "", **options: Any) -> Iterator[Page]:
        """A page of the app in a browser of its own. Raises AssertionError for what the browser complained of."""
        page = Page(self.browser, f"{url or self.url}{query}", **options)
        try:
            yield page
            assert page.problems == [], page.problems[:3]
        finally:
            page.context.close()


def moves(stand: Stand, url: str) -> None:
    """A page is drawn; Play moves iteration and pixels, Pause stops both."""
    with stand.page(url=url) as page:
        before = page.pixels()
        stood = page.played(4)
        page.becomes(page.becomes(before), alike=True)
        assert page.iteration() == stood >= 4


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
        listening = [c for c in psutil.net_connections("tcp") if c.status == "LISTEN" and c.laddr.port - port in (0, 1)]
        assert len({c.pid for c in listening}) == 2, listening
        for each in (url, url.replace(str(port), str(port + 1))):
            moves(stand, each)


@tries("Serve")
def own_things(stand: Stand) -> None:
    """--target module:object, --lessons FOLDER, --docs FOLDER, limits per session."""
    with stand.page(url=stand.class_url) as page:
        page.begin("Target", "dose")
        page.press("Step")
        page.wait("pmdviz.iteration() === 1")
        assert "TV" in page.words()
        page.type("num_particles", "5000")
        page.said("at least 1 and at most 3,000")
        others = [page.context.new_page() for _ in range(3)]
        for other in others:
            other.goto(stand.class_url)
        others[-1].get_by_text("Server full (3 sessions)").wait_for()
        others[0].goto(f"{stand.class_url}/docs/tutorials/first-steps.html")
        assert others[0].get_by_role("heading", level=1).inner_text().startswith("First steps")
    with stand.page("?lesson=few_particles", url=stand.class_url) as page:
        page.wait(f"{LESSON_JS}.lesson && pmdviz.words().includes('of 4,000')")
        page.said("watch both modes")


@tries("Serve")
def prefixed(stand: Stand) -> None:
    """Behind a proxy with a prefix."""
    program = shutil.which("nginx") or shutil.which("/usr/sbin/nginx")
    assert program, "nginx is not installed"
    front, back, folder = free_port(), free_port(), stand.folder / "nginx"
    folder.mkdir(exist_ok=True)
    more = "".join(
        f"{what}_temp_path {folder}/{what};" for what in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    config = folder / "nginx.conf"
    config.write_text(NGINX.format(folder=folder, front=front, back=back, more=more), encoding="utf-8")
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
    number, seconds = (30, 60) if stand.long else (5, 15)
    with stand.serving() as url:
        crowd = Crowd(url)
        crowd.join(number)
        begun, before = time.monotonic(), [client.iteration for client in crowd.clients]
        time.sleep(seconds)
        rates = [client.rate(begun, time.monotonic()) for client in crowd.clients]
        moved = [client.iteration - old for client, old in zip(crowd.clients, before, strict=True)]
        crowd.leave()
    assert crowd.errors == [] and min(moved) > 0 and min(rates) > 0.25 * sorted(rates)[number // 2], (moved, rates)
    return f"{number} sessions, {min(rates):.1f} to {max(rates):.1f} frames a second"


MENUS = {  # at least so many entries, and those that are tried
    "Preset": (PRESETS, ("Two modes", "A single Gaussian")),
    "Target": (TARGETS, ("Banana (2-D)", "Ising model (discrete)", "Conjugate Gaussian (any dimension)")),
    "Method": (16, ("Particle Mirror Descent", "Hamiltonian Monte Carlo")),  # of those that fit the target
}


@tries("Lab")
def menus(stand: Stand) -> str:
    """59 presets, 23 targets with options, 35 methods with settings."""
    with stand.page("?preset=particles_die") as page:
        for label, (least, some) in MENUS.items():
            titles = [title for title in page.options(label) if title != "Custom"]
            assert len(titles) >= least, (label, len(titles))
            for title in titles if stand.long else some:
                last = page.pixels()
                page.begin(label, title)
                page.press("Step")
                page.wait("pmdviz.iteration() === 1")
                page.becomes(last)
        page.begin("Target", "Conjugate Gaussian (any dimension)")
        in_sight(page.page, lambda: page.page.get_by_text("Data and options of the target")).click()
        page.type("num_data", "37")
        page.said(r"\b37 observations")
        page.go("Methods")
        words = page.page.get_by_text(re.compile(r"^\d+ of \d+ methods")).first.inner_text()
        assert int(re.search(r"of (\d+) methods", words)[1]) >= METHODS, words
    return "all entries" if stand.long else f"{sum(len(some) for _, some in MENUS.values())} entries"


@tries("Lab")
def trace_menus(stand: Stand) -> str:
    """Traces of every metric against four clocks."""
    with stand.page() as page:
        page.played(12)
        groups, clocks = page.options("Traces"), page.options("x-axis")
        assert len(groups) >= 10 and len(clocks) >= 4, (groups, clocks)
        for label, options in (("x-axis", clocks[1:] + clocks[:1]), ("Traces", groups[1:])):
            for option in options:
                last = page.pixels(TRACES)
                page.choose(label, option)
                page.at_rest("pmdviz.picture()")
                assert page.pixels(TRACES).shape != last.shape or (page.pixels(TRACES) != last).any(), option
    return f"{len(groups)} groups, {len(clocks)} clocks"


PICTURES = {  # target: method, and pictures that its menu has
    "mixture": ("pmd", ("Posterior", "Lines of descent", "Where they differ", "Marginals")),
    "logistic": ("pmd", ("Decision lines", "Marginals")),
    "sparse_gp": ("structured_pmd", ("Function",)),
    "topics": ("structured_pmd", ()),  # a single picture has no menu
    "ising": ("gibbs", ()),
}


@tries("Lab")
def pictures(stand: Stand) -> str:
    """Pictures, ancestors."""
    seen = 0
    for target, (method, titles) in PICTURES.items():
        with stand.page(f"?run={Recipe(target, method, budget=10**6).to_link()}&at=4") as page:
            page.reach(4)
            offered, last = page.options("Picture") if titles else [], page.pixels()
            assert set(titles) <= set(offered), (target, offered)
            for title in offered[1:] + offered[:1]:
                page.choose("Picture", title)
                last = page.becomes(last)
            if not titles:
                page.press("Step")
                page.wait("pmdviz.iteration() === 5")
                assert (page.pixels() != last).any()
            seen += max(1, len(offered))
            if target == "logistic":
                page.choose("Horizontal", "w₁")
                page.wait("pmdviz.model('stage').below[0].axis_label === 'w₁'")
    return f"{seen} pictures"


@tries("Lab")
def judgements(stand: Stand) -> None:
    """Other seeds as a band, goodness-of-fit card, diagnosis."""
    with stand.page(f"?run={Recipe('mixture', budget=2_000, num_particles=200).to_link()}&at=8") as page:
        page.reach(8)
        page.choose("Other seeds", "8")
        page.press("Repeat with other seeds")
        page.said("of 8 other seeds")
        assert page.page.evaluate(BANDS_JS) == 1
    with stand.page(f"?run={Recipe('mixture', 'svi', budget=20_000).to_link()}&at=20") as page:
        page.reach(20)
        in_sight(page.page, lambda: page.page.get_by_text("Goodness-of-fit test")).click()
        page.press("Test this sample")
        assert "rejected" in page.page.locator(".pmdviz-fit-said", has_text=", p = ").inner_text()
    with stand.page("?preset=head_start") as page:
        page.hurry()
        page.press("Play")
        page.said("Done:")
        page.press("Why?")
        page.wait(r"/\d/.test(pmdviz.find('.pmdviz-diagnosed')?.textContent ?? '')")


@tries("Lab")
def phone(stand: Stand) -> None:
    """Phone."""
    with stand.page(**PHONE, user_agent="Mozilla/5.0 (Linux; Android 14) Mobile") as page:
        stage, button = page.boxes(STAGE, ".pmdviz-play")
        assert stage["width"] >= 350 and abs(stage["width"] - stage["height"]) < 2, stage
        assert button["bottom"] <= 844 and page.page.evaluate("document.documentElement.scrollWidth") <= 390
        before = page.pixels()
        page.page.get_by_role("button", name="Play", exact=True).locator("visible=true").first.tap()
        page.reach(3)
        page.press("Pause")
        page.becomes(before)


@tries("Pages")
def challenge(stand: Stand) -> None:
    """Challenge: a score that replays."""
    with stand.page("?lesson=five_passes", locale="en") as page:
        page.wait(f"{LESSON_JS}.lesson && {LESSON_JS}.goal")
        page.hurry()
        page.press("Play")
        page.wait(f"/Score \\d+ of 100/.test({LESSON_JS}.score ?? '')")
        score = re.search(r"Score \d+", page.page.evaluate(f"{LESSON_JS}.score"))[0]
        page.press("Copy link to this attempt")
        page.page.wait_for_function("navigator.clipboard.readText().then((t) => t.includes('five_passes'))")
        link = page.page.evaluate("navigator.clipboard.readText()")
    with stand.page(f"?{urlsplit(link).query}") as page:
        page.wait(f"({LESSON_JS}.score ?? '').includes('replayed from the link')")
        assert page.page.evaluate(f"{LESSON_JS}.score").startswith(score)


CELLS = ("import pmdviz\nlab = pmdviz.Lab(num_particles=200, budget=None)\nlab",
         "race = pmdviz.Race(['pmd:num_particles=50', 'smc:num_particles=50'], budget=1_000)\nrace")  # fmt: skip


@tries("Notebooks")
def notebook_7(stand: Stand) -> None:
    """Notebook 7, offline."""
    with jupyter(stand.folder / NOTEBOOK[0], CELLS, NOTEBOOK) as served:
        page = served.open(stand.browser)
        page.page.set_default_timeout(PATIENCE * 1000)
        for _ in range(5):  # anywidget gives up after two seconds: the cell is run again (docs/how-to/in-a-notebook.md)
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


@tries("Promises")
def cancels(stand: Stand) -> str:
    """Cancel."""
    knobs = {"num_particles": 100_000, "batch_size": 10_000, "policy": "always", "step_limit": 0.0, "budget": 10**7}
    with stand.page(f"?run={Recipe('mixture', target_options={'num_data': 10_000}, **knobs).to_link()}") as page:
        before = page.pixels()
        page.press("Step")
        button = page.page.get_by_role("button", name="Cancel", exact=True).locator("visible=true").first
        button.wait_for()
        begun = time.monotonic()
        button.click()
        page.said("^Cancelled")
        seconds = time.monotonic() - begun
        page.becomes(before, alike=True)
        assert page.iteration() == 0
    return f"{1000 * seconds:.0f} ms from the click to the words, on this machine as loaded as it is"


@tries("Promises")
def memory(stand: Stand) -> str:
    """Memory flat over sessions."""
    rounds, together = (30, 10) if stand.long else (4, 5)
    port, used = free_port(), []
    with stand.serving(port=port) as url:
        pid = next(c.pid for c in psutil.net_connections("tcp") if c.status == "LISTEN" and c.laddr.port == port)
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
    assert used[-1] - used[half - 1] < 1.0 * together * half and elsewhere == [], (used, elsewhere)
    return f"{rounds * together} sessions, {used[-1] - used[half - 1]:+.1f} MB over the second half"


@tries("Promises")
def no_requests(stand: Stand) -> str:
    """No request leaves the machine."""
    with stand.page() as page:
        for tab in ("Race", "Theory", "Geometry", "Methods", "Lessons", "Lab"):
            page.go(tab)
            page.wait(f"document.title === 'pmdviz: {tab}' && Bokeh.documents[0].is_idle")
        own = (stand.url, stand.url.replace("http", "ws"), "blob:", "data:")
        foreign = [url for url in page.requests if not url.startswith(own)]
        assert foreign == [] and len(page.requests) > 10, foreign
        return f"{len(page.requests)} requests"
