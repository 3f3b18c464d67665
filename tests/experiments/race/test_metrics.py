import numpy as np
import pytest

import pmdviz
from pmdviz.cli.main import main
from pmdviz.errors import InputError
from pmdviz.export.film.race_film import RaceFilm
from pmdviz.export.options import RaceLook
from pmdviz.metrics import METRICS, Metric

FIVE = {"target": "linear", "target_options": {"dim": 5}}


def last_scene(made, **options):
    film = RaceFilm(made, RaceLook.checked({"frames": 2, **options}))
    return film, film.last_scene()


def test_in_the_plane_they_are_tv_and_forward_kl():
    made = pmdviz.race(["pmd:num_particles=60", "sgld", "smc:num_particles=60"], target_options={"num_data": 200},
                       budget=200)  # fmt: skip
    assert [metric.name for metric in made.recipe.shown] == ["tv", "kl_forward"]
    assert "ess" not in [metric.name for metric in made.recipe.metrics], "sgld has no weights"
    best = min(made.rows, key=lambda row: row["tv"])
    titles = {one.label: one.title for one in made.entrants}
    assert last_scene(made)[1].best == f"{titles[best['method']]} (TV {best['tv']:.3f})"


def test_without_data_they_race_by_evaluations():
    made = pmdviz.race(["gibbs"], "ising", budget=2_000, points=3)
    assert [metric.name for metric in made.recipe.shown] == ["mean_error", "marginal_tv"]
    assert made.recipe.budget_unit == "evaluations" and "2,000 evaluations each" in repr(made)
    assert "2,000 of 2,000 likelihood evaluations by each" in last_scene(made)[1].words
    with pytest.raises(InputError, match="entrant pmd: method 'pmd' needs real coordinates, which target 'ising'"):
        pmdviz.race(["gibbs", "pmd"], "ising")


@pytest.fixture
def first_of_all():
    look = {"title": "length", "unit": "units of θ", "about": "of the mean", "axis": "length"}
    measure = {"measure": lambda frame: float(np.linalg.norm(frame.density.mean)), "applies": lambda *pair: True}
    Metric(name="length", order=0, **look, **measure)
    yield
    del METRICS["length"]


@pytest.mark.usefixtures("first_of_all")
def test_a_metric_of_ones_own_is_in_rows_traces_and_the_table(capsys):
    made = pmdviz.race(["pmd:num_particles=60", "svi"], **FIVE, budget=300, points=2)
    assert all(row["length"] > 0 for row in made.rows) and made.recipe.shown[0].name == "length"
    film, scene = last_scene(made)
    assert [tile.trace["length"][-1] for tile in scene.tiles] == [row["length"] for row in made.rows]
    assert film.picture(scene).traces.axes.get_ylabel() == "length (units of θ)" and "(length " in scene.words
    assert main(["race", "--target", "linear", "--methods", "svi", "--budget", "200"]) == 0
    assert "length_mean" in capsys.readouterr().out.splitlines()[0]
