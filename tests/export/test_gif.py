import io

import numpy as np
import pytest
from PIL import Image, ImageSequence

from pmdviz.errors import InputError
from pmdviz.export import check
from pmdviz.export.film.film import Film
from pmdviz.export.film.palette import TRANSPARENT, cell_of, nearest, pack, palette, rgb
from pmdviz.export.film.picture import Picture
from pmdviz.export.options import Look, spelled_out
from pmdviz.export.writers.gif import LAST_CS, delays
from pmdviz.scenes import style
from tests.support.likeness import similarity

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
    picture = Picture(film, scenes[0])
    return [picture.draw(scene)[..., :3].copy() for scene in scenes]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_frames_are_those_that_were_drawn(run, tmp_path, theme):
    path = run.export(tmp_path / "film.gif", size=SIZE, theme=theme, frames=6)
    frames, _ = shown(path)
    originals = drawn(run, size=SIZE, theme=theme, frames=6)
    assert len(frames) == len(originals) == 6
    for frame, original in zip(frames, originals, strict=True):
        assert frame.shape == (270, 480, 3)
        difference = np.abs(frame.astype(int) - original)
        assert difference.mean() < 1.0 and (difference.max(axis=2) > 48).mean() < 0.002
        assert similarity(frame, original) > 0.97


def test_as_many_frames_as_asked_and_all_different(run, tmp_path):
    frames, _ = shown(run.export(tmp_path / "film.gif", size=SIZE))
    assert len(frames) == 13
    assert len({frame.tobytes() for frame in frames}) >= 0.9 * 13


def test_frames_that_look_the_same_still_count(run, tmp_path):
    path = run.export(tmp_path / "film.gif", size="160x160", layers="exact", frames=5)
    frames, times = shown(path)
    assert len(frames) == len(times) == 5


def test_every_kth_iteration(run, tmp_path):
    assert len(shown(run.export(tmp_path / "film.gif", size=SIZE, every=5))[0]) == len([0, 5, 10, 12])


@pytest.mark.parametrize("fps", [1, 7, 20, 30, 50])
def test_the_film_keeps_time(fps):
    found = [*delays(201, fps)]
    assert len(found) == 201 and found[-1] == LAST_CS and min(found) >= 2
    assert np.cumsum(found[:-1])[-1] == pytest.approx(100 * 200 / fps, abs=0.5)
    assert max(found[:-1]) - min(found[:-1]) <= 1


def test_times_are_in_the_file_and_it_begins_again(run, tmp_path):
    path = run.export(tmp_path / "film.gif", size="160x160", frames=4, fps=10)
    assert shown(path)[1] == [100, 100, 100, 10 * LAST_CS]
    with Image.open(path) as image:
        assert image.info["loop"] == 0


def test_no_faster_than_browsers_show(tmp_path):
    with pytest.raises(InputError, match="a GIF shows at most 50 frames per second; given: fps=51"):
        check(tmp_path / "film.gif", {"fps": 51})


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_transparent_frames_leave_nothing_of_the_one_before(run, tmp_path, theme):
    path = run.export(tmp_path / "film.gif", size=SIZE, frames=4, transparent=True, theme=theme)
    frames, _ = shown(path, "RGBA")
    paper = rgb(style.theme(theme == "dark").paper)
    originals = drawn(run, size=SIZE, frames=4, theme=theme)
    for frame, original in zip(frames, originals, strict=True):
        assert 0.5 < (frame[..., 3] == 0).mean() < 1
        on_paper = np.where(frame[..., 3:] > 0, frame[..., :3], paper)
        assert np.abs(on_paper - original).mean() < 3.0


@pytest.mark.parametrize("dark", [False, True])
def test_the_palette_holds_the_themes_colours_exactly(dark):
    theme, colours = style.theme(dark), palette(dark)
    assert len(colours) <= TRANSPARENT
    wanted = [theme.paper, theme.grid, theme.text, theme.muted, *(theme.layers[n] for n in ("exact", "approximate"))]
    wanted.append(theme.layers["particles"])
    for colour in wanted:
        found = colours[nearest(dark)[cell_of(pack(rgb(colour)[None]))[0]]]
        assert np.abs(found - rgb(colour)).max() <= 1, colour


def test_the_nearest_colour_is_the_nearest():
    rng = np.random.default_rng(0)
    some = rng.integers(0, 256, (500, 3))
    colours = palette(False).astype(float)
    found = colours[nearest(False)[cell_of(pack(some))]]
    best = np.min(np.linalg.norm(colours[None] - some[:, None], axis=2), axis=1)
    assert (np.linalg.norm(found - some, axis=1) <= best + 16).all()  # up to the size of a cell


def test_the_same_run_gives_the_same_bytes(run, tmp_path):
    one, two = (run.export(tmp_path / name, size="160x160", frames=3) for name in ("a.gif", "b.gif"))
    assert one.read_bytes() == two.read_bytes()
    Image.open(io.BytesIO(one.read_bytes())).verify()
