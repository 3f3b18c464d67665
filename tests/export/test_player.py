import json
import re

import numpy as np
import pytest

import pmdviz
from pmdviz.export.films import Film, traces_of
from pmdviz.export.options import Look
from pmdviz.export.player import GAP, INSIDE_DOTS, Numbers, Player
from pmdviz.scenes.columns import INK, LARGEST_DOT
from tests.export.unpacking import merged, opened, unpacked


def test_the_same_array_is_stored_once_and_so_is_a_column_that_grows_when_the_longest_comes_first():
    numbers = Numbers()
    one, two = np.array([1, 2, 3], np.uint16), np.array([4], np.uint16)
    assert [numbers.put(each) for each in (one, two, one.copy())] == [[0, 3], [3, 1], [0, 3]]
    assert unpacked(numbers.text()).tolist() == [1, 2, 3, 4]
    numbers, long, other = Numbers(), np.array([1, 2, 3, 4], np.uint16), np.array([1, 2, 5], np.uint16)
    assert [numbers.put(each, "x") for each in (long, long[:2], long[:0], other)] == [[0, 4], [0, 2], [0, 0], [4, 3]]
    assert unpacked(numbers.text()).tolist() == [*long, *other]


@pytest.fixture(scope="module")
def scenes(run):
    return [*Film(run, Look.checked({"frames": 7})).scenes()]


def page(run, scenes, **options):
    return Player(Film(run, Look.checked(options)), scenes)


@pytest.mark.parametrize("traces", ["tv", "kl"])
def test_the_payload_holds_the_pictures_of_every_frame(run, scenes, traces):
    made = page(run, scenes, traces=traces)
    payload, last = made.payload, made.scenes[-1]
    assert len(payload["frames"]) == 7
    for frame, scene in zip(payload["frames"], scenes, strict=True):
        stage, lines = opened(payload, frame), opened(payload, frame, 1)
        dots, line = scene.columns.particles, scene.columns.approximate
        found, look = stage["marks"]["particles"]["columns"], stage["marks"]["particles"]["look"]
        assert look["area"] == pytest.approx(INK) and look["most"] == dots["size"].max() <= LARGEST_DOT
        np.testing.assert_allclose(np.minimum(found["size"], look["most"]), dots["size"], atol=1e-3)
        np.testing.assert_allclose(found["size"] ** 2 / look["area"], dots["weight"], atol=1e-5)
        for mark, expected in ((found, dots), (stage["marks"]["approximate"]["columns"], line)):
            for name in ("x", "y"):
                np.testing.assert_allclose(mark[name], expected[name], atol=2e-4)
        assert frame["words"] == scene.words
        drawn = traces_of(made.film, last, scene)
        assert {*lines["marks"]} == {*drawn.marks} and lines["legend"] == drawn.legend
        for key, mark in ((key, mark) for key, mark in drawn.marks.items() if mark.columns):
            for side in ("x", "y"):
                column = mark.look.get(side, side)
                expected = np.asarray(mark.columns[column], float)
                np.testing.assert_allclose(lines["marks"][key]["columns"][column], expected, rtol=1e-3, atol=1e-4)
    places = [
        merged(payload["pictures"][0], frame["pictures"][0])["marks"]["particles"]["columns"]["x"]
        for frame in payload["frames"]
    ]
    for before, after, scene in zip(places, places[1:], scenes[1:], strict=False):
        between = {mark.iteration for mark in scene.marks if mark.kind == "rejuvenated"}
        assert (before == after) == (not between & {scene.iteration - 1, scene.iteration})


def film_in(text):
    return re.search(r'<script type="application/json" id="film">(.*?)</script>', text, flags=re.S)[1]


def test_a_player_carries_the_image_of_every_frame(tmp_path):
    run = pmdviz.run(target="logistic", budget=500, floor=False, num_particles=100)
    path = run.export(tmp_path / "film.html", frames=2, traces="mean_error")
    film = json.loads(film_in(path.read_text(encoding="utf-8")))
    first, last = (opened(film, film["frames"][k])["marks"]["image"]["columns"] for k in (0, -1))
    expected = Film(run, Look.checked({}), all_floors=False).last_scene().columns.image.values
    np.testing.assert_allclose(last["values"], expected.ravel(), atol=1e-4)
    assert last["shape"] == [*expected.shape] and not np.array_equal(first["values"], last["values"])


def test_the_page_is_whole_by_itself_and_an_end_of_a_script_in_the_words_ends_nothing(run, scenes, tmp_path):
    text = page(run, scenes).html()
    assert not re.search(r"<(script|img|iframe|source)[^>]*\ssrc=|<link[^>]*\shref=|@import|url\(\s*['\"]?http", text)
    assert "import pmdviz" in text and "iteration 0, 0 of 1,200 observations used" in text
    assert json.loads(film_in(text))["fps"] == 20
    odd = [scene._replace(words="</script><b>", note="<!--<script>") for scene in scenes]
    text = page(run, odd).html()
    assert text.count("</script><b>") == 0
    film = film_in(text)
    assert "<" not in film and "<!--<script>" in str(json.loads(film))
    assert "&lt;/script&gt;&lt;b&gt;" in text


def with_steps(run, **options):
    film = Film(run, Look.checked({"frames": 5, "traces": "none", **options}), all_floors=False)
    return Player(film, film.scenes())


def test_every_frame_has_its_step_in_numbers_that_add_up_unless_steps_are_left_out(run):
    made = with_steps(run)
    numbers = unpacked(made.payload["numbers"])

    def read(place):
        start, length, *scale = place["at"]
        if scale:
            found, (low, step) = numbers[start : start + length], made.payload["scales"][scale[0]]
            return np.where(found == GAP, np.nan, low + step * found)
        low, high = np.split(numbers[start : start + length].astype(np.uint32), 2)
        return (high << 16 | low).view(np.float32)

    for (inside,), frame, scene in zip(made.insides, made.payload["frames"], made.scenes, strict=True):
        told, (kept,) = inside.told, frame["inside"]
        assert told["iteration"] == kept["iteration"] == scene.iteration
        if "note" in told:
            assert kept["note"] == told["note"] and scene.iteration == 0
            continue
        np.testing.assert_array_equal(read(kept["total"][0]), told["total"][0])  # to the last bit
        np.testing.assert_array_equal(read(kept["dots"]["row"]), told["dots"]["row"])
        terms = sum(read(term["values"][0]).astype(float) for term in kept["terms"])
        np.testing.assert_allclose(terms, told["total"][0], atol=2e-4)
        np.testing.assert_allclose(read(kept["dots"]["x"]), told["dots"]["x"], atol=1e-3)
        np.testing.assert_allclose(read(kept["dots"]["weight"]), told["dots"]["weight"], rtol=5e-4)
        drawn = merged(made.payload["pictures"][0], frame["pictures"][0])["marks"]["approximate"]["columns"]
        assert kept["lines"]["after"]["x"] == drawn["x"]  # stored once
        assert len(told["dots"]["row"]) <= INSIDE_DOTS + 1
    assert not any(scene.steps for scene in made.scenes)  # the frames are let go of
    text = made.html()
    assert made.payload["inside"] and "inside_view = " in text
    without = with_steps(run, inside=False)
    assert without.insides == [] and not any("inside" in frame for frame in without.payload["frames"])
    plain = without.html()
    assert not without.payload["inside"] and "inside_view = " not in plain and len(plain) < len(text)
