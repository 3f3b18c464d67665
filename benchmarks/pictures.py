"""The animation of the README and the docs: the lab as it plays its first run."""

from __future__ import annotations

import io
from argparse import Namespace
from pathlib import Path
from typing import Any

from pmdviz.errors import InputError
from tests.support.browser import await_picture, chromium, free_port, lab_command, open_page, server

FILM = Path("assets/lab.gif")
FILM_SIZE, FILM_WIDTH, FILM_MS, LAST_MS, COLOURS = (1280, 800), 800, 120, 3000, 256


def run(options: Namespace) -> dict[str, Any]:
    """Write assets/lab.gif; figures: its frames and its size."""
    try:
        from PIL import Image
    except ImportError as error:
        raise InputError("the pictures need Pillow: pip install 'pmdviz[bench]'") from error
    port = free_port()
    with server(lab_command(port), port), chromium() as browser:
        frames = [Image.open(io.BytesIO(shot)) for shot in _film(browser, port)]
    _write_gif(frames, FILM, Image)
    return {FILM.name: {"frames": len(frames), "kilobytes": round(FILM.stat().st_size / 1000)}}


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
    """One palette for all frames, against flicker."""
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
