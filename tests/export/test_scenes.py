"""Films, players and tiles draw the layers of any scene."""

import base64
import json
import re
import zlib

import numpy as np
import pytest

import pmdviz
from pmdviz.errors import InputError
from pmdviz.export.film.film import Film
from pmdviz.export.film.race_film import RaceFilm
from pmdviz.export.options import Look, RaceLook
from pmdviz.scenes.image_palette import palette


@pytest.fixture(scope="module")
def run():
    return pmdviz.run(target="logistic", method="pmd", seed=0, budget=2_000, floor=False, num_particles=200)


@pytest.fixture(scope="module")
def race():
    return pmdviz.race(methods=["pmd", "svi"], target="logistic", budget=1_000, seeds=1)


def colours_of(pixels):
    return np.unique(pixels[..., :3].reshape(-1, 3), axis=0).astype(float)


def shades(part=slice(None)):
    """The image's colours as they are seen on white paper."""
    red_green_blue_alpha = np.array([[int(c[k : k + 2], 16) for k in (1, 3, 5, 7)] for c in palette(False)[part]])
    alpha = red_green_blue_alpha[:, 3:] / 255
    return red_green_blue_alpha[:, :3] * alpha + 255 * (1 - alpha)


def seen(colours, pixels):
    """How many of some colours are in a picture, but for rounding."""
    drawn = colours_of(pixels)
    return sum(np.abs(drawn - colour).max(axis=1).min() <= 1 for colour in np.unique(np.rint(colours), axis=0))


def test_a_film_has_the_colours_of_the_image_and_of_the_lines(run):
    film = Film(run, Look.checked({"traces": "none", "width": 400, "height": 400}), all_floors=False)
    scene = film.last_scene()
    drawn = film.picture(scene).draw(scene)
    highest = int(scene.columns.image.values.max() * 255)
    assert seen(shades(slice(highest, highest + 1)), drawn) or seen(shades(slice(255, 256)), drawn)
    assert seen(shades(), drawn) > 60, "the image is drawn"
    assert seen([[0xD5, 0x5E, 0x00]], drawn), "and the lines over it"
    plain = Film(run, Look.checked({"scene": "posterior", "traces": "none", "approximate": False}), all_floors=False)
    assert seen(shades(slice(10, 120)), plain.picture(plain.last_scene()).draw(plain.last_scene())) < 5


def test_the_legend_has_the_words_of_the_scene(run, tmp_path):
    run.export(tmp_path / "one.svg", traces="mean_error")
    run.export(tmp_path / "two.svg", traces="mean_error", scene="posterior", horizontal=3, vertical=1)
    one, two = ((tmp_path / name).read_text() for name in ("one.svg", "two.svg"))
    assert "line of the exact mean" in one and "data of class 0" in one
    assert "w₃" in two and "w₁" in two and "line of the exact mean" not in two


def numbers_of(page):
    film = json.loads(re.search(r'id="film"[^>]*>(.*?)</script>', page, re.S)[1])
    planes = np.frombuffer(zlib.decompress(base64.b64decode(film["numbers"])), np.uint8).astype(int)
    half = len(planes) // 2
    return film, planes[:half] * 256 + planes[half:]


def test_a_player_carries_the_image_of_every_frame(run, tmp_path):
    run.export(tmp_path / "film.html", frames=4, traces="mean_error")
    film, numbers = numbers_of((tmp_path / "film.html").read_text())
    start, length = film["frames"][-1]["image"]
    found = numbers[start : start + length] * film["image_step"]
    expected = Film(run, Look.checked({}), all_floors=False).last_scene().columns.image.values
    np.testing.assert_allclose(found, expected.ravel(), atol=1e-4)
    assert film["frames"][0]["image"] != film["frames"][-1]["image"]


def test_a_race_has_an_image_in_every_tile(race, tmp_path):
    film = RaceFilm(race, RaceLook.checked({"traces": "none"}))
    scene = film.last_scene()
    assert scene.scene.name == "decision_lines"
    pixels = film.picture(scene).draw(scene)
    half = pixels.shape[1] // 2
    for part in (pixels[:, :half], pixels[:, half:]):
        assert seen(shades(), part) > 30
    race.export(tmp_path / "race.html", frames=3)
    made, _ = numbers_of((tmp_path / "race.html").read_text())
    assert all(len(frame["images"]) == 2 for frame in made["frames"])


@pytest.mark.parametrize(
    "options, words",
    [
        ({"scene": "lattice"}, "scene 'lattice' cannot be drawn of method 'pmd' on target 'logistic'"),
        ({"horizontal": 9}, "has 3 coordinates; asked for number 9"),
        ({"horizontal": 2}, "horizontal and vertical must be different"),
        ({"scene": "mariginals"}, "did you mean .marginals."),
    ],
)
def test_what_cannot_be_drawn_is_said_before_any_work(run, race, options, words, tmp_path):
    for what in (run, race):
        with pytest.raises(InputError, match=words.replace("method 'pmd'", "method .*")):
            what.export(tmp_path / "film.gif", **options)
    assert not list(tmp_path.iterdir())
