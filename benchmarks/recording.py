"""What browsers send: every widget of every page is used once in a real browser, each kind of message is kept."""

from __future__ import annotations

import contextlib
import json
from argparse import Namespace
from pathlib import Path
from typing import Any

from tests.support.browser import await_picture, chromium, open_page
from tests.support.crowd import COMPLAINTS, served

FILE = Path(__file__).parents[1] / "tests" / "fixtures" / "browser_messages.json"
PAGES = ("lab", "race", "theory", "geometry", "methods", "lessons")
ADDRESSES = ("/", "/?presenter=1", "/?theme=dark", "/?lesson=one_step", "/?preset=ising_lattice", "/?embed=1")
PHONE = (390, 844)
MOST_MS = 1500  # for one widget: one that is covered is left out
LONG = 200  # characters of a string that is kept
TABLE = "height,weight\n" + "\n".join(f"1.{k},{6 + 0.1 * k:.1f}" for k in range(30))
FIND_JS = """() => {
  const found = []
  const look = (root) => {
    for (const e of root.querySelectorAll("*")) {
      if (e.shadowRoot) look(e.shadowRoot)
      const box = e.getBoundingClientRect()
      if (!box.width || !box.height || e.disabled) continue
      if (e.matches("button, select, input, textarea, summary, .card-header, a[href='#']") || e.matches(
        "[role=button], [role=slider], [role=tab], [role=option]"))
        found.push(e)
    }
  }
  look(document)
  window.found = found
  const said = (e) => [e.textContent.slice(0, 40), e.id, e.getAttribute("aria-label") ?? "", e.title ?? ""]
  return found.map((e) => [e.tagName, e.type ?? "", ...said(e)])
}"""
GO_JS = """(name) => {
  for (const doc of Bokeh.documents)
    for (const m of doc._all_models.values()) if (m.type.startsWith("TabBar")) m.active = name
}"""
BOXES_JS = """() => pmdviz.canvases(document).map((e) => e.getBoundingClientRect().toJSON())
  .filter((b) => b.width > 80 && b.height > 60)"""
KINDS_JS = """() => Object.fromEntries((window.Bokeh?.documents ?? [])
  .flatMap((doc) => [...doc._all_models.values()].map((m) => [m.id, m.type])))"""


class Recorder:
    """Keeps one message of each kind: kinds of models and of events, names of attributes, types of values."""

    def __init__(self) -> None:
        self.kinds: dict[str, str] = {}
        self.sent: list[Any] = []
        self.used: set[str] = set()

    def attach(self, page: Any) -> None:
        """Listen to a page."""
        page.on("websocket", lambda socket: socket.on("framesent", lambda data: self.sent.append(data)))

    def learn(self, page: Any) -> None:
        """Which class each model of the page has."""
        with contextlib.suppress(Exception):
            self.kinds |= page.evaluate(KINDS_JS)

    def kept(self) -> list[dict[str, Any]]:
        """One event of each kind; the ids of its models are the names of their classes."""
        found: dict[str, dict[str, Any]] = {}
        for text in self.sent:
            if not isinstance(text, str) or '"events"' not in text:
                continue
            for event in json.loads(text)["events"]:
                named = self._named(event)
                found.setdefault(json.dumps(_shape(named), sort_keys=True), named)
        return [found[key] for key in sorted(found)]

    def _named(self, part: Any) -> Any:
        if isinstance(part, dict):
            plain = {name: self._named(value) for name, value in part.items()}
            if isinstance(part.get("id"), str):
                plain["id"] = self.kinds.get(part["id"], "gone").rsplit(".", 1)[-1].rstrip("0123456789")
            return plain
        if isinstance(part, list):
            return [self._named(value) for value in part[:50]]
        return part[:LONG] if isinstance(part, str) else part


def _shape(part: Any) -> Any:
    if isinstance(part, dict):
        keep = ("kind", "attr", "id", "type", "name", "msg_type", "dtype")
        return {
            name: value if name in keep and isinstance(value, str) else _shape(value) for name, value in part.items()
        }
    if isinstance(part, list):
        if len(part) == 2 and isinstance(part[0], str):
            return [part[0], _shape(part[1])]
        return sorted({json.dumps(_shape(value), sort_keys=True) for value in part})
    return type(part).__name__


def run(options: Namespace) -> dict[str, Any]:
    """How many kinds of messages were sent, by how many widgets."""
    recorder = Recorder()
    with served() as lab, chromium() as browser:
        for address in ADDRESSES[: 1 if options.quick else None]:
            _visit(recorder, browser, lab.port, address)
        if not options.quick:
            _visit(recorder, browser, lab.port, "/", PHONE)
        complaints = lab.complaints((*COMPLAINTS, "was closed"))
    kept = recorder.kept()
    lines = ",\n".join(json.dumps(event, ensure_ascii=False) for event in kept)
    FILE.write_text(f"[\n{lines}\n]\n", encoding="utf-8")
    return {"messages": len(recorder.sent), "kinds": len(kept), "widgets": len(recorder.used), "complaints": complaints}


def _visit(recorder: Recorder, browser: Any, port: int, address: str, size: tuple[int, int] = (1440, 900)) -> None:
    page = open_page(browser, port, size, address, has_touch=size == PHONE)
    recorder.attach(page)
    page.reload(wait_until="commit")
    page.on("dialog", lambda dialog: dialog.dismiss())
    page.on("filechooser", lambda chooser: chooser.set_files(_recipe_file()))
    await_picture(page)
    recorder.learn(page)
    for name in PAGES if address == "/" else PAGES[:1]:
        if name != "lab":
            with contextlib.suppress(Exception):
                page.evaluate(GO_JS, name)
                page.wait_for_timeout(6000)
        _use_all(recorder, page)
        _use_figures(recorder, page)
        if name == "lab":
            _look_away(recorder, page)
            _own_table(recorder, page)
            _use_all(recorder, page)
    page.close()


def _recipe_file() -> dict[str, Any]:
    from pmdviz.engine.recipe import Recipe

    return {"name": "a.json", "mimeType": "application/json", "buffer": Recipe("banana").to_json().encode()}


def _use_all(recorder: Recorder, page: Any, rounds: int = 3) -> None:
    """Use what can be seen, and then what has appeared."""
    for _ in range(rounds):
        new = [
            (k, key)
            for k, key in enumerate(map(str, page.evaluate(FIND_JS)))
            if key not in recorder.used and "canvas" not in key.lower()
        ]
        for k, key in new:
            recorder.used.add(key)
            try:
                _use(page, k, key)
            except Exception:  # covered by something else
                with contextlib.suppress(Exception):
                    page.evaluate(f"window.found[{k}].click()")
                    page.wait_for_timeout(200)
            recorder.learn(page)
        if not new:
            return


def _use(page: Any, k: int, key: str) -> None:
    element = page.evaluate_handle(f"window.found[{k}]").as_element()
    if element is None or not element.is_visible():
        return
    tag, kind = element.evaluate("(e) => [e.tagName, e.type ?? '']")
    if tag == "SELECT":
        for number in element.evaluate("(e) => [...e.options].map((o, k) => k).filter((k) => !e.options[k].disabled)")[
            -2:
        ]:
            element.select_option(index=number, timeout=MOST_MS)
            page.wait_for_timeout(400)
    elif kind == "range":
        box = element.bounding_box()
        page.mouse.move(box["x"] + box["width"] * 0.4, box["y"] + box["height"] / 2)
        page.mouse.down()
        page.mouse.move(box["x"] + box["width"] * 0.6, box["y"] + box["height"] / 2, steps=4)
        page.wait_for_timeout(100)
        page.mouse.up()
        element.press("ArrowRight", timeout=MOST_MS)
    elif kind in ("checkbox", "radio"):
        element.click(timeout=MOST_MS)
    elif kind == "file":
        element.set_input_files(_recipe_file(), timeout=MOST_MS)
    elif tag in ("INPUT", "TEXTAREA"):
        element.fill("2" if kind == "number" or "knob" in key else "x1", timeout=MOST_MS)
        element.press("Enter", timeout=MOST_MS)
    else:
        element.click(timeout=MOST_MS)
    page.wait_for_timeout(250)
    if "close" in key.lower():
        page.keyboard.press("Escape")


def _use_figures(recorder: Recorder, page: Any) -> None:
    """Tap, tap twice, drag, turn the wheel and tap with a key on every picture."""
    boxes = page.evaluate(BOXES_JS)
    seen = set()
    for box in boxes:
        x, y = box["x"] + box["width"] * 0.5, box["y"] + box["height"] * 0.5
        if (round(x), round(y)) in seen or not 0 < y < 900:
            continue
        seen.add((round(x), round(y)))
        with contextlib.suppress(Exception):
            page.mouse.click(x, y)
            page.wait_for_timeout(300)
            page.mouse.dblclick(x, y)
            page.mouse.move(x, y)
            page.mouse.down()
            page.mouse.move(x + 30, y + 20, steps=4)
            page.mouse.up()
            page.keyboard.down("Control")
            page.mouse.wheel(0, -200)
            page.keyboard.up("Control")
            page.wait_for_timeout(300)
        recorder.learn(page)
    for key in (
        "space",
        "ArrowRight",
        "ArrowLeft",
        "r",
        "p",
        "p",
        "u",
        "i",
        "n",
        "t",
        "m",
        "z",
        "?",
        "Escape",
        "Home",
        "End",
    ):
        with contextlib.suppress(Exception):
            page.keyboard.press("Space" if key == "space" else key)
            page.wait_for_timeout(200)
    recorder.learn(page)


def _look_away(recorder: Recorder, page: Any) -> None:
    """Hide the tab and come back."""
    for hidden in ("true", "false"):
        with contextlib.suppress(Exception):
            page.evaluate(
                f"() => {{ Object.defineProperty(document, 'hidden', {{value: {hidden}, configurable: true}});"
                " document.dispatchEvent(new Event('visibilitychange')) }"
            )
            page.wait_for_timeout(500)
    recorder.learn(page)


def _own_table(recorder: Recorder, page: Any) -> None:
    """Paste a table and bring a file."""
    with contextlib.suppress(Exception):
        page.evaluate("() => { const d = pmdviz.find('dialog'); d?.showModal() }")
        box = page.locator("dialog textarea >> visible=true").first
        box.fill(TABLE, timeout=MOST_MS)
        page.wait_for_timeout(1500)
        recorder.learn(page)
        _use_all(recorder, page)
        page.keyboard.press("Escape")
