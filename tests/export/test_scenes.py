import json
import re

import numpy as np
import pytest

import pmdviz
from pmdviz.errors import InputError
from pmdviz.export.films import Film
from pmdviz.export.options import Look
from tests.export.unpacking import opened
from tests.support.tables import looped


@pytest.fixture(scope="module")
def run():
    return pmdviz.run(target="logistic", method="pmd", seed=0, budget=500, floor=False, num_particles=100)


@pytest.fixture(scope="module")
def race():
    return pmdviz.race(methods=["pmd:num_particles=50"], target="logistic", budget=200, seeds=1)


def test_a_player_carries_the_image_of_every_frame(run, tmp_path):
    run.export(tmp_path / "film.html", frames=2, traces="mean_error")
    film = json.loads(re.search(r'id="film"[^>]*>(.*?)</script>', (tmp_path / "film.html").read_text(), re.S)[1])
    first, last = (opened(film, film["frames"][k])["marks"]["image"]["columns"] for k in (0, -1))
    expected = Film(run, Look.checked({}), all_floors=False).last_scene().columns.image.values
    np.testing.assert_allclose(last["values"], expected.ravel(), atol=1e-4)
    assert last["shape"] == [*expected.shape] and not np.array_equal(first["values"], last["values"])


@looped(
    "options, words",
    [
        ({"scene": "lattice"}, "scene 'lattice' cannot be drawn of method 'pmd' on target 'logistic'"),
        ({"horizontal": 9}, "numbered 1 to 3; got 9"),
        ({"horizontal": 2}, "horizontal and vertical must be different"),
        ({"scene": "mariginals"}, "did you mean .marginals."),
    ],
)
def test_what_cannot_be_drawn_is_said_before_any_work(run, race, options, words, tmp_path):
    for what in (run, race):
        with pytest.raises(InputError, match=words.replace("method 'pmd'", "method .*")):
            what.export(tmp_path / "film.gif", **options)
    assert not list(tmp_path.iterdir())
