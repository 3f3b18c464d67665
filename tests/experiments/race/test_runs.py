import numpy as np
import pytest

import pmdviz
from pmdviz.engine.recipe import Recipe
from pmdviz.errors import InputError, TargetError
from pmdviz.experiments.race import RaceRecipe, race
from pmdviz.export.films import RaceFilm
from pmdviz.export.options import RaceLook
from pmdviz.kernels.pool import set_threads
from tests.support.own import own_target, plain

KEYS = [
    "method", "seed", "visited", "tv", "kl_forward", "kl_reverse", "cross_entropy", "ess", "mass_outside",
    "mean_error", "sd_ratio_min", "sd_ratio_max", "mode_masses", "density_evaluations",
    "gradient_evaluations", "seconds", "caveat",
]  # fmt: skip
OF_SOME = ("khat", "ancestors", "rhat", "bulk_ess", "theta_1", *(f"autocorrelation_{lag}" for lag in (1, 10, 50)))
OF_SOME += ("log_z", "log_z_exact", "log_z_error")  # of some methods
FEW = {"target_options": {"num_data": 200, "sigma_x": 1.5}, "budget": 400}


def test_rows_and_summary():
    result = race(["pmd:num_particles=60", "smc:num_particles=60", "sgld"], seeds=3, **FEW)
    assert [[key for key in row if key not in OF_SOME] for row in result.rows] == [KEYS] * 9
    assert ["khat" in row for row in result.rows] == [True] * 6 + [False] * 3, "of weighted particles alone"
    assert [(row["method"], row["seed"]) for row in result.rows[:4]] == [
        ("pmd:num_particles=60", 0),
        ("pmd:num_particles=60", 1),
        ("pmd:num_particles=60", 2),
        ("smc:num_particles=60", 0),
    ]
    assert all(len(row["mode_masses"]) == 2 and 0 <= sum(row["mode_masses"]) <= 1 for row in result.rows)
    assert [entry["method"] for entry in result.summary] == ["pmd:num_particles=60", "smc:num_particles=60", "sgld"]
    tv = [row["tv"] for row in result.rows[:3]]
    assert result.summary[0]["tv_mean"] == pytest.approx(np.mean(tv))
    assert result.summary[0]["tv_sd"] == pytest.approx(np.std(tv, ddof=1)) and result.summary[0]["runs"] == 3
    assert result.rows[3]["visited"] == 200 and result.rows[0]["visited"] == 400
    run = pmdviz.run(method="pmd", seed=1, num_particles=60, floor=False, **FEW)
    assert result.rows[1]["tv"] == run.final.metrics["tv"]
    assert result.rows[1]["density_evaluations"] == run.final.density_evaluations


def test_neither_threads_nor_other_entrants_change_a_row():
    alone = plain(race(["pmd:num_particles=600"], seeds=2, **FEW))
    try:
        set_threads(3)
        together = plain(race(["sgld", "pmd:num_particles=600"], seeds=2, **FEW))
    finally:
        set_threads(None)
    assert together[2:] == alone


@pytest.mark.ci
def test_runs_in_one_mode_are_counted_run_by_run():
    apart = {"data_seed": 3, "num_data": 400, "sigma_x": 1.5}
    result = race(["sgld", "pmd:num_particles=1500"], target_options=apart, budget=20_000, seeds=3)
    assert [entry["runs_in_one_mode"] for entry in result.summary] == [3, 0]


def test_histories_are_measured_as_often_as_asked_and_progress_rises_to_the_end():
    few = race(["pmd:num_particles=60"], seeds=1, **FEW)
    many = race(["pmd:num_particles=60"], seeds=1, points=2, **FEW)
    key = ("pmd:num_particles=60", 0)
    assert few.histories[key]["iteration"].tolist() == [0, 4]
    assert many.histories[key]["iteration"].tolist() == [0, 2, 4]
    assert plain(few) == plain(many)
    told = []
    race(["pmd:num_particles=60", "smc:num_particles=60"], seeds=2, progress=lambda *said: told.append(said), **FEW)
    shares = [share for share, _ in told]
    assert shares == sorted(shares) and shares[-1] == 1.0
    assert "PMD, particles m = 60, seed 0" in [words for _, words in told]


def test_your_own_target_races_too_and_above_two_dimensions_there_are_no_modes():
    result = pmdviz.race(["pmd:num_particles=100", "smc:num_particles=100"], own_target(), budget=80, seeds=2)
    assert len(result.rows) == 4 and all(row["mode_masses"][0] > 0.9 for row in result.rows)
    assert len(result.modes) == 1 and "2 entrants, 2 seeds on 'dose'" in repr(result)
    with pytest.raises(InputError, match="entrant sgld: method 'sgld' needs a gradient"):
        pmdviz.race(["sgld"], own_target())
    result = race(["pmd:num_particles=50"], own_target(dim=3), budget=200)
    assert result.rows[0]["mode_masses"] is None and result.modes is None
    assert result.summary[0]["runs_in_one_mode"] is None and result.summary[0]["tv_sd"] is None


def test_a_failing_target_names_entrant_and_seed():
    def log_likelihood(theta, batch):
        return np.where(np.abs(theta[:, 0]) < 3.5, 0.0, np.nan) * len(batch)

    bad = own_target(name="edge", log_likelihood=log_likelihood, bounds=[(-3, 3)])
    with pytest.raises(TargetError, match=r"pmd:num_particles=20000, seed 0: log_likelihood of target 'edge' is nan"):
        race(["pmd:num_particles=20000"], bad, budget=50)


def test_what_cannot_be_used_is_said_before_anything_runs():
    for given, words in [
        ({"seeds": 0}, "seeds must be a whole number at least 1"),
        ({"seeds": []}, "different ones"),
        ({"seeds": [1, 1]}, "different ones"),
        ({"seeds": [-1]}, "a seed must be"),
        ({"seeds": "many"}, "seeds must be a number of seeds or a list"),
        ({"budget": None}, "budget must be"),
        ({"points": -1}, "points must be"),
    ]:
        with pytest.raises(InputError, match=words):
            race(["pmd"], **{"progress": lambda *said: pytest.fail("it ran"), **given})


def last_scene(made, **options):
    film = RaceFilm(made, RaceLook.checked({"frames": 2, **options}))
    return film, film.last_scene()


def test_in_the_plane_they_are_ranked_by_tv_and_without_data_they_race_by_evaluations():
    made = pmdviz.race(["pmd:num_particles=60", "sgld", "smc:num_particles=60"], target_options={"num_data": 200},
                       budget=200)  # fmt: skip
    assert [metric.name for metric in made.recipe.shown] == ["tv", "kl_forward"]
    assert "ess" not in [metric.name for metric in made.recipe.metrics], "sgld has no weights"
    best = min(made.rows, key=lambda row: row["tv"])
    titles = {one.label: one.title for one in made.entrants}
    assert last_scene(made)[1].best == f"{titles[best['method']]} (TV {best['tv']:.3f})"
    made = pmdviz.race(["gibbs"], "ising", budget=2_000, points=3)
    assert [metric.name for metric in made.recipe.shown] == ["mean_error", "marginal_tv"]
    assert made.recipe.budget_unit == "evaluations" and "2,000 evaluations each" in repr(made)
    assert "2,000 of 2,000 likelihood evaluations each" in last_scene(made)[1].words
    with pytest.raises(InputError, match="entrant pmd: method 'pmd' needs real coordinates, which target 'ising'"):
        pmdviz.race(["gibbs", "pmd"], "ising")


def test_a_run_is_a_race_of_one_with_its_changes_and_seeds():
    recipe = Recipe("mixture", "pmd", target_options={"num_data": 200, "sigma_x": 1.5}, seed=4, budget=400,
                    num_particles=50, changes=[(2, {"bandwidth": 2.0})])  # fmt: skip
    (alone,) = race(recipe).rows
    final = pmdviz.run(recipe, floor=False).final
    assert (alone["method"], alone["seed"]) == ("pmd:num_particles=50@2:bandwidth=2.0", 4)
    assert alone["tv"] == final.metrics["tv"] and alone["visited"] == final.visited
    several = race(recipe, seeds=[4, 7], points=3)
    assert [row["seed"] for row in several.rows] == [4, 7] and several.rows[0]["tv"] == alone["tv"]
    both = RaceRecipe.checked([recipe, "smc"], "gaussian", budget=100)
    assert [one.method for one in both.entrants] == ["pmd", "smc"] and both.recipes[0].changes == recipe.changes
    with pytest.raises(InputError, match="already says all of the race"):
        race(recipe, budget=900)
