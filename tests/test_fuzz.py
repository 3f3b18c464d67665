"""A small share of `pmdviz bench fuzz`, the same every time; the bench tries ten thousand."""

import urllib.error
import urllib.request

import pytest

from tests.support import strategies
from tests.support.attempts import Tally, each, try_arguments, try_link, try_race, try_recipe, try_table


def tried(attempt, inputs, number):
    """How so many inputs ended; the smallest one with which something is wrong fails the test."""
    tally = Tally(attempt)

    def take(given):
        wrong = tally.take(given)
        assert not wrong

    each(inputs, number, 1, take)
    return tally.ends


@pytest.mark.nightly
def test_recipes_races_links_tables_and_command_lines():
    for attempt, inputs, number in (
        (try_recipe, strategies.files(strategies.RECIPES), 400),
        (try_race, strategies.files(strategies.RACES), 100),
        (try_link, strategies.links(), 200),
        (try_table, strategies.tables(), 100),
        (try_arguments, strategies.command_lines(), 100),
    ):
        ends = tried(attempt, inputs, number)
        taken = ends["read"] + ends["done"]
        assert ends.total() == number and min(taken, ends["refused"]) > number // 50, attempt.__name__  # both happen


def status_of(url):
    try:
        with urllib.request.urlopen(url, timeout=60) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code


@pytest.mark.nightly
def test_through_a_live_server_while_a_probe_plays_on():
    from benchmarks.fuzz import through_server
    from tests.support.crowd import served

    with served() as lab:
        for path, status in [("?a=1?b=2", 200), ("static/%00", 404)]:  # found by the bench
            assert status_of(f"{lab.url}/{path}") == status
        found = through_server(lab, 3, addresses=15, messages=75)
    assert found["addresses"]["wrong"] == []
    assert found["messages"]["tried"] == 75
    assert found["server"]["same_process"]
    assert found["server"]["complaints"] == []
