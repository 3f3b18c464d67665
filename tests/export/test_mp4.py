import re
import subprocess
import sys

import pytest

from pmdviz.export import check
from pmdviz.export import writers as mp4
from tests.support.tables import looped, refused

pytestmark = pytest.mark.ci
imageio_ffmpeg = pytest.importorskip("imageio_ffmpeg")

SIZE = {"width": 480, "height": 270}


def about(path):
    """What ffmpeg says of a file."""
    command = [imageio_ffmpeg.get_ffmpeg_exe(), "-hide_banner", "-i", str(path)]
    return subprocess.run(command, capture_output=True, text=True).stderr


def test_a_film_that_every_player_shows(run, tmp_path):
    path = run.export(tmp_path / "film.mp4", **SIZE, frames=7, fps=10)
    assert imageio_ffmpeg.count_frames_and_secs(str(path))[0] == 7
    words = about(path)
    assert re.search(r"Video: h264 .* yuv420p", words) and "480x270" in words and "10 fps" in words
    raw = path.read_bytes()
    assert 0 < raw.find(b"moov") < raw.find(b"mdat")  # the index comes first


def test_odd_sizes_are_refused_before_the_work(tmp_path):
    words = "width and height of an MP4 must be even, such as 962x540; got 961x540"
    refused(words, check, tmp_path / "film.mp4", {"width": 961})


@looped("before", ["", "sys.stdin.buffer.read(); "])
def test_an_encoder_that_fails_is_quoted_and_leaves_no_file(run, tmp_path, monkeypatch, before):
    script = f"import sys; {before}sys.stderr.write('well\\nNo space left on device'); sys.exit(1)"
    monkeypatch.setattr(mp4, "_command", lambda look, path: [sys.executable, "-c", script, str(path)])
    words = "cannot write '.*film.mp4': No space left on device"
    refused(words, run.export, tmp_path / "film.mp4", **SIZE, frames=3)
    assert [*tmp_path.iterdir()] == []


def test_cancel_ends_the_encoder(run, tmp_path, monkeypatch):
    started = []
    true_popen = subprocess.Popen

    def popen(*arguments, **more):
        started.append(true_popen(*arguments, **more))
        return started[-1]

    def progress(done, total):
        if done == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(mp4.subprocess, "Popen", popen)
    with pytest.raises(KeyboardInterrupt):
        run.export(tmp_path / "film.mp4", **SIZE, frames=5, progress=progress)
    assert len(started) == 1 and started[0].poll() is not None
    assert [*tmp_path.iterdir()] == []
