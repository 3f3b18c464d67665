"""Recipes of earlier formats run as they did: bit for bit where they were recorded, to rounding elsewhere."""

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest

from pmdviz.bench.machine import circumstances
from pmdviz.recipe import Recipe
from pmdviz.session import Session

FIRST = json.loads((Path(__file__).parent / "fixtures" / "format_1.json").read_text())
SINCE = {"seconds", "limited_steps"}  # columns of the history that were not recorded
HERE = circumstances()["cpu"] == FIRST["cpu"]


def digest(session):
    """Particles, weights and history, but for the seconds and what has come to the history since."""
    told = hashlib.sha256()
    for array in (session.frame.particles, session.frame.weights):
        told.update(np.ascontiguousarray(array).tobytes())
    for name, column in session.history.columns.items():
        if name not in SINCE:
            told.update(name.encode())
            told.update(column.tobytes())
    return told.hexdigest()


def name_of(run):
    return f"{run['full']['method']} {json.dumps(run['recipe'].get('knobs', {}))}"


@pytest.mark.parametrize("run", FIRST["runs"], ids=name_of)
def test_a_recipe_of_format_1_runs_as_it_did(run):
    session = Session(Recipe.from_dict(run["recipe"]))
    session.advance(10**6)
    frame = session.frame
    assert (frame.iteration, frame.visited) == (run["iteration"], run["visited"])
    np.testing.assert_allclose(frame.density.mean, run["mean"], rtol=1e-6, atol=1e-9)
    assert frame.metrics["tv"] == pytest.approx(run["tv"], rel=1e-6)
    assert not HERE or digest(session) in run["sha256"]


@pytest.mark.parametrize("run", FIRST["runs"], ids=name_of)
def test_a_recipe_of_format_1_is_the_same_however_it_is_written(run):
    """With all knobs written out, as a link, and with those left out that had their defaults."""
    short, full, link = Recipe.from_dict(run["recipe"]), Recipe.from_dict(run["full"]), Recipe.from_link(run["link"])
    assert short == full == link
