import numpy as np
import pytest
from PIL import Image, ImageSequence

from pmdviz.export.figure import RunPicture
from pmdviz.export.films import Film
from pmdviz.export.options import Look, spelled_out
from pmdviz.export.writers import LAST_CS, delays, rgb
from pmdviz.scenes import style
from tests.support.tables import looped, refused

SIZE = "480x270"


def shown(path, mode="RGB"):
    """The frames of an animation as a viewer shows them, and their times in ms."""
    with Image.open(path) as image:
        frames = [(np.asarray(f.convert(mode)).copy(), f.info["duration"]) for f in ImageSequence.Iterator(image)]
        assert image.n_frames == len(frames)
    return [frame for frame, _ in frames], [time for _, time in frames]


def drawn(run, **options):
    film = Film(run, Look.checked(spelled_out(options)))
    scenes = [*film.scenes()]
    picture = RunPicture(film, scenes[0])
    return [picture.draw(scene)[..., :3].copy() for scene in scenes]


def test_the_frames_are_those_that_were_drawn_and_times_are_in_the_file(run, tmp_path):
    path = run.export(tmp_path / "film.gif", size=SIZE, theme="light", frames=3, fps=10)
    frames, times = shown(path)
    assert times == [100, 100, 10 * LAST_CS]
    for frame, original in zip(frames, drawn(run, size=SIZE, theme="light", frames=3), strict=True):
        assert frame.shape == (270, 480, 3)
        difference = np.abs(frame.astype(int) - original)
        assert difference.mean() < 1.0 and (difference.max(axis=2) > 48).mean() < 0.002
    with Image.open(path) as image:
        assert image.info["loop"] == 0


@looped("fps", [1, 7, 20, 30, 50])
def test_the_film_keeps_time(fps):
    found = [*delays(201, fps)]
    assert len(found) == 201 and found[-1] == LAST_CS and min(found) >= 2
    assert np.cumsum(found[:-1])[-1] == pytest.approx(100 * 200 / fps, abs=0.5)
    assert max(found[:-1]) - min(found[:-1]) <= 1


def test_transparent_frames_leave_nothing_of_the_one_before(run, tmp_path):
    path = run.export(tmp_path / "film.gif", size=SIZE, frames=3, transparent=True, theme="dark")
    frames, _ = shown(path, "RGBA")
    paper = rgb(style.theme(dark=True).paper)
    for frame, original in zip(frames, drawn(run, size=SIZE, frames=3, theme="dark"), strict=True):
        assert 0.5 < (frame[..., 3] == 0).mean() < 1
        on_paper = np.where(frame[..., 3:] > 0, frame[..., :3], paper)
        assert np.abs(on_paper - original).mean() < 3.0


def test_a_film_that_would_not_fit_into_memory_is_refused(run, tmp_path, monkeypatch):
    monkeypatch.setattr("pmdviz.export.writers.MAX_PIXELS", 2 * 160 * 160)
    words = "a GIF of 160x160 has at most 2 frames; got 3 (or .mp4)"
    refused(words, run.export, tmp_path / "film.gif", size="160x160", frames=3)
