"""A served lab and a real Chromium for the tests of this folder."""

import io
import json
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from PIL import Image

from pmdviz.lab.panels.widgets import MORE
from tests.support import browser as support
from tests.support.browser import HELPERS_JS, free_port, open_sheet, painted

HERE = Path(__file__).parent
SIZE = {"width": 1440, "height": 900}
SAID = 4000  # characters of a log
BY_DEFAULT = {"test_page", "test_player"}  # files whose tests have their tiers themselves; those of all others are `ci`


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.browser)
            if item.path.stem not in BY_DEFAULT:
                item.add_marker(pytest.mark.ci)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A test that fails shows the end of its server's log."""
    report = yield
    server = getattr(item, "funcargs", {}).get("server")
    if report.failed and isinstance(server, Server):
        report.sections.append(("log of the server", server.words()[-SAID:]))
    return report


class Server(NamedTuple):
    port: int
    process: subprocess.Popen
    log: Path

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def words(self) -> str:
        return self.log.read_text()


@contextmanager
def running(command: list[str], log: Path) -> Iterator[Server]:
    port = free_port()
    with log.open("w") as out, support.server([*command, "--port", str(port)], port, log=out) as process:
        yield Server(port, process, log)
    assert "Traceback" not in log.read_text(), log.read_text()


@pytest.fixture(scope="session")
def server(chromium: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running([sys.executable, "-m", "pmdviz", "serve"], tmp_path_factory.mktemp("serve") / "log") as made:
        yield made


def stage_pixels(page: object) -> np.ndarray:
    """The picture in grey, without the cards that may lie on it while something is computed."""
    stage = page.locator(".pmdviz-stage >> visible=true").first
    shot = stage.screenshot(style=".pmdviz-busy, .pmdviz-notice { visibility: hidden !important }")
    return np.asarray(Image.open(io.BytesIO(shot)).convert("L"), float)


def look_alike(one: np.ndarray, two: np.ndarray) -> bool:
    """Equal but for shifts of less than a pixel, which a new layout of the page may bring."""
    return one.shape == two.shape and float((np.abs(one - two) > 80).mean()) < 1e-3


class Lab:
    """A page of the lab as a person uses it; every problem ends in `problems`. Slowness 6: a slow computer."""

    def __init__(self, browser: object, url: str, slowness: float = 1, **options: object) -> None:
        self.problems: list[str] = []
        self.requests: list[str] = []
        self.context = browser.new_context(**{"viewport": SIZE, **options})
        self.page = self.context.new_page()
        self.page.add_init_script(HELPERS_JS)
        self.page.on("console", lambda m: self.problems.append(m.text) if m.type == "error" else None)
        self.page.on("pageerror", lambda e: self.problems.append(e.stack or str(e)))
        self.page.on("request", lambda r: self.requests.append(r.url))
        if slowness > 1:
            self.context.new_cdp_session(self.page).send("Emulation.setCPUThrottlingRate", {"rate": slowness})
        self.page.goto(url)
        self.wait("window.pmdviz && pmdviz.iteration() >= 0 && pmdviz.model('acknowledge')?.drawn > 0", 120)
        painted(self.page)  # the heading tells the stage its height only then

    def wait(self, condition: str, seconds: float = 20.0) -> None:
        self.page.wait_for_function(condition, timeout=seconds * 1000, polling=30)

    def press(self, label: str) -> None:
        if label in MORE:
            support.choose(self.page, label)
        else:
            self.page.get_by_role("button", name=label, exact=True).locator("visible=true").first.click()

    def settings(self) -> None:
        open_sheet(self.page, "All settings")

    def go(self, title: str) -> None:
        support.open_page_tab(self.page, title)

    def help(self, entry: str) -> None:
        """Open what the menu of pages has besides them: Help, What is this? or the Tour."""
        self.press("More")
        self.press(entry)

    def share(self) -> None:
        open_sheet(self.page, "Share")

    def iteration(self) -> int:
        return self.page.evaluate("pmdviz.iteration()")

    def words(self) -> str:
        return self.page.evaluate("pmdviz.words()")

    def picture(self) -> int:
        return self.page.evaluate("pmdviz.picture()")

    def drawn(self) -> int:
        return self.page.evaluate("pmdviz.model('acknowledge').drawn")

    def settled(self) -> None:
        self.wait("(() => { const a = pmdviz.model('acknowledge'); return a.sent === a.drawn })()")

    def at_rest(self, expression: str = "pmdviz.iteration()", looks: int = 4, seconds: float = 60.0) -> Any:
        """The value of an expression once it is the same in so many looks, a tenth of a second apart."""
        end, seen = time.monotonic() + seconds, []
        while len(seen) < looks or any(look != seen[-1] for look in seen[-looks:]):
            assert time.monotonic() < end, f"it goes on and on: {seen[-1]}"
            self.page.wait_for_timeout(100)
            seen.append(self.page.evaluate(expression))
        return seen[-1]

    def boxes(self, *selectors: str) -> list[dict[str, float]]:
        """Where parts of the page are, all at one moment and once none of them moves."""
        return self.at_rest(f"{json.dumps(selectors)}.map((one) => pmdviz.find(one).getBoundingClientRect().toJSON())")

    def hurry(self) -> None:
        """Play as fast as it goes: most tests are about something else than what a person sees at first."""
        support.hurry(self.page)

    def reach(self, iteration: int) -> None:
        self.wait(f"pmdviz.iteration() >= {iteration}", 60)

    def paused_at(self, iteration: int) -> int:
        """Play up to an iteration at least, pause, and say where it stands then."""
        self.hurry()
        self.press("Play")
        self.reach(iteration)
        self.press("Pause")
        self.page.get_by_role("button", name="Play", exact=True).wait_for()
        stood = self.at_rest(looks=10)  # the step under way when Pause was pressed still comes
        self.settled()
        return stood

    def endless(self) -> None:
        self.choose("Run length (observations used)", "endless")
        self.wait("/^iteration [\\d,]+, [\\d,]+ observations used/.test(pmdviz.words())")

    def choose(self, label: str, option: str) -> None:
        self.settings()
        self.page.get_by_label(label, exact=True).select_option(option)

    def knob(self, name: str) -> object:
        return self.page.locator(f"input#knob-{name}, select#knob-{name}")

    def type(self, name: str, text: str) -> None:
        """Type a value into a knob's box, which is among the settings if not in sight, and press Enter."""
        box = self.knob(name)
        if not box.is_visible():
            self.settings()
        box.fill(text)
        box.press("Enter")

    def view(self) -> list[float]:
        read = "({x_range: x, y_range: y}) => [x.start, x.end, y.start, y.end]"
        return self.page.evaluate(f"({read})(pmdviz.model('stage'))")


@pytest.fixture
def open_lab(server: Server, browser: object) -> Iterator[Callable[..., Lab]]:
    made: list[Lab] = []

    def opened(address: str = "/", **options: object) -> Lab:
        made.append(Lab(browser, server.url + address, **options))
        return made[-1]

    yield opened
    for lab in made:
        lab.context.close()
        assert lab.problems == []
        own = (server.url, "blob:", "data:", server.url.replace("http", "ws"))
        assert [url for url in lab.requests if not url.startswith(own)] == []


@pytest.fixture
def lab(open_lab: Callable[..., Lab]) -> Lab:
    return open_lab()
