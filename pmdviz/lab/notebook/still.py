"""The picture of a live page that a saved notebook keeps, drawn like exported ones."""

from __future__ import annotations

import asyncio
import base64
import html
import importlib.util
import io
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from pmdviz.export.films import Film
from pmdviz.export.options import Look, RaceLook
from pmdviz.lab.loop.background import GIVES_WAY, DaemonPool
from pmdviz.lab.loop.jobs import log_failure
from pmdviz.lab.loop.runner import Snapshot
from pmdviz.scenes.race import RaceScene

EVERY_S = 2.0  # so often while it plays: a picture is some 60 kB, and the kernel has better things to do
PNG = "image/png"

_pool = DaemonPool(1, "pmdviz-still", GIVES_WAY)


class Moment(NamedTuple):
    """What is to be drawn."""

    snapshot: Any
    words: str


class Still:
    """An output of its own under the live page, replaced through its display id: the live one is never touched.

    Parameters
    ----------
    name : str
        Of the live page; the browser hides the pictures of pages that it shows live.
    draw : function of a snapshot
        Gives PNG bytes, or None where the library that draws is not installed; runs in a thread.
    """

    def __init__(self, name: str, draw: Callable[[Any], bytes | None]) -> None:
        self._name, self._draw = name, draw
        self._handle: Any = None
        self._wanted: Moment | None = None
        self._last: Any = None  # the snapshot that was asked for last
        self._at, self._busy = -EVERY_S, False
        self._now = asyncio.Event()  # it stands still: no need to wait

    def begin(self, words: str, snapshot: Any = None) -> None:
        """Put the output under the cell: a picture of `snapshot`, or words until there is one."""
        from IPython.display import display

        self._words = words
        png = None if snapshot is None else self._draw(snapshot)
        self._handle = display(self._bundle(words, png), raw=True, display_id=True)

    def follow(self, snapshot: Any, words: str, playing: bool) -> None:
        """Take the picture again where it has changed: at once when it stands still, now and then while it plays."""
        (self._now.clear if playing else self._now.set)()
        if self._handle is None or snapshot is self._last:
            return
        self._last, self._wanted = snapshot, Moment(snapshot, words)
        if not self._busy:
            self._busy = True
            asyncio.get_running_loop().create_task(self._take()).add_done_callback(log_failure)

    def settle(self, words: str, snapshot: Any) -> None:
        """Take the picture again here and now where the words have changed: no live page does."""
        if self._handle is not None and words != self._words:
            self._words = words
            self._handle.update(self._bundle(words, self._draw(snapshot)), raw=True)

    async def _take(self) -> None:
        try:
            while self._wanted is not None:
                await self._pause(self._at + EVERY_S - time.monotonic())
                moment, self._wanted = self._wanted, None
                self._at = time.monotonic()
                png = await asyncio.get_running_loop().run_in_executor(_pool, self._draw, moment.snapshot)
                self._handle.update(self._bundle(moment.words, png), raw=True)
        finally:
            self._busy = False

    async def _pause(self, seconds: float) -> None:
        """Wait so long, or until it stands still."""
        try:
            await asyncio.wait_for(self._now.wait(), max(0.0, seconds))
        except TimeoutError:
            pass

    def _bundle(self, words: str, png: bytes | None) -> dict[str, str]:
        """What each viewer can show of it; where there is a choice, browsers and nbconvert take the HTML."""
        said = html.escape(words)
        if png is None:
            return {"text/plain": words, "text/html": f'<p data-pmdviz="{self._name}">{said}</p>'}
        code = base64.b64encode(png).decode()
        image = f'<img alt="{said}" style="max-width: 100%" src="data:image/png;base64,{code}">'
        return {"text/plain": words, "text/html": f'<div data-pmdviz="{self._name}">{image}</div>', PNG: code}


# Still pictures of the present frame of a lab or a race, drawn like exported ones.


def can_draw() -> bool:
    """Whether Matplotlib is there (extra `export`)."""
    return importlib.util.find_spec("matplotlib") is not None


def still_png(snapshot: Snapshot, dark: bool = False) -> bytes:
    """Stage and traces of a snapshot, 960x540, as PNG."""
    from pmdviz.export.run_picture import Picture

    film = Film(snapshot.run, Look.checked(_theme(dark)), all_floors=False)
    scene = film.last_scene()
    return _png(Picture(film, scene), scene)


def race_png(scene: RaceScene, dark: bool = False) -> bytes:
    """Tiles and traces of a race, 960x540, as PNG."""
    from pmdviz.export.race_picture import RacePicture

    traces = [tile.trace for tile in scene.tiles]
    return _png(RacePicture(RaceLook.checked(_theme(dark)), scene, traces, len(scene.words)), scene)


def _theme(dark: bool) -> dict[str, str]:
    return {"theme": "dark" if dark else "light"}


def _png(picture: Any, scene: Any) -> bytes:
    file = io.BytesIO()
    picture.save(scene, file, "png")
    return file.getvalue()
