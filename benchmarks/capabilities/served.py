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
from PIL import Image

from pmdviz.lab.controls.widgets import MORE
from tests.browser.conftest import Lab, look_alike
from tests.support.browser import await_answer, chromium, free_port, in_sight, lab_command, server, set_speed
from tests.support.jupyter_page import NOTEBOOK, jupyter

ROOT = Path(__file__).parents[2]
TABLE: list[tuple[str, Callable[[Any], str | None]]] = []
PRESETS, TARGETS, METHODS = 59, 23, 35  # at least so many of each
PATIENCE = 300.0  # seconds: a busy machine compiles kernels meanwhile
GRANTS = ["clipboard-read", "clipboard-write"]
PHONE = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True}
STAGE = ".pmdviz-stage"
LESSON_JS = """(() => { for (const m of window.Bokeh?.documents[0]?._all_models.values() ?? [])
  if (m.data?.told?.lesson !== undefined) return m.data.told
  return {} })()"""
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
    def serving(self, *more: str, port: int = 0) -> Iterator[str]:
        """A server of its own; its address. Raises AssertionError for a traceback in its log."""
        port = port or free_port()
        path = self.folder / f"serve-{port}.log"
        with path.open("a") as log:
            places = os.pathsep.join([str(self.folder), str(ROOT)])
            with server(lab_command(port, *more), port, log=log, PYTHONPATH=places):
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
