"""What a run visits where nobody says how much: enough for a picture, whatever the method."""

import numpy as np
import pytest

import pmdviz
from pmdviz.engine.recipe.recipe import Recipe
from pmdviz.methods import METHODS, usual_target
from pmdviz.methods.base import DEFAULT_BUDGET
from tests.support.tables import looped

CHAINS = [name for name, method in METHODS.items() if method.family == "chain"]
BROKEN = {
    "importance": "k-hat",
    "black_box_is": "effective points",
    "gf_svgd": "effective particles in ρ/p",  # the Gaussian of their moments is no surrogate for two modes
    "stochastic_ais": "effective particles",
    "path_integration": "",
}  # at the defaults, and say so


@pytest.mark.nightly
@looped("method", [name for name in METHODS if usual_target(name) == "mixture"])
def test_at_its_defaults_a_method_comes_to_a_picture(method):
    run = pmdviz.run(method=method, floor=False)
    final = run.final
    assert np.isfinite(final.metrics["tv"])
    assert bool(final.caveat) == (method in BROKEN) and BROKEN.get(method, "") in final.caveat
    assert run.recipe.budget == Recipe(method=method).budget >= DEFAULT_BUDGET
    assert final.visited - final.info.visited < run.recipe.budget
    if method in CHAINS:
        assert len(final.particles) >= 100
    elif not METHODS[method].budget_words:
        assert run.recipe.budget == DEFAULT_BUDGET
    if METHODS[method].ended(final.state, final.knobs, run.target) == "":
        assert final.visited >= run.recipe.budget
