"""Every preset runs and shows what its question is about."""

import numpy as np
import pytest

import pmdviz
from pmdviz.presets import PRESETS, find_preset


def run(name):
    return pmdviz.run(find_preset(name).recipe, floor=False)


def test_five_presets_with_title_question_and_recipe():
    assert next(iter(PRESETS)) == "two_modes" and len(PRESETS) >= 5
    for preset in PRESETS.values():
        assert preset.title and preset.question.endswith("?") and preset.try_this
    assert find_preset("two_modes").recipe == pmdviz.Recipe()


def test_an_unknown_preset_names_the_nearest():
    with pytest.raises(pmdviz.InputError, match="did you mean 'too_bold'"):
        find_preset("to_bold")


def test_two_modes_keeps_both():
    result = run("two_modes")
    below = result.weights[result.particles[:, 1] < 0].sum()
    assert 0.3 < below < 0.7
    assert result.final.metrics["tv"] < 0.12


def test_watch_it_get_worse_gets_worse():
    tv = run("worse_with_more_data").history["tv"]
    assert tv[-1] > tv.min() + 0.08


def test_too_bold_loses_a_mode():
    result = run("too_bold")
    below = result.weights[result.particles[:, 1] < 0].sum()
    assert min(below, 1 - below) < 1e-3
    assert result.final.metrics["tv"] > 0.4


def test_too_bold_is_no_accident_of_its_seed():
    recipe = find_preset("too_bold").recipe
    runs = [pmdviz.run(recipe.replaced(seed=seed), floor=False, metrics_every=10**9) for seed in range(8)]
    tv = [run.final.metrics["tv"] for run in runs]
    assert sum(value > 0.4 for value in tv) >= 4


def test_particles_die():
    ess = run("particles_die").history["ess"]
    assert ess[-1] < 5 and ess[0] == pytest.approx(500)


def test_one_gaussian_comes_close():
    result = run("one_gaussian")
    np.testing.assert_allclose(result.mean(), result.target.exact.mean, atol=0.05)
