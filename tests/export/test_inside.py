import numpy as np
import pytest

from pmdviz.export.film.film import Film
from pmdviz.export.options import Look
from pmdviz.export.player.payload import GAP
from pmdviz.export.player.player import INSIDE_DOTS, Page
from tests.export.unpacking import unpacked

FRAMES = 5


def page(run, **options):
    film = Film(run, Look.checked({"frames": FRAMES, "traces": "none", **options}), all_floors=False)
    return Page(film, film.scenes())


@pytest.fixture(scope="module")
def made(run):
    return page(run)


def test_every_frame_has_its_step_in_numbers_that_add_up(made):
    numbers = unpacked(made.payload["numbers"])

    def read(place):
        start, length, *scale = place["at"]
        if scale:
            found = numbers[start : start + length]
            return np.where(found == GAP, np.nan, scale[0] + scale[1] * found)
        low, high = np.split(numbers[start : start + length].astype(np.uint32), 2)
        return (high << 16 | low).view(np.float32)

    for inside, frame, scene in zip(made.insides, made.payload["frames"], made.scenes, strict=True):
        told, kept = inside.told, frame["inside"]
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
        assert kept["lines"]["after"]["x"]["at"][:2] == frame["line_x"]  # stored once
        assert len(told["dots"]["row"]) <= INSIDE_DOTS + 1
    assert all(scene.step is None for scene in made.scenes)  # the frames are let go of


def test_the_page_has_the_panel_and_its_script_unless_it_is_left_out(made, run):
    text = made.html()
    assert '<details id="inside">' in text and "inside_view = " in text and "pmdviz-pick" in text
    without = page(run, inside=False)
    assert without.insides == [] and not any("inside" in frame for frame in without.payload["frames"])
    plain = without.html()
    assert '<details id="inside">' not in plain and "inside_view = " not in plain and len(plain) < len(text)
