"""MP4: H.264 that every player and slide program shows, made by the ffmpeg that imageio-ffmpeg brings."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

import numpy as np

from pmdviz.errors import InputError
from pmdviz.export.options import FILM_OPTIONS, PICTURE_OPTIONS, Look
from pmdviz.export.writer import DRAWING, Job, Writer

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


def _check(look: Look) -> None:
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


def _write(job: Job) -> None:
    encode(job.pictures(), job.look, job.path)


def _forecast(look: Look, frames: int, dots: int) -> float:
    return 0.1 * frames * look.width * look.height


MP4 = Writer(
    ".mp4", "a film for slides and players (H.264)", (*PICTURE_OPTIONS, *FILM_OPTIONS), _write,
    needs=(*DRAWING, ("imageio_ffmpeg", "video")), forecast=_forecast, check=_check,
)  # fmt: skip
