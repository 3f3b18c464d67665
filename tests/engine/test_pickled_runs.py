"""Runs and sessions that are pickled, copied and sent by joblib."""

import copy
import pickle

import joblib
import numpy as np
import pytest

import pmdviz
from pmdviz.engine.session import Session
from tests.support.engine import digest

CASES = [
    ("mixture", "pmd"),
    ("gaussian", "svgd"),
    ("ising", "gibbs"),
    ("linear", "smc"),
    ("logistic", "jaakkola_jordan"),
]


def test_runs_come_back_the_same_and_sessions_go_on():
    for target, method in CASES:
        recipe = pmdviz.Recipe(target, method, budget=300)
        run = pmdviz.run(recipe, floor=False)
        for again in (pickle.loads(pickle.dumps(run)), copy.deepcopy(run)):
            np.testing.assert_array_equal(again.particles, run.particles)
            np.testing.assert_allclose(again.sample(5), run.sample(5), rtol=1e-12)
            assert again.recipe == run.recipe and again.final.metrics == run.final.metrics
        session = Session(recipe)
        session.advance(2)
        twin = pickle.loads(pickle.dumps(session))
        for each in (session, twin):
            each.advance(2)
        assert digest(twin) == digest(session), (target, method)


@pytest.mark.ci
def test_joblib_returns_runs_of_processes():
    calls = [joblib.delayed(pmdviz.run)(seed=seed, budget=100, num_particles=20, floor=False) for seed in range(2)]
    for seed, run in enumerate(joblib.Parallel(2)(calls)):
        assert run.recipe.seed == seed and run.particles.shape == (20, 2)
