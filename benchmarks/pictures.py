"""Pictures of the running app for the README and for eyes: wide and phone, light and dark, and an animation."""

from __future__ import annotations

import io
from argparse import Namespace
from pathlib import Path
from typing import Any

from pmdviz.errors import InputError
from tests.support.browser import await_picture, chromium, free_port, hurry, lab_command, open_page, server

FOLDER = Path("assets")
SIZES = {"wide": (1440, 900), "phone": (390, 844)}
ITERATIONS = 60  # shown in the still pictures
FILM_SIZE, FILM_WIDTH, FILM_MS, LAST_MS, COLOURS = (1280, 800), 800, 120, 3000, 256


def run(options: Namespace) -> dict[str, Any]:
    """Write assets/lab-{wide,phone}-{light,dark}.png and assets/lab.gif; figures: their sizes."""
    try:
        from PIL import Image
    except ImportError as error:
        raise InputError("the pictures need Pillow: pip install 'pmdviz[bench]'") from error
    FOLDER.mkdir(exist_ok=True)
    port, figures = free_port(), {}
    with server(lab_command(port), port), chromium() as browser:
        for size_name, size in SIZES.items():
            for theme in ("light", "dark"):
                path = FOLDER / f"lab-{size_name}-{theme}.png"
                _still(browser, port, size, theme, path)
                figures[path.name] = {"pixels": list(size), "kilobytes": round(path.stat().st_size / 1000)}
        frames = [Image.open(io.BytesIO(shot)) for shot in _film(browser, port)]
    path = FOLDER / "lab.gif"
    _write_gif(frames, path, Image)
    figures[path.name] = {"frames": len(frames), "kilobytes": round(path.stat().st_size / 1000)}
    return figures


def _still(browser: Any, port: int, size: tuple[int, int], theme: str, path: Path) -> None:
    page = open_page(browser, port, size)
    await_picture(page)
    if theme == "dark":
        page.get_by_role("button", name="Toggle theme").click()
    hurry(page)
    page.get_by_role("button", name="Play", exact=True).click()
    page.wait_for_function(f"pmdviz.iteration() >= {ITERATIONS}", timeout=60_000)
    page.get_by_role("button", name="Pause", exact=True).click()
    page.get_by_role("button", name="Play", exact=True).wait_for()
    page.wait_for_timeout(800)
    page.screenshot(path=path)
    page.close()


def _film(browser: Any, port: int) -> list[bytes]:
    """Screenshots of a whole run as it plays."""
    page = open_page(browser, port, FILM_SIZE)
    await_picture(page)
    page.wait_for_function("/independent draws [0-9]/.test(pmdviz.words())", timeout=60_000)
    shots = [page.screenshot()]
    page.get_by_role("button", name="Play", exact=True).click()
    while page.evaluate("pmdviz.iteration()") < 200 and len(shots) < 120:
        shots.append(page.screenshot())
    page.wait_for_timeout(800)
    shots.append(page.screenshot())
    page.close()
    return shots


def _write_gif(frames: list[Any], path: Path, image: Any) -> None:
    """One shared palette, so that nothing flickers."""
    height = round(FILM_WIDTH * FILM_SIZE[1] / FILM_SIZE[0])
    small = [frame.convert("RGB").resize((FILM_WIDTH, height), image.Resampling.LANCZOS) for frame in frames]
    palette = _side_by_side(small[:: max(1, len(small) // 6)], image).quantize(COLOURS)
    drawn = [frame.quantize(palette=palette, dither=image.Dither.NONE) for frame in small]
    durations = [FILM_MS] * (len(drawn) - 1) + [LAST_MS]
    drawn[0].save(path, save_all=True, append_images=drawn[1:], duration=durations, loop=0, optimize=True)


def _side_by_side(frames: list[Any], image: Any) -> Any:
    """One picture of several, for a palette that holds the colours of all of them."""
    wide = image.new("RGB", (FILM_WIDTH * len(frames), frames[0].height))
    for k, frame in enumerate(frames):
        wide.paste(frame, (FILM_WIDTH * k, 0))
    return wide
