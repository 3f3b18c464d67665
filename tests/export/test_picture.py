import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from PIL import Image

import pmdviz
from pmdviz.export.figure import RunPicture
from pmdviz.export.films import Film
from pmdviz.export.options import Look, spelled_out
from pmdviz.scenes.stage import LAYERS
from tests.support.own import own_target
from tests.support.tables import looped


def look(**options):
    return Look.checked(spelled_out(options))


def drawn(run, **options):
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
    picture, pixels = drawn(run, size=size)
    assert pixels.shape == (height, width, 4) and (picture.traces is not None) == (width >= 1.5 * height)
    box = picture.stage.axes.get_window_extent()
    assert box.width == pytest.approx(box.height, abs=1.5) and box.width > 0.5 * min(width, height)


@pytest.mark.ci
def test_layers_can_be_left_out_and_paper_is_the_themes_or_nothing(run):
    small = {"size": "320x180"}
    whole = drawn(run, **small)[1].copy()
    there = [name for name in LAYERS if name != "paths"]  # mirror descent has none
    for name in there:
        some, pixels = drawn(run, layers=[other for other in LAYERS if other != name], **small)
        assert not np.array_equal(pixels, whole)
        assert len(some.stage.axes.get_legend().get_texts()) == len(there) - 1
    assert drawn(run, traces="none", **small)[0].traces is None
    assert whole[0, 0].tolist() == [255, 255, 255, 255]
    assert drawn(run, theme="dark", **small)[1][0, 0].tolist() == [18, 18, 18, 255]
    clear = drawn(run, transparent=True, **small)[1]
    assert clear[0, 0, 3] == 0 and clear[..., 3].max() == 255


@looped("dim", [1, 3])
def test_other_dimensions(dim):
    made = pmdviz.run(target=own_target(dim), num_particles=40, budget=200, floor=False)
    picture, pixels = drawn(made, size="480x270")
    assert len(np.unique(pixels.reshape(-1, 4), axis=0)) > 20
    if dim == 1:
        x, y = picture.stage.artists["approximate"].get_data()
        assert np.trapezoid(y, x) == pytest.approx(1, abs=0.02)
        assert picture.stage.axes.get_ylim()[1] > 0.9 * y.max() > 0
    else:
        assert picture.traces.axes.get_ylabel() == "importance shift (posterior sds)"  # nothing to compare with


@looped("suffix", [".png", ".svg", ".pdf"])
def test_the_same_run_gives_the_same_bytes_in_the_form_of_its_kind(run, tmp_path, suffix):
    one, raw = (run.export(tmp_path / f"{name}{suffix}").read_bytes() for name in "ab")
    assert one == raw
    if suffix == ".png":  # the frame that a film ends with
        saved = np.asarray(Image.open(tmp_path / "a.png").convert("RGBA")).astype(int)
        assert (np.abs(saved - drawn(run)[1]).max(axis=2) > 2).mean() < 0.001
    if suffix == ".pdf":
        assert raw.startswith(b"%PDF") and b"/Type /Page" in raw and raw.rstrip().endswith(b"%%EOF")
    if suffix == ".svg":
        root = ElementTree.fromstring(raw.decode())
        assert root.tag.endswith("svg")
        assert "iteration 12, 1,200 of 1,200 observations used" in " ".join(root.itertext())
        (dots,) = [each for each in root.iter() if each.get("id", "").startswith("PathCollection")]
        assert sum(each.tag.endswith(("path", "use")) for each in dots.iter()) >= len(run.weights)
