"""A served lab and a headless Chromium, for the benches that watch the app as a person would."""

import importlib.util
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pmdviz.errors import InputError

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
BUNDLES = (
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
)
FLAGS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1"),
)
START_S = 180.0  # a cold cache and busy cores

# Elements live in nested shadow roots; the acknowledgement model and the figures have stable names.
HELPERS_JS = """
window.pmdviz = {
  find(selector, root = document) {
    const here = root.querySelector(selector)
    if (here) return here
    for (const e of root.querySelectorAll("*")) {
      const found = e.shadowRoot && this.find(selector, e.shadowRoot)
      if (found) return found
    }
    return null
  },
  middle(from, to, end) { return (Math.max(from, 0) + Math.min(to, end)) / 2 },  // of the part within the window
  top(x, y) {  // the innermost element at a place
    let e = document.elementFromPoint(x, y), inner
    while ((inner = e?.shadowRoot?.elementFromPoint(x, y)) && inner !== e) e = inner
    return e
  },
  holds(e, inner) { for (; inner; inner = inner.parentNode ?? inner.host) if (inner === e) return true },
  canvases(root, list = []) {
    for (const e of root.querySelectorAll("*")) {
      if (e.tagName == "CANVAS") list.push(e)
      if (e.shadowRoot) this.canvases(e.shadowRoot, list)
    }
    return list
  },
  words() {
    if (!this.status?.isConnected) this.status = this.find(".pmdviz-status")  // a search costs more than a frame
    return this.status?.textContent ?? ""
  },
  iteration() {
    const found = this.words().match(/iteration ([\\d,]+)/)
    return found ? Number(found[1].replaceAll(",", "")) : -1
  },
  model(name) {
    for (const doc of window.Bokeh?.documents ?? [])
      for (const m of doc._all_models.values()) if (m.name === name) return m
    return null
  },
  picture() {
    if (!this.layers?.length || !this.layers.every((c) => c.isConnected)) {
      const stage = this.find(".pmdviz-stage")
      this.layers = stage?.shadowRoot ? this.canvases(stage.shadowRoot) : []
    }
    const small = this.small ??= Object.assign(document.createElement("canvas"), {width: 64, height: 64})
    const g = small.getContext("2d", {willReadFrequently: true})
    g.clearRect(0, 0, 64, 64)
    for (const c of this.layers) if (c.width && c.height) g.drawImage(c, 0, 0, 64, 64)
    let hash = 0
    const pixels = new Uint32Array(g.getImageData(0, 0, 64, 64).data.buffer)
    for (const pixel of pixels) hash = (Math.imul(hash, 31) + pixel) | 0
    return hash
  },
}
"""


def find_chromium() -> str | None:
    """Path of a Chromium or Chrome: PMDVIZ_CHROMIUM, then PATH, then where macOS keeps it."""
    named = os.environ.get("PMDVIZ_CHROMIUM")
    on_path = next(filter(None, map(shutil.which, NAMES)), None)
    bundles = BUNDLES if sys.platform == "darwin" else ()
    return named or on_path or next((path for path in bundles if Path(path).exists()), None)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextmanager
def server(command: list[str], port: int, log: Any = None, **environment: str) -> Iterator[subprocess.Popen]:
    """Run `command` until /liveness answers, its words into the open file `log`; ended by SIGTERM at the end."""
    out = subprocess.DEVNULL if log is None else log
    process = subprocess.Popen(command, env={**os.environ, **environment}, stdout=out, stderr=out)
    try:
        await_answer(process, f"http://127.0.0.1:{port}/liveness")
        yield process
    finally:
        end(process)


@contextmanager
def lab_server(*command: str, **environment: str) -> Iterator[tuple[int, subprocess.Popen]]:
    """The served lab, or what another command serves, on a free port: the port, and the process."""
    port = free_port()
    run = command or (sys.executable, "-m", "pmdviz", "serve")
    with server([*run, "--port", str(port)], port, **environment) as process:
        yield port, process


def await_that(condition: Callable[[], Any], seconds: float = 60.0) -> None:
    late = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < late, f"not within {seconds:.0f} s"
        time.sleep(0.05)


def await_answer(process: subprocess.Popen, url: str, seconds: float = START_S) -> None:
    """Wait until a server answers. Raises RuntimeError if its process ends, or after so many seconds."""
    late = time.monotonic() + seconds
    while time.monotonic() < late:
        if process.poll() is not None:
            raise RuntimeError(f"the server ended with status {process.returncode}")
        try:
            with urllib.request.urlopen(url, timeout=1):
                return
        except OSError:
            time.sleep(0.05)
    raise RuntimeError(f"the server did not answer within {seconds:.0f} s")


def end(process: subprocess.Popen) -> None:
    """SIGTERM, and SIGKILL for who does not heed it."""
    process.terminate()
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


@contextmanager
def chromium() -> Iterator[Any]:
    """A headless Chromium (Playwright). Raises InputError where there is none."""
    path = find_chromium()
    if path is None:
        raise InputError("no Chromium found: install one, or name an executable in PMDVIZ_CHROMIUM")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError as error:
        raise InputError("this bench needs playwright: pip install 'pmdviz[bench]'") from error
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(FLAGS))
        try:
            yield browser
        finally:
            browser.close()


def open_page(browser: Any, port: int, size: tuple[int, int] = (1440, 900), path: str = "/", **more: Any) -> Any:
    page = browser.new_page(viewport={"width": size[0], "height": size[1]}, **more)
    page.add_init_script(HELPERS_JS)
    page.goto(f"http://127.0.0.1:{port}{path}", wait_until="commit")
    return page


def await_picture(page: Any, timeout_s: float = 60.0) -> None:
    page.wait_for_function("window.pmdviz && pmdviz.iteration() >= 0", timeout=timeout_s * 1000, polling=20)


def painted(page: Any) -> None:
    """Wait until what has changed is laid out and painted: Bokeh paints in the animation frame after the change."""
    page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def hurry(page: Any) -> None:
    set_speed(page, "as fast as it goes")


def set_speed(page: Any, words: str) -> None:
    """Choose a speed: in the lab from the small menu of the transport, elsewhere from a select."""
    select = page.get_by_label("Speed").locator("visible=true")
    if select.count():
        select.first.select_option(label=words)
    else:
        choose(page, words)


def choose(page: Any, entry: str) -> None:
    page.get_by_role("button", name="More ways to play").locator("visible=true").first.click()
    page.get_by_role("menuitem", name=entry, exact=True).locator("visible=true").first.click()


def open_sheet(page: Any, label: str) -> None:
    if not page.get_by_role("heading", name=label, exact=True).locator("visible=true").count():
        page.get_by_role("button", name=label, exact=True).locator("visible=true").first.click()
        page.get_by_role("heading", name=label, exact=True).locator("visible=true").first.wait_for()


def choose_setting(page: Any, label: str, option: str) -> None:
    open_sheet(page, "All settings")
    page.get_by_label(label, exact=True).locator("visible=true").first.select_option(label=option)
    close_sheet(page)


def play_endlessly(page: Any) -> float:
    """Choose the run length without an end and full speed, and press Play. Returns when (`time.perf_counter`)."""
    choose_setting(page, "Run length (observations used)", "endless")
    page.wait_for_function("!/ of [0-9,]+ observations/.test(pmdviz.words())", timeout=120_000)
    hurry(page)
    pressed = time.perf_counter()
    page.get_by_role("button", name="Play", exact=True).click()
    return pressed


def close_sheet(page: Any) -> None:
    close = page.locator(".pmdviz-sheet").get_by_role("button", name="Close", exact=True).locator("visible=true")
    if close.count():
        close.first.click()
        close.first.wait_for(state="hidden")


def in_sight(page: Any, find: Any) -> Any:
    """What `find()` finds in sight, once the sheet is open that has it."""
    opener = page.get_by_role("button", name="All settings", exact=True).locator("visible=true")
    for sheet in ("", "All settings", "Share", "Compare") if opener.count() else ():  # else another page than the lab
        if sheet:
            open_sheet(page, sheet)
        if find().locator("visible=true").count():
            break
    return find().locator("visible=true").first


def open_page_tab(page: Any, title: str) -> None:
    """Go to a page of the app, through the menu where its tab is there."""
    if not page.get_by_role("tab", name=title).locator("visible=true").count():
        page.get_by_role("button", name="More", exact=True).click()
    page.get_by_role("tab", name=title).locator("visible=true").first.click()


FINDINGS_JS = """async (part, rules) => (
  await axe.run(part, {
    resultTypes: ["violations"], ...(rules && {runOnly: rules}),
    preload: location.protocol !== "file:",  // a page on the disk may not read its style sheets
  })
).violations.filter((v) => ["critical", "serious"].includes(v.impact))
.flatMap((v) => v.nodes.map((n) => `${v.id}: ${n.html}`))"""


def axe(page: Any, part: str = "html", rules: list[str] | None = None) -> list[str]:
    """What axe-core finds critical or serious in a part of a page as it is, by rules of these names or by all."""
    found = importlib.util.find_spec("axe_playwright_python")
    page.evaluate(Path(found.origin).with_name("axe.min.js").read_text(encoding="utf-8"))
    return page.locator(f"{part} >> visible=true").first.evaluate(FINDINGS_JS, rules)


def cpu_seconds(server_pid: int) -> dict[str, float]:
    """CPU seconds so far of the server and of every Chromium process that this bench started."""
    import psutil

    children = psutil.Process().children(recursive=True)
    browsers = [child for child in children if "chrom" in child.name()]
    return {"server": _seconds(psutil.Process(server_pid)), "browser": sum(_seconds(child) for child in browsers)}


def _seconds(process: Any) -> float:
    times = process.cpu_times()
    return times.user + times.system
