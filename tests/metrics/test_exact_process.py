"""The distance to the exact process is that of two means, and there only where the exact process is."""

import numpy as np
import pytest

from pmdviz.engine.recipe.recipe import Recipe
from pmdviz.engine.session import Session


def frame_of(method="subset_gp", target="sparse_gp", steps=3, **options):
    return Session(Recipe(target, method, target_options=options, budget=None), 10**9).advance(steps)


def test_it_is_the_root_mean_squared_difference_of_the_means():
    frame = frame_of(num_data=100, dim=10, noise_variance=0.1)
    exact, draws = frame.target.exact_process[0], frame.target.values(frame.draws).mean(axis=0)
    expected = np.sqrt(((draws - exact) ** 2).mean())
    assert frame.metrics["process_error"] == pytest.approx(expected, abs=0.03) and expected > 0.05


def test_all_data_at_once_leave_none():
    frame = frame_of(num_data=40, dim=10, noise_variance=0.1, steps=10)
    assert frame.visited == 40 and frame.metrics["process_error"] < 1e-4


def test_it_applies_where_there_is_an_exact_process():
    assert "process_error" in frame_of(num_data=30, dim=5).metric_names
    assert "process_error" not in frame_of(num_data=5000, dim=5, steps=0).metric_names
    assert "process_error" not in frame_of("pmd", "linear", 0).metric_names
