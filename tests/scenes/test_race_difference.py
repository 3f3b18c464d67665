import numpy as np
import pytest

from pmdviz.experiments.race import Race, RaceRecipe
from pmdviz.scenes.race import Difference, Standing, difference, difference_of, race_scene, weighted
from pmdviz.views import RaceDifference


def scene_of(methods, steps=6):
    race = Race(RaceRecipe.checked(methods, "gaussian", budget=200), metrics_every=10**6)
    standings = [Standing(race, k) for k in range(len(race.sessions))]
    for _ in range(steps):
        race.advance(20)
        for standing in standings:
            standing.take()
    return race_scene(race, [one.tile() for one in standings], weighted(one.frame for one in standings))


@pytest.fixture(scope="module")
def scene():
    return scene_of("pmd:num_particles=200,pmd:num_particles=400")


def test_it_is_one_trace_minus_the_other_and_the_words_say_who_is_closer(scene):
    found, (one, other) = difference_of(scene), (tile.trace for tile in scene.tiles)
    assert np.array_equal(one["visited"], other["visited"]) and len(found.x) == 6
    assert np.array_equal(found.x, one["visited"]) and np.array_equal(found.y, other["tv"] - one["tv"])
    found = difference_of(scene)
    lower = [tile.row["tv"] for tile in scene.tiles]
    assert found.closer == found.titles[int(lower[1] < lower[0])]
    assert found.closer in found.words and found.words.endswith("(at 120 observations)")
    same = Difference(np.array([0.0, 5]), np.zeros(2), found.metric, found.titles, "data")
    assert same.words == "TV is the same at 5 observations" and same.reach == 1.0
    nothing = Difference(np.empty(0), np.empty(0), found.metric, found.titles, "data")
    assert nothing.words == nothing.closer == "" and nothing.reach == 1.0
    view, found = RaceDifference(), difference_of(scene)
    view.set_theme(dark=True)
    view.show(found, "visited", 204.0)
    data, y = {name: source.data for name, source in view.sources.items()}, view.figure.y_range
    inside = np.clip(found.y, -found.reach, found.reach)
    assert np.array_equal(data["line"]["y"], inside) and np.array_equal(data["line"]["x"], found.x)
    assert np.array_equal(data["above"]["high"] + data["below"]["low"], inside) and (data["above"]["high"] >= 0).all()
    assert y.start == -y.end and list(data["zero"]["y"]) == [0, 0]
    assert [data[key]["text"] for key in ("first", "second")] == [[f"{title} closer"] for title in found.titles]
    assert [data[key]["y"] for key in ("first", "second")] == [[1.0], [0.0]]


def test_in_between_it_is_linear_and_goes_no_further_than_both():
    one = {"visited": np.array([0.0, 10, 30]), "tv": np.array([1.0, 0.5, 0.1])}
    other = {"visited": np.array([5.0, 20, 25, 40]), "tv": np.array([0.9, np.nan, 0.3, 0.2])}
    x, y = difference(one, other, "visited", "tv")
    assert x.tolist() == [5, 10, 25, 30]
    assert y == pytest.approx([0.9 - 0.75, 0.75 - 0.5, 0.3 - 0.2, 0.3 - 0.1 / 3 - 0.1])
    nothing = {"visited": np.array([0.0]), "tv": np.array([np.nan])}
    assert not len(difference(one, nothing, "visited", "tv")[0])
