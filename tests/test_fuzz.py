"""A small share of `pmdviz bench fuzz`, the same every time; the bench tries ten thousand."""

import json
import urllib.error
import urllib.request

import pytest

from pmdviz.engine.recipe.recipe import Recipe
from pmdviz.experiments.race import RaceRecipe
from pmdviz.lab import links
from tests.support.attempts import alone, try_arguments, try_link, try_race, try_recipe, try_table
from tests.support.mutations import TABLE, Mutator, races, seeds


@pytest.mark.parametrize(
    ("attempt", "draw", "number"),
    [(try_recipe, "recipe", 400), (try_race, "race", 100), (try_link, "link", 200), (try_table, "table", 100)],
)
def test_what_is_read(attempt, draw, number):
    mutator = Mutator(1)
    found = alone(lambda: attempt(getattr(mutator, draw)()), number)
    assert found["wrong"] == []
    assert found["tried"] == number and set(found["ended"]) == {"read", "refused"}  # both happen


def test_command_lines():
    mutator = Mutator(2)
    found = alone(lambda: try_arguments(mutator.arguments()), 100)
    assert found["wrong"] == []
    assert found["ended"]["refused"] > 10


def test_what_is_wrong_is_seen(monkeypatch):
    def read(text):
        raise KeyError("broken")

    monkeypatch.setattr(Recipe, "from_json", read)
    assert try_recipe("{}")[1].startswith("KeyError")
    monkeypatch.setattr(links, "read", read)
    assert try_link("?run=x")[1].startswith("KeyError")
    monkeypatch.setattr("pmdviz.experiments.sweep.table._parsed", lambda value, kind: value)
    assert try_table(TABLE)[1].startswith("it is read as something else")
    monkeypatch.setattr("pmdviz.cli.main.main", lambda words: 1)
    assert try_arguments(["list"]) == ("wrong", "status 1 for ['list']")


def test_the_seeds_are_valid_and_the_draws_repeat():
    for plain in seeds():
        assert Recipe.from_json(json.dumps(plain)).to_dict() == plain
    for plain in races():
        assert RaceRecipe.from_json(json.dumps(plain)).to_dict() == plain
    assert try_table(TABLE) == ("read", "")
    one, two = Mutator(5), Mutator(5)
    for _ in range(2000):
        one.recipe(), two.recipe()  # what one draw puts together must not reach the next one
    for draw in ("recipe", "race", "link", "table", "arguments", "query", "path"):
        assert [getattr(one, draw)() for _ in range(20)] == [getattr(two, draw)() for _ in range(20)]


def status_of(url):
    try:
        with urllib.request.urlopen(url, timeout=60) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code


@pytest.mark.slow
def test_through_a_live_server_while_a_probe_plays_on():
    from benchmarks.fuzz import through_server
    from tests.support.crowd import served

    with served() as lab:
        for path, status in [("?a=1?b=2", 200), ("static/%00", 404)]:  # found by the bench
            assert status_of(f"{lab.url}/{path}") == status
        found = through_server(lab, Mutator(3), addresses=15, messages=75)
    assert found["addresses"]["wrong"] == []
    assert found["messages"]["tried"] == 75
    assert found["server"]["same_process"]
    assert found["server"]["complaints"] == []
