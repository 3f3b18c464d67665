"""Films and pictures of a run: the frames that they show, and files that every player opens."""

import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageSequence

import pmdviz
from pmdviz.errors import InputError
from pmdviz.export import check
from pmdviz.export import writers as mp4
from pmdviz.export.figure import RunPicture
from pmdviz.export.films import Film, chosen, spread
from pmdviz.export.options import Look, spelled_out
from pmdviz.export.writers import LAST_CS, delays, rgb
from pmdviz.scenes import style
from pmdviz.scenes.stage import LAYERS, SCENES
from pmdviz.scenes.words import state
from tests.support.own import own_target
from tests.support.tables import looped, refused


@given(st.integers(1, 100_000), st.data())
def test_frames_are_spread_evenly_over_the_whole_run_and_all_different(last, data):
    frames = data.draw(st.integers(2, min(last + 1, 500)))
    places = spread(last, frames)
    gaps = np.diff(places)
    assert len(places) == frames and places[0] == 0 and places[-1] == last
    assert gaps.min() >= 1 and gaps.max() - gaps.min() <= 1
    assert np.abs(np.array(places) - np.linspace(0, last, frames)).max() <= 0.5 + 1e-9


@given(st.integers(0, 5_000), st.integers(1, 6_000))
def test_every_so_many_iterations_and_the_last(last, every):
    try:
        found = chosen(last, last, Look.checked({"every": every}), "")
    except InputError as error:
        least = int(str(error).rpartition("every=")[2].split()[0])
        assert len(chosen(last, last, Look.checked({"every": least}), "")) <= 2_000
        return
    assert found[-1] == last and found[: -1 if last else 1] == [*range(0, max(last, 1), every)]


def test_scenes_are_the_runs_own_frames_and_traces_grow_with_them(run):
    film = Film(run, Look.checked({}))
    scenes = [*film.scenes()]
    assert [scene.iteration for scene in scenes] == film.iterations == [*range(13)]
    session = pmdviz.Session(run.recipe)
    for scene in scenes:
        frame = session.seek(scene.iteration)
        assert scene.words == state(frame) and "being computed" not in scene.words
        columns = SCENES["posterior"].columns(frame, (0, 1))
        for mine, page in zip(scene.columns[:3], columns[:3], strict=True):
            assert mine.keys() == page.keys()
            assert all(np.array_equal(mine[name], page[name], equal_nan=True) for name in page)
        assert scene.columns[3:5] == columns[3:5]
    last, replayed = Film(run, Look.checked({})).last_scene(), scenes[-1]
    assert (last.iteration, last.words, last.note) == (replayed.iteration, replayed.words, replayed.note)
    assert np.array_equal(last.columns.particles["x"], replayed.columns.particles["x"])
    for scene in Film(run, Look.checked({"frames": 7})).scenes():
        past = scene.history["iteration"]
        assert past[-1] == scene.iteration and (np.diff(past) > 0).all()
        assert {*range(0, scene.iteration + 1, 2)} <= set(past.tolist())
        assert all(mark.iteration <= scene.iteration for mark in scene.marks)
    turned = [mark for mark in scene.marks if mark.kind == "knob"]
    assert [mark.iteration for mark in turned] == [5] and turned[0].visited == 500
    kinds = [mark.kind for mark in scene.marks]
    assert kinds.count("rejuvenated") == run.final.rejuvenations > 0
    assert kinds.count("limited") == run.final.limited_steps > 0
    assert len(kinds) == 1 + run.final.rejuvenations + run.final.limited_steps


def test_a_run_ends_where_it_stands_and_its_replay_between_any_two_iterations(run):
    session = pmdviz.Session(pmdviz.Recipe("gaussian", num_particles=30, budget=None))
    session.advance(4)
    assert [scene.iteration for scene in Film(session.run, Look.checked({})).scenes()] == [0, 1, 2, 3, 4]
    ticks = []

    def tick():
        ticks.append(1)
        if len(ticks) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        [*Film(run, Look.checked({"frames": 2})).scenes(tick)]
    assert len(ticks) == 3


SIZE = "480x270"


def shown(path, mode="RGB"):
    """The frames of an animation as a viewer shows them, and their times in ms."""
    with Image.open(path) as image:
        frames = [(np.asarray(f.convert(mode)).copy(), f.info["duration"]) for f in ImageSequence.Iterator(image)]
        assert image.n_frames == len(frames)
    return [frame for frame, _ in frames], [time for _, time in frames]


def look(**options):
    return Look.checked(spelled_out(options))


def drawn(run, **options):
    film = Film(run, look(**options))
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


imageio_ffmpeg = pytest.importorskip("imageio_ffmpeg")

WIDE = {"width": 480, "height": 270}


@pytest.mark.ci
def test_a_film_that_every_player_shows(run, tmp_path):
    path = run.export(tmp_path / "film.mp4", **WIDE, frames=7, fps=10)
    assert imageio_ffmpeg.count_frames_and_secs(str(path))[0] == 7
    command = [imageio_ffmpeg.get_ffmpeg_exe(), "-hide_banner", "-i", str(path)]
    words = subprocess.run(command, capture_output=True, text=True).stderr
    assert re.search(r"Video: h264 .* yuv420p", words) and "480x270" in words and "10 fps" in words
    raw = path.read_bytes()
    assert 0 < raw.find(b"moov") < raw.find(b"mdat")  # the index comes first
    words = "width and height of an MP4 must be even, such as 962x540; got 961x540"
    refused(words, check, tmp_path / "film.mp4", {"width": 961})


@pytest.mark.ci
@looped("before", ["", "sys.stdin.buffer.read(); "])
def test_an_encoder_that_fails_is_quoted_and_leaves_no_file(run, tmp_path, monkeypatch, before):
    script = f"import sys; {before}sys.stderr.write('well\\nNo space left on device'); sys.exit(1)"
    monkeypatch.setattr(mp4, "_command", lambda look, path: [sys.executable, "-c", script, str(path)])
    words = "cannot write '.*film.mp4': No space left on device"
    refused(words, run.export, tmp_path / "film.mp4", **WIDE, frames=3)
    assert [*tmp_path.iterdir()] == []


@pytest.mark.ci
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
        run.export(tmp_path / "film.mp4", **WIDE, frames=5, progress=progress)
    assert len(started) == 1 and started[0].poll() is not None
    assert [*tmp_path.iterdir()] == []


def drawn_frame(run, **options):
    """The picture of a run's last frame, and its pixels."""
    film = Film(run, look(**options))
    scene = film.last_scene()
    picture = RunPicture(film, scene)
    return picture, picture.draw(scene)


@looped("options", [{"size": "480x270"}, {"size": "360x360", "transparent": True, "large_type": True}])
def test_a_frame_does_not_depend_on_those_drawn_before_it(run, options):
    film = Film(run, look(frames=4, **options))
    scenes = [*film.scenes()]
    picture = RunPicture(film, scenes[0])
    frames = [picture.draw(scene).copy() for scene in scenes]
    assert np.array_equal(picture.draw(scenes[1]), frames[1])
    assert np.array_equal(RunPicture(film, scenes[0]).draw(scenes[-1]), frames[-1])
    assert len({frame.tobytes() for frame in frames}) == 4


@looped("size", ["641x361", "200x700"])
def test_the_picture_has_the_size_that_was_asked_for(run, size):
    width, height = map(int, size.split("x"))
    picture, pixels = drawn_frame(run, size=size)
    assert pixels.shape == (height, width, 4) and (len(picture.panels) == 2) == (width >= 1.5 * height)
    box = picture.panels[0].axes.get_window_extent()
    assert box.width == pytest.approx(box.height, abs=1.5) and box.width > 0.5 * min(width, height)


@pytest.mark.ci
def test_layers_can_be_left_out_and_paper_is_the_themes_or_nothing(run):
    small = {"size": "320x180"}
    whole = drawn_frame(run, **small)[1].copy()
    there = [name for name in LAYERS if name != "paths"]  # mirror descent has none
    for name in there:
        some, pixels = drawn_frame(run, layers=[other for other in LAYERS if other != name], **small)
        assert not np.array_equal(pixels, whole)
        assert len(some.panels[0].axes.get_legend().get_texts()) == len(there) - 1
    assert drawn_frame(run, traces="none", **small)[0].panels[1:] == []
    assert whole[0, 0].tolist() == [255, 255, 255, 255]
    assert drawn_frame(run, theme="dark", **small)[1][0, 0].tolist() == [18, 18, 18, 255]
    clear = drawn_frame(run, transparent=True, **small)[1]
    assert clear[0, 0, 3] == 0 and clear[..., 3].max() == 255


@looped("dim", [1, 3])
def test_other_dimensions(dim):
    made = pmdviz.run(target=own_target(dim), num_particles=40, budget=200, floor=False)
    picture, pixels = drawn_frame(made, size="480x270")
    assert len(np.unique(pixels.reshape(-1, 4), axis=0)) > 20
    if dim == 1:
        x, y = picture.panels[0].artists["approximate"].get_data()
        assert np.trapezoid(y, x) == pytest.approx(1, abs=0.02)
        assert picture.panels[0].axes.get_ylim()[1] > 0.9 * y.max() > 0
    else:
        assert picture.panels[1].axes.get_ylabel() == "importance shift (posterior sds)"  # nothing to compare with


@looped("suffix", [".png", ".svg", ".pdf"])
def test_the_same_run_gives_the_same_bytes_in_the_form_of_its_kind(run, tmp_path, suffix):
    one, raw = (run.export(tmp_path / f"{name}{suffix}").read_bytes() for name in "ab")
    assert one == raw
    if suffix == ".png":  # the frame that a film ends with
        saved = np.asarray(Image.open(tmp_path / "a.png").convert("RGBA")).astype(int)
        assert (np.abs(saved - drawn_frame(run)[1]).max(axis=2) > 2).mean() < 0.001
    if suffix == ".pdf":
        assert raw.startswith(b"%PDF") and b"/Type /Page" in raw and raw.rstrip().endswith(b"%%EOF")
    if suffix == ".svg":
        root = ElementTree.fromstring(raw.decode())
        assert root.tag.endswith("svg")
        assert "iteration 12, 1,200 of 1,200 observations used" in " ".join(root.itertext())
        (dots,) = [each for each in root.iter() if each.get("id", "").startswith("PathCollection")]
        assert sum(each.tag.endswith(("path", "use")) for each in dots.iter()) >= len(run.weights)
