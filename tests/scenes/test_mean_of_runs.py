import numpy as np

import pmdviz
from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.experiments.race import Race, RaceRecipe
from pmdviz.export.films import Film, RaceFilm
from pmdviz.export.options import Look, RaceLook
from pmdviz.export.pictures import stage_of
from pmdviz.export.player import Page
from pmdviz.scenes.race import Standing, race_scene
from pmdviz.scenes.stage import SceneChoice
from pmdviz.scenes.stage.mean_of_runs import RUNS, frames_of
from pmdviz.scenes.tiles import tile_picture

RECIPE = Recipe(num_particles=80, budget=3_000)


def test_the_mean_is_of_runs_with_ten_seeds_at_the_same_iteration_also_after_going_back():
    session = Session(RECIPE.replaced(seed=77))
    for iteration in (3, 6, 2):
        frame = session.seek(iteration)
        frames = frames_of(frame)
        assert [each.iteration for each in frames] == [iteration] * RUNS
        alone = Session(RECIPE.replaced(seed=4)).advance(iteration)
        assert np.array_equal(frames[4].particles, alone.particles)
    assert len({frame.particles.tobytes() for frame in frames}) == RUNS


def test_it_appears_on_the_pages_in_films_and_in_exported_pages():
    run = pmdviz.run(RECIPE, floor=False)
    film = Film(run, Look.checked({"scene": "mean_of_runs", "frames": 2}), all_floors=False)
    scenes = [*film.scenes()]
    drawn = [stage_of(film, scene).marks["approximate"].columns["x"] for scene in scenes]
    assert len(drawn[0]) and not np.array_equal(*drawn)
    assert "mean of 10 runs" in Page(film, scenes).html()
    race = Race(RaceRecipe.checked(["pmd:num_particles=80", "svi"], budget=500))
    standings = [Standing(race, k, SceneChoice("mean_of_runs")) for k in range(2)]
    for standing in standings:
        standing.take()
    scene = race_scene(race, [one.tile() for one in standings], None, SceneChoice("mean_of_runs"))
    assert all("image" in tile_picture(scene, k).marks for k in range(2)), "in a race each tile has its mean"
    assert RaceFilm(pmdviz.race(["pmd:num_particles=80"], budget=300), RaceLook.checked({"scene": "mean_of_runs"}))
