"""Every state of every page, at four sizes and in both themes, as pictures and as sheets of them: for eyes.

Its own command and not a part of `pictures`: those are committed, these are looked at and thrown away.
"""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from pmdviz.engine.recipe import Recipe
from pmdviz.errors import InputError
from pmdviz.methods import METHODS, usual_target
from tests.support.browser import await_picture, chromium, free_port, hurry, in_sight, lab_command, open_page, server

FOLDER = Path("build") / "contact-sheet"
SIZES = ((1440, 900), (1366, 625), (1280, 600), (390, 844))
THEMES = ("light", "dark")
BROKEN = Path(__file__).parents[1] / "tests" / "browser" / "broken_page.py"
PRESET, ITERATION, METHODS_AT = "two_modes", 5, 20
TILE, COLUMNS, GAP, LINE = 480, 4, 12, 22  # pixels of a sheet
WAIT_MS, RACE_MS = 180_000, 4_000  # the first run on a machine compiles the kernels
REST_MS, MOST_LOOKS = 1_500, 20


class State(NamedTuple):
    """One picture: its name, the address, and what is done there before it is taken."""

    name: str
    path: str
    act: Callable[[Any], None] = lambda page: None


def run(options: Namespace) -> dict[str, Any]:
    """Write build/contact-sheet/SIZE-THEME/STATE.png and a sheet of each folder; figures: how many pictures."""
    try:
        from PIL import Image, ImageDraw
    except ImportError as error:
        raise InputError("the pictures need Pillow: pip install 'pmdviz[bench]'") from error
    sizes, figures = SIZES[:1] if options.quick else SIZES, {}
    with _servers() as (lab, broken), chromium() as browser:
        for size in sizes:
            for theme in THEMES:
                folder = FOLDER / f"{size[0]}x{size[1]}-{theme}"
                folder.mkdir(parents=True, exist_ok=True)
                shots = [_shoot(browser, lab, state, size, theme, folder) for state in (*STATES, *_methods())]
                shots.append(_shoot(browser, broken, ERROR, size, theme, folder))
                _sheet(shots, Image, ImageDraw).save(folder.with_suffix(".png"))
                figures[folder.name] = len(shots)
    return figures


@contextmanager
def _servers() -> Iterator[tuple[int, int]]:
    """The ports of the app and of a lab whose target fails."""
    lab, broken = free_port(), free_port()
    failing = [sys.executable, "-m", "panel", "serve", str(BROKEN), "--port", str(broken), "--liveness"]
    failing += ["--plugins", "pmdviz.panel_plugin"]
    with TemporaryDirectory() as folder, server(lab_command(lab), lab):
        with server(failing, broken, PMDVIZ_ASKED=str(Path(folder) / "asked")):
            yield lab, broken


def _shoot(browser: Any, port: int, state: State, size: tuple[int, int], theme: str, folder: Path) -> Path:
    page = open_page(browser, port, size, state.path, color_scheme=theme)
    try:
        state.act(page)
        page.wait_for_timeout(700)  # a picture for eyes: what still fades in may
        page.screenshot(path=folder / f"{state.name}.png")
    finally:
        page.close()
    return folder / f"{state.name}.png"


def _sheet(shots: list[Path], image: Any, draw: Any) -> Any:
    """All pictures of a folder beside one another, each with its name."""
    small = []
    for path in shots:
        shot = image.open(path).convert("RGB")
        small.append((path.stem, shot.resize((TILE, round(TILE * shot.height / shot.width)))))
    height = small[0][1].height + LINE + GAP
    rows = -(-len(small) // COLUMNS)
    sheet = image.new("RGB", (COLUMNS * (TILE + GAP) + GAP, rows * height + GAP), "#777")
    pen = draw.Draw(sheet)
    for k, (name, tile) in enumerate(small):
        left, top = GAP + k % COLUMNS * (TILE + GAP), GAP + k // COLUMNS * height
        pen.text((left, top + 4), name, fill="#fff")
        sheet.paste(tile, (left, top + LINE))
    return sheet


# What is done on a page

OF_THE_MENU = ("Help", "What is this?", "Tour")


def _see(page: Any) -> None:
    await_picture(page)


def _press(label: str) -> Callable[[Any], None]:
    def act(page: Any) -> None:
        _see(page)
        if label in OF_THE_MENU:
            page.get_by_role("button", name="More", exact=True).click()
        page.get_by_role("button", name=label, exact=True).locator("visible=true").first.click()

    return act


def _open(words: str) -> Callable[[Any], None]:
    def act(page: Any) -> None:
        _see(page)
        in_sight(page, lambda: page.get_by_text(words)).click()

    return act


def _play(page: Any) -> None:
    _see(page)
    hurry(page)
    page.get_by_role("button", name="Play", exact=True).locator("visible=true").first.click()
    page.wait_for_function(f"pmdviz.iteration() >= {ITERATION}", timeout=WAIT_MS)


def _at(iteration: int) -> Callable[[Any], None]:
    def act(page: Any) -> None:
        page.wait_for_function(f"window.pmdviz?.iteration() >= {iteration}", timeout=WAIT_MS)

    return act


def _at_rest(page: Any) -> None:
    """Until the link's run has come as far as it goes: some methods end before the others."""
    _see(page)
    seen = [-2, -1]
    while seen[-1] != seen[-2] or seen[-1] < 1:
        page.wait_for_timeout(REST_MS)
        seen.append(page.evaluate("pmdviz.iteration()"))
        if len(seen) > MOST_LOOKS:
            break


def _ended(page: Any) -> None:
    page.get_by_text("Done:").locator("visible=true").first.wait_for(timeout=WAIT_MS)


def _data(page: Any) -> None:
    _at(ITERATION)(page)
    page.get_by_label("Traces", exact=True).first.select_option(label="Data and predictions")


def _raced(page: Any) -> None:
    page.wait_for_function("window.pmdviz?.model('race-acknowledge')?.drawn > 0", timeout=WAIT_MS)
    page.get_by_role("button", name="Play", exact=True).locator("visible=true").first.click()
    page.wait_for_timeout(RACE_MS)


def _failed(page: Any) -> None:
    _press("Play")(page)
    page.get_by_role("button", name="Retry", exact=True).wait_for(timeout=WAIT_MS)


HERE = f"/?preset={PRESET}&at={ITERATION}"
STATES = (
    State("start", "/", _see),
    State("playing", "/", _play),
    State("later", f"/?preset={PRESET}&at=60", _at(60)),
    State("ended", f"/?preset={PRESET}&start=end", _ended),
    State("presenter", HERE + "&presenter=1", _at(ITERATION)),
    State("embedded", HERE + "&embed=1", _at(ITERATION)),
    State("data", HERE, _data),
    State("what-is-this", "/", _press("What is this?")),
    State("more-settings", "/", _open("More settings")),
    State("make-a-link", "/", _open("Link and QR code")),
    State("unreadable-link", "/?run=3.nonsense", _see),
    State("race", "/?page=race", _raced),
    State("theory", "/?page=theory", lambda page: page.get_by_text("Theorem 2").first.wait_for(timeout=WAIT_MS)),
)
ERROR = State("error", f"/{BROKEN.stem}", _failed)


def _methods() -> Iterator[State]:
    """Every method, on the target that it is usually shown with."""
    for name in METHODS:
        recipe = Recipe(usual_target(name), name)
        yield State(f"method-{name}", f"/?run={recipe.to_link()}&at={METHODS_AT}", _at_rest)
