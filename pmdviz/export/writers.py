"""Kinds of files: what each needs to be written, and GIF, MP4, pictures of the last frame, tables, and text."""

from __future__ import annotations

import csv
import importlib.util
import io
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pmdviz.errors import InputError
from pmdviz.export.films import UNITS, Film, RaceFilm, Scene
from pmdviz.export.options import FILM_OPTIONS, PICTURE_OPTIONS, Look
from pmdviz.scenes import style
from pmdviz.scenes.race import RaceScene

if TYPE_CHECKING:
    from pmdviz.export.figure import Drawing


MEGABYTE = 1_000_000
REQUIREMENTS = dict(  # module -> what pip installs it by, according to the extras
    matplotlib="matplotlib>=3.9", PIL="pillow>=10.3", imageio_ffmpeg="imageio-ffmpeg>=0.5", pyarrow="pyarrow>=16"
)
Progress = Callable[[int, int], None]  # (frames done, frames in all); what it raises ends the export


@dataclass(frozen=True)
class Job:
    """One file to be written: `path` is a temporary name, moved into place when `Writer.write` has returned."""

    film: Film | RaceFilm
    path: Path
    progress: Progress

    def scenes(self) -> Iterator[Scene | RaceScene]:
        """The scenes of the film; progress is reported between any two iterations of the replay."""
        total, done = self.film.frames, 0

        def tick() -> None:
            self.progress(done, total)

        for scene in self.film.scenes(tick):
            yield scene
            done += 1
            tick()

    def pictures(self) -> Iterator[np.ndarray]:
        """The film's frames as pixels (height, width, 4), uint8 RGBA; each is valid until the next one."""
        picture = None
        for scene in self.scenes():
            picture = picture or picture_of(self.film, scene)
            yield picture.draw(scene)


def picture_of(film: Film | RaceFilm, first: Scene | RaceScene) -> Drawing:
    """The figure that draws the scenes of a film as pixels; `first` is one of them."""
    from pmdviz.export.figure import RacePicture, RunPicture  # matplotlib, which may be missing

    if isinstance(film, RaceFilm):
        return RacePicture(film.look, first, film.histories, film.longest)
    return RunPicture(film, first)


@dataclass(frozen=True)
class Writer:
    """A kind of file: what it is, the options that mean something to it, what it needs, how it is written."""

    suffix: str
    title: str
    options: tuple[str, ...]
    write: Callable[[Job], None]
    needs: tuple[tuple[str, str], ...] = ()  # (module, extra of pmdviz that installs it)
    forecast: Callable[[Look, int, int], float] = lambda look, frames, dots: MEGABYTE  # bytes, rather too many
    check: Callable[[Look], None] = lambda look: None  # raises InputError for what this kind cannot do

    @property
    def missing(self) -> list[str]:
        """Modules that this kind of file needs and that are not installed."""
        return [module for module, _ in self.needs if importlib.util.find_spec(module) is None]

    def check_installed(self) -> None:
        """Raise InputError, with the cure, where a library that this kind of file needs is missing."""
        if missing := self.missing:
            words = f"writing {self.suffix} needs {' and '.join(missing)}"
            raise InputError(f"{words}; to install it: {install_command(missing)}")


def install_command(modules: Iterable[str]) -> str:
    """The line for a terminal that installs modules where this Python would find them."""
    return shlex.join([sys.executable, "-m", "pip", "install", *(REQUIREMENTS[name] for name in modules)])


DRAWING = (("matplotlib", "export"),)


# One palette for all frames of an animation: it comes from the style table, to avoid flicker.
# A film frame has few colours: the theme's own, the particles' at any number of dots over one another, and what smooth
# edges make between a line and what lies under it. A race's has lines and dots of each method's colour.

TRANSPARENT = 127  # the index of the transparent colour
INKS, DOTS, EDGE, FINE = 20, 16, 6, 3  # shades of text, of dots, of edges of lines and paths
CELLS = (7, 20)  # shades of an image in the colour of either line
ON_CELLS = (0.4, 0.8)  # of its strongest shade: there dots lie over it, in so many shades each
DOTS_ON_CELLS, COVER = 4, 0.6
OF_METHOD = 9  # shades of a method's dots and lines; there may be 8 methods
LINES, PATHS = ("exact", "approximate"), ("first_path", "second_path")


def rgb(colour: str) -> np.ndarray:
    """Red, green and blue, 0 to 255, of "#rrggbb"."""
    return np.array([int(colour[k : k + 2], 16) for k in (1, 3, 5)], float)


def _ramp(under: np.ndarray, over: np.ndarray, steps: int) -> list[np.ndarray]:
    """Shades between two colours, without the first one."""
    return [under + (over - under) * k / steps for k in range(1, steps + 1)]


@lru_cache(maxsize=16)
def palette(dark: bool, lines: tuple[str, ...] = ()) -> np.ndarray:
    """At most 127 colours (n, 3), uint8; `lines` are the colours of the at most 8 methods of a race."""
    theme = style.theme(dark)
    paper, ink = rgb(theme.paper), rgb(theme.layers["ink"])
    colours = [paper, rgb(theme.grid), *_ramp(paper, rgb(theme.text), INKS), rgb(theme.muted), *_ramp(paper, ink, EDGE)]
    colours += _of_race(theme, lines) if lines else _of_stage(theme)
    return np.unique(np.rint(colours).astype(np.uint8), axis=0)[:TRANSPARENT]


def _of_stage(theme: style.Theme) -> list[np.ndarray]:
    """Particles, the edges of both densities' lines on whatever lies under them, paths, and an image's shades."""
    paper, dots = rgb(theme.paper), rgb(theme.layers["particles"])
    first, second = (rgb(theme.layers[name]) for name in LINES)
    colours = _ramp(paper, dots, DOTS)
    for ink in (first, second):
        for under in (paper, (paper + dots) / 2, dots):
            colours += _ramp(under, ink, EDGE)
    colours += [*_ramp(first, second, EDGE), rgb(theme.layers["prior"])]
    for path in PATHS:
        colours += _ramp(paper, rgb(theme.layers[path]), FINE)
    for end, shades in ((first, CELLS[0]), (second, CELLS[1])):
        colours += _ramp(paper, paper + style.STRENGTH * (end - paper), shades)
    for share in ON_CELLS:
        under = paper + share * style.STRENGTH * (second - paper)
        colours += _ramp(under, under + COVER * (dots - under), DOTS_ON_CELLS)
    return colours


def _of_race(theme: style.Theme, methods: tuple[str, ...]) -> list[np.ndarray]:
    """Each method's dots and lines, and the exact posterior's edge on them."""
    paper, exact = rgb(theme.paper), rgb(theme.layers["floor"])
    colours = [rgb(colour) for colour in theme.layers.values()]
    for own in (rgb(colour) for colour in methods):
        colours += [*_ramp(paper, own, OF_METHOD), (own + exact) / 2]
    return colours


@lru_cache(maxsize=16)
def nearest(dark: bool, lines: tuple[str, ...] = ()) -> np.ndarray:
    """Index of the nearest colour for each of 65,536 cells of 5, 6 and 5 bits of red, green and blue."""
    cell = np.arange(65_536)
    centres = np.stack([(cell >> 11) * 8 + 4, ((cell >> 5) & 63) * 4 + 2, (cell & 31) * 8 + 4], axis=1)
    colours = palette(dark, lines).astype(np.float32)
    square = (colours**2).sum(axis=1) - 2.0 * centres.astype(np.float32) @ colours.T  # up to the cell's own square
    found = square.argmin(axis=1).astype(np.uint8)
    found[cell_of(pack(colours))] = np.arange(len(colours), dtype=np.uint8)
    return found


def pack(colours: np.ndarray) -> np.ndarray:
    """Colours (n, 3) as the 32-bit words of an RGBA picture."""
    r, g, b = colours.astype(np.uint32).T
    return r | g << 8 | b << 16


def cell_of(words: np.ndarray) -> np.ndarray:
    """The cell of each 32-bit word (red lowest, alpha highest) of an RGBA picture."""
    return ((words & 0xF8) << 8) | ((words >> 5) & 0x7E0) | ((words >> 19) & 0x1F)


def table_csv(columns: Mapping[str, np.ndarray]) -> str:
    """Comma-separated values: a comment line with the units, a line of names, one line a row.

    An unavailable value is an empty cell; an infinite one is `inf`.
    """
    text = io.StringIO()
    known = [f"{name}: {UNITS[name]}" for name in columns if name in UNITS]
    text.write(f"# {'; '.join(known)}\n")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    cells = (["" if value != value else value for value in column.tolist()] for column in columns.values())
    writer.writerows(zip(*cells, strict=True))
    return text.getvalue()


def _text(suffix: str, title: str, option: str, words: Callable[[Film | RaceFilm], str]) -> Writer:
    return Writer(suffix, title, (option,), lambda job: job.path.write_text(words(job.film), encoding="utf-8"))


TABLE = "a table of numbers as plain text: the history, the particles, ..."
CSV = _text(".csv", TABLE, "table", lambda film: table_csv(film.columns()))


# GIF: one shared palette.

MAX_FPS = 50  # browsers show a frame of less than 2/100 s for 10/100 s
LAST_CS = 200  # the last frame stays for so many hundredths of a second before the film begins again
CLEAR_BEFORE_NEXT = 2  # how a frame goes
MAX_PIXELS = 2_000_000_000  # of all frames together
SEEN = 64  # alpha from which a pixel of a transparent film is paper and ink rather than nothing


def _check(look: Look) -> None:
    if look.fps > MAX_FPS:
        raise InputError(f"a GIF shows at most {MAX_FPS} frames per second; got fps={look.fps}")


def delays(frames: int, fps: int) -> Iterator[int]:
    """Hundredths of a second of each frame: rounded so the whole keeps time; the last one stays longer."""
    for k in range(frames - 1):
        yield round(100 * (k + 1) / fps) - round(100 * k / fps)
    yield LAST_CS


def _write_gif(job: Job) -> None:
    """Pillow stores of each frame what changed; it keeps all of them in memory, a byte a pixel, until the last."""
    from PIL import Image

    look, frames = job.film.look, job.film.frames
    if frames * look.width * look.height > MAX_PIXELS:
        most = MAX_PIXELS // (look.width * look.height)
        raise InputError(f"a GIF of {look.width}x{look.height} has at most {most:,} frames; got {frames:,} (or .mp4)")
    colours = palette(look.dark, job.film.lines).tobytes()

    def images() -> Iterator[Image.Image]:
        for pixels in _indexed(job):
            image = Image.fromarray(pixels, "P")
            image.putpalette(colours)
            yield image

    every, times = images(), [10 * each for each in delays(frames, look.fps)]
    kept: dict[str, int] = {"transparency": TRANSPARENT, "disposal": CLEAR_BEFORE_NEXT if look.transparent else 1}
    next(every).save(job.path, "GIF", save_all=True, append_images=every, duration=times, loop=0, optimize=True, **kept)


def _indexed(job: Job) -> Iterator[np.ndarray]:
    """Palette indices of the frames; of a transparent film edges are mixed with the paper, and nothing is nothing."""
    look = job.film.look
    table, paper = nearest(look.dark, job.film.lines), rgb(style.theme(look.dark).paper)
    for picture in job.pictures():
        drawn = np.ascontiguousarray(picture)
        if look.transparent:
            alpha = picture[..., 3:].astype(np.float32) / 255
            drawn = np.empty_like(picture)
            drawn[..., :3] = np.rint(paper + (picture[..., :3] - paper) * alpha)
        pixels = table[cell_of(drawn.view("<u4")[..., 0])]
        if look.transparent:
            pixels[picture[..., 3] < SEEN] = TRANSPARENT
        yield pixels


GIF = Writer(
    ".gif", "an animation for slides and pages", (*PICTURE_OPTIONS, *FILM_OPTIONS, "transparent"), _write_gif,
    needs=(*DRAWING, ("PIL", "export")), check=_check,
    forecast=lambda look, frames, dots: 0.25 * frames * look.width * look.height,
)  # fmt: skip


# PNG, SVG and PDF of the last frame.


def _write_image(form: str, job: Job) -> None:
    scene = job.film.last_scene(lambda: job.progress(0, 1))
    picture_of(job.film, scene).save(scene, job.path, form)


OF_LAST = "a picture of the last frame, in {}"
STILL_OPTIONS = (*PICTURE_OPTIONS, "transparent")
STILLS = tuple(
    Writer(f".{form}", OF_LAST.format(words), STILL_OPTIONS, partial(_write_image, form), needs=DRAWING)
    for form, words in (("png", "pixels"), ("svg", "lines, for the web"), ("pdf", "lines, for print"))
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
        words = f"writing .mp4 needs ffmpeg, which imageio-ffmpeg does not find: {error}; install it with pip install"
        raise InputError(f"{words} 'pmdviz[video]', or set IMAGEIO_FFMPEG_EXE to its path") from error


def _check_mp4(look: Look) -> None:
    if look.width % 2 or look.height % 2:
        even = f"{look.width + look.width % 2}x{look.height + look.height % 2}"
        raise InputError(f"width and height of an MP4 must be even, such as {even}; got {look.width}x{look.height}")
    encoder()


def _command(look: Look, path: Path) -> list[str]:
    raw = ("-f", "rawvideo", "-pix_fmt", "rgba", "-s", f"{look.width}x{look.height}", "-r", str(look.fps), "-i", "-")
    return [encoder(), "-y", "-v", "error", *raw, "-an", "-c:v", "libx264", *QUALITY, *COLOURS, *CONTAINER, str(path)]


def encode(frames: Iterable[np.ndarray], look: Look, path: Path) -> None:
    """Write frames (height, width, 4) uint8 as a film. Raises OSError with ffmpeg's last words where it fails."""
    with tempfile.TemporaryFile() as said:
        command, pipe = _command(look, path), subprocess.PIPE
        process = subprocess.Popen(command, stdin=pipe, stdout=subprocess.DEVNULL, stderr=said)
        try:
            for frame in frames:
                process.stdin.write(frame.data)
            process.stdin.close()
            failed = process.wait(ENDING_S) != 0
        except BrokenPipeError:
            failed = True
        finally:
            process.kill()  # nothing to one that has ended
            process.wait()
            with suppress(BrokenPipeError):
                process.stdin.close()
        if failed:
            said.seek(0)
            words = said.read().decode(errors="replace").strip().splitlines()
            raise OSError(words[-1] if words else "ffmpeg ended without a word")


MP4 = Writer(
    ".mp4", "a film for slides and players (H.264)", (*PICTURE_OPTIONS, *FILM_OPTIONS),
    lambda job: encode(job.pictures(), job.film.look, job.path),
    needs=(*DRAWING, ("imageio_ffmpeg", "video")), check=_check_mp4,
    forecast=lambda look, frames, dots: 0.1 * frames * look.width * look.height,
)  # fmt: skip


# Numbers as a Parquet table.


def _write_parquet(job: Job) -> None:
    import pyarrow
    from pyarrow import parquet

    columns, fields = job.film.columns(), []
    for name, column in columns.items():
        kind = pyarrow.string() if column.dtype.kind in "OU" else pyarrow.from_numpy_dtype(column.dtype)
        fields.append(pyarrow.field(name, kind, metadata={"unit": UNITS.get(name, "")}))
    table = pyarrow.table([*columns.values()], schema=pyarrow.schema(fields))
    parquet.write_table(table, job.path)


PARQUET = Writer(
    ".parquet", "a table of numbers for data frames: the history, the particles, ...", ("table",), _write_parquet,
    needs=(("pyarrow", "parquet"),),
)  # fmt: skip


# The run or the race as text: the Python that repeats it, and its recipe.


REPEATS = "the lines of Python that repeat the run or the race as it stands"
PYTHON = _text(".py", REPEATS, "whole", lambda film: film.python())
REPLAYS = "the recipe: everything needed to replay the run or the race as it stands"
RECIPE = _text(".json", REPLAYS, "whole", lambda film: film.recipe() + "\n")
