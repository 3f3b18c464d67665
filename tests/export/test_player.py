import json
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from pmdviz.export.films import Film, traces_of
from pmdviz.export.options import Look
from pmdviz.export.player import GAP, INSIDE_DOTS, STEPS, Numbers, Page, quantised, scale
from pmdviz.scenes.columns import INK, LARGEST_DOT
from tests.export.unpacking import merged, opened, unpacked

FLOATS = arrays.arrays(np.float32, st.integers(0, 20), elements=st.floats(-1e4, 1e4, width=32))


@given(FLOATS)
def test_numbers_come_back_to_half_a_step(values):
    low, step = scale([values])
    numbers = quantised(values, low, step)
    assert numbers.dtype == np.uint16 and (numbers <= STEPS).all()
    np.testing.assert_allclose(low + step * numbers, values, atol=0.501 * step)


def test_the_same_array_is_stored_once():
    numbers = Numbers()
    one, two = np.array([1, 2, 3], np.uint16), np.array([4], np.uint16)
    assert [numbers.put(each) for each in (one, two, one.copy())] == [[0, 3], [3, 1], [0, 3]]
    assert unpacked(numbers.text()).tolist() == [1, 2, 3, 4]


@pytest.fixture(scope="module")
def scenes(run):
    return [*Film(run, Look.checked({"frames": 7})).scenes()]


def page(run, scenes, **options):
    return Page(Film(run, Look.checked(options)), scenes)


def test_a_column_that_grows_is_stored_once_when_the_longest_comes_first():
    numbers = Numbers()
    long, other = np.array([1, 2, 3, 4], np.uint16), np.array([1, 2, 5], np.uint16)
    assert [numbers.put(each, "x") for each in (long, long[:2], long[:0], other)] == [[0, 4], [0, 2], [0, 0], [4, 3]]
    assert unpacked(numbers.text()).tolist() == [*long, *other]


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


def test_the_page_is_whole_by_itself_and_an_end_of_a_script_in_the_words_ends_nothing(run, scenes, tmp_path):
    text = page(run, scenes).html()
    assert not re.search(r"<(script|img|iframe|source)[^>]*\ssrc=|<link[^>]*\shref=|@import|url\(\s*['\"]?http", text)
    assert "import pmdviz" in text and "iteration 0, 0 of 1,200 observations used" in text
    film = re.search(r'<script type="application/json" id="film">(.*?)</script>', text, flags=re.S)[1]
    assert json.loads(film)["fps"] == 20
    odd = [scene._replace(words="</script><b>", note="<!--<script>") for scene in scenes]
    text = page(run, odd).html()
    assert text.count("</script><b>") == 0
    film = re.search(r'<script type="application/json" id="film">(.*?)</script>', text, flags=re.S)[1]
    assert "<" not in film and "<!--<script>" in str(json.loads(film))
    assert "&lt;/script&gt;&lt;b&gt;" in text


FRAMES = 5


def with_steps(run, **options):
    film = Film(run, Look.checked({"frames": FRAMES, "traces": "none", **options}), all_floors=False)
    return Page(film, film.scenes())


@pytest.fixture(scope="module")
def made(run):
    return with_steps(run)


def test_every_frame_has_its_step_in_numbers_that_add_up(made):
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


def test_the_page_has_the_panel_and_its_script_unless_it_is_left_out(made, run):
    text = made.html()
    assert made.payload["inside"] and "inside_view = " in text
    without = with_steps(run, inside=False)
    assert without.insides == [] and not any("inside" in frame for frame in without.payload["frames"])
    plain = without.html()
    assert not without.payload["inside"] and "inside_view = " not in plain and len(plain) < len(text)
