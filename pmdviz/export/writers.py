"""Kinds of files: GIF, MP4, pictures of the last frame, tables, and text."""

from __future__ import annotations

import csv
import io
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import IO, Any, BinaryIO

import numpy as np

from pmdviz.errors import InputError
from pmdviz.export.film.palette import TRANSPARENT, cell_of, nearest, palette, rgb
from pmdviz.export.options import FILM_OPTIONS, PICTURE_OPTIONS, Look
from pmdviz.export.tables import UNITS
from pmdviz.export.writer import DRAWING, Job, Writer
from pmdviz.scenes import style


def table_csv(columns: Mapping[str, np.ndarray]) -> str:
    """Comma-separated values: a comment line with the units, a line of names, one line a row.

    An unavailable value is an empty cell; an infinite one is `inf`.
    """
    text = io.StringIO()
    known = [f"{name}: {UNITS[name]}" for name in columns if name in UNITS]
    text.write(f"# {'; '.join(known)}\n")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([_cell(value) for value in row] for row in zip(*columns.values(), strict=True))
    return text.getvalue()


def _cell(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, (float, np.floating)) and np.isnan(value):
        return ""
    return repr(value.item() if isinstance(value, np.generic) else value)


def _write(job: Job) -> None:
    job.path.write_text(table_csv(job.film.columns()), encoding="utf-8")


CSV = Writer(".csv", "a table of numbers as plain text: the history, the particles, ...", ("table",), _write)


# GIF: one shared palette, and of each frame only the rectangle and the pixels that changed.

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


def _write_gif(job: Job) -> None:
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
    ".gif", "an animation for slides and pages", (*PICTURE_OPTIONS, *FILM_OPTIONS, "transparent"), _write_gif,
    needs=(*DRAWING, ("PIL", "export")), forecast=_forecast, check=_check,
)  # fmt: skip


# PNG, SVG and PDF of the last frame.


def _write_image(form: str, job: Job) -> None:
    scene = job.film.last_scene(lambda: job.progress(0, 1))
    job.film.picture(scene).save(scene, job.path, form)


def _writer(suffix: str, title: str) -> Writer:
    return Writer(suffix, title, (*PICTURE_OPTIONS, "transparent"), partial(_write_image, suffix[1:]), needs=DRAWING)


STILLS = (
    _writer(".png", "a picture of the last frame, in pixels"),
    _writer(".svg", "a picture of the last frame, in lines, for the web"),
    _writer(".pdf", "a picture of the last frame, in lines, for print"),
)


# MP4: H.264 that every player and slide program shows, made by the ffmpeg that imageio-ffmpeg brings.

QUALITY = ("-crf", "20", "-preset", "veryfast")
COLOURS = ("-vf", "scale=out_color_matrix=bt709:out_range=tv", "-colorspace", "bt709", "-color_primaries", "bt709")
CONTAINER = ("-pix_fmt", "yuv420p", "-movflags", "+faststart", "-f", "mp4")  # the index first: it plays while it loads
ENDING_S = 60.0


def encoder() -> str:
    """Path of ffmpeg. Raises InputError where there is none."""
    import imageio_ffmpeg

    try:
        return imageio_ffmpeg.get_ffmpeg_exe()
    except RuntimeError as error:
        raise InputError(f"writing .mp4 needs ffmpeg, which imageio-ffmpeg does not find: {error}") from error


def _check_mp4(look: Look) -> None:
    if look.width % 2 or look.height % 2:
        raise InputError(f"width and height of an MP4 must be even; given: {look.width}x{look.height}")
    encoder()


def _command(look: Look, path: Path) -> list[str]:
    raw = ("-f", "rawvideo", "-pix_fmt", "rgba", "-s", f"{look.width}x{look.height}", "-r", str(look.fps), "-i", "-")
    return [encoder(), "-y", "-v", "error", *raw, "-an", "-c:v", "libx264", *QUALITY, *COLOURS, *CONTAINER, str(path)]


@contextmanager
def _running(command: list[str], said: IO[bytes]) -> Iterator[subprocess.Popen]:
    """ffmpeg as a process that ends with this block, whatever happens."""
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=said)
    try:
        yield process
    finally:
        process.kill()  # nothing to one that has ended
        process.wait()
        with suppress(BrokenPipeError):
            process.stdin.close()


def encode(frames: Iterable[np.ndarray], look: Look, path: Path) -> None:
    """Write frames (height, width, 4) uint8 as a film. Raises OSError with ffmpeg's last words where it fails."""
    with tempfile.TemporaryFile() as said, _running(_command(look, path), said) as process:
        assert process.stdin is not None
        try:
            for frame in frames:
                process.stdin.write(frame.data)
            process.stdin.close()
            failed = process.wait(ENDING_S) != 0
        except BrokenPipeError:
            failed = True
        if failed:
            said.seek(0)
            words = said.read().decode(errors="replace").strip().splitlines()
            raise OSError(words[-1] if words else "ffmpeg ended without a word")


def _write_mp4(job: Job) -> None:
    encode(job.pictures(), job.look, job.path)


def _forecast_mp4(look: Look, frames: int, dots: int) -> float:
    return 0.1 * frames * look.width * look.height


MP4 = Writer(
    ".mp4", "a film for slides and players (H.264)", (*PICTURE_OPTIONS, *FILM_OPTIONS), _write_mp4,
    needs=(*DRAWING, ("imageio_ffmpeg", "video")), forecast=_forecast_mp4, check=_check_mp4,
)  # fmt: skip


# Numbers as a Parquet table.


def _type(column: np.ndarray) -> Any:
    import pyarrow

    return pyarrow.string() if column.dtype.kind in "OU" else pyarrow.from_numpy_dtype(column.dtype)


def _write_parquet(job: Job) -> None:
    import pyarrow
    from pyarrow import parquet

    columns = job.film.columns()
    fields = [
        pyarrow.field(name, _type(column), metadata={"unit": UNITS.get(name, "")}) for name, column in columns.items()
    ]
    table = pyarrow.table([*columns.values()], schema=pyarrow.schema(fields))
    parquet.write_table(table, job.path)


PARQUET = Writer(
    ".parquet", "a table of numbers for data frames: the history, the particles, ...", ("table",), _write_parquet,
    needs=(("pyarrow", "parquet"),),
)  # fmt: skip


# The run or the race as text: the Python that repeats it, and its recipe.


def _python(job: Job) -> None:
    job.path.write_text(job.film.python(), encoding="utf-8")


def _recipe(job: Job) -> None:
    job.path.write_text(job.film.recipe() + "\n", encoding="utf-8")


PYTHON = Writer(".py", "the lines of Python that repeat the run or the race as it stands", ("whole",), _python)
RECIPE = Writer(
    ".json", "the recipe: everything needed to replay the run or the race as it stands", ("whole",), _recipe
)
