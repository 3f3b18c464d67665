"""GIF: one shared palette, and of each frame only the rectangle and the pixels that changed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO

import numpy as np

from pmdviz.errors import InputError
from pmdviz.export.film.palette import TRANSPARENT, cell_of, nearest, palette, rgb
from pmdviz.export.options import FILM_OPTIONS, PICTURE_OPTIONS, Look
from pmdviz.export.writer import DRAWING, Job, Writer
from pmdviz.scenes import style

MAX_FPS = 50  # browsers show a frame of less than 2/100 s for 10/100 s
LAST_CS = 200  # the last frame stays for so many hundredths of a second before the film begins again
BITS = 7  # of a palette of 128 colours
NETSCAPE_LOOP = b"!\xff\x0bNETSCAPE2.0\x03\x01\x00\x00\x00"  # for ever
CLEAR_BEFORE_NEXT = 2
SEEN = 64  # alpha from which a pixel of a transparent film is paper and ink rather than nothing


def _check(look: Look) -> None:
    if look.fps > MAX_FPS:
        raise InputError(f"a GIF shows at most {MAX_FPS} frames per second; given: fps={look.fps}")


def delays(frames: int, fps: int) -> Iterator[int]:
    """Hundredths of a second of each frame, so that the whole keeps time; the last one stays longer."""
    for k in range(frames - 1):
        yield round(100 * (k + 1) / fps) - round(100 * k / fps)
    yield LAST_CS


def _write(job: Job) -> None:
    frames, look = job.film.frames, job.look
    indexed = _indexed_clear(job) if look.transparent else _indexed_changes(job)
    with job.path.open("wb") as file:
        _write_head(file, look.width, look.height, palette(look.dark, job.film.lines))
        for (corner, pixels), delay in zip(indexed, delays(frames, look.fps), strict=True):
            file.writelines(_block(pixels, corner, delay, look.transparent))
        file.write(b";")


def _write_head(file: BinaryIO, width: int, height: int, colours: np.ndarray) -> None:
    size = b"".join(side.to_bytes(2, "little") for side in (width, height))
    file.write(b"GIF89a" + size + bytes([0x80 | (BITS - 1) << 4 | (BITS - 1), 0, 0]))
    table = np.zeros((2**BITS, 3), np.uint8)
    table[: len(colours)] = colours
    file.write(table.tobytes() + NETSCAPE_LOOP)


def _block(pixels: np.ndarray, corner: tuple[int, int], delay: int, clear: bool) -> list[bytes]:
    """A frame's part of the file; Pillow compresses it."""
    from PIL import GifImagePlugin, Image

    image = Image.fromarray(pixels, "P")
    shown: dict[str, Any] = {"duration": 10 * delay, "transparency": TRANSPARENT}
    return GifImagePlugin.getdata(image, corner, **shown, disposal=CLEAR_BEFORE_NEXT if clear else 1)


def _indexed_changes(job: Job) -> Iterator[tuple[tuple[int, int], np.ndarray]]:
    """Corner and palette indices of the rectangle that changed, transparent where it did not."""
    table, before = nearest(job.look.dark, job.film.lines), None
    for picture in job.pictures():
        words = np.ascontiguousarray(picture).view("<u4")[..., 0]
        if before is None:
            before = words.copy()
            yield (0, 0), table[cell_of(words)]
            continue
        changed = words != before
        rows, columns = np.flatnonzero(changed.any(axis=1)), np.flatnonzero(changed.any(axis=0))
        if not len(rows):
            yield (0, 0), np.full((1, 1), TRANSPARENT, np.uint8)
            continue
        box = slice(rows[0], rows[-1] + 1), slice(columns[0], columns[-1] + 1)
        pixels = table[cell_of(words[box])]
        pixels[~changed[box]] = TRANSPARENT
        before[box] = words[box]
        yield (int(columns[0]), int(rows[0])), pixels


def _indexed_clear(job: Job) -> Iterator[tuple[tuple[int, int], np.ndarray]]:
    """Palette indices of whole frames, transparent where nothing is drawn; smooth edges are mixed with the paper."""
    table, paper = nearest(job.look.dark, job.film.lines), rgb(style.theme(job.look.dark).paper)
    for picture in job.pictures():
        alpha = picture[..., 3:].astype(np.float32) / 255
        mixed = np.empty_like(picture)
        mixed[..., :3] = np.rint(paper + (picture[..., :3] - paper) * alpha)
        pixels = table[cell_of(mixed.view("<u4")[..., 0])]
        pixels[picture[..., 3] < SEEN] = TRANSPARENT
        yield (0, 0), pixels


def _forecast(look: Look, frames: int, dots: int) -> float:
    return 0.25 * frames * look.width * look.height


GIF = Writer(
    ".gif", "an animation for slides and pages", (*PICTURE_OPTIONS, *FILM_OPTIONS, "transparent"), _write,
    needs=(*DRAWING, ("PIL", "export")), forecast=_forecast, check=_check,
)  # fmt: skip
