"""Random-walk Metropolis: its step against the textbook's, exact posteriors, discrete states, and its tuning."""

from statistics import NormalDist

import numpy as np
import pytest

from pmdviz.kernels.random_walk import metropolis
from pmdviz.methods import METHODS
from pmdviz.methods.mcmc.random_walk import _flip, wanted_acceptance
from pmdviz.targets import make_target
from pmdviz.targets.space import Discrete
from tests.support.engine import sized_targets
from tests.support.tables import looped

WALK = METHODS["random_walk"]


@looped("name", lambda: sized_targets("reals"))
def test_a_step_is_that_of_the_textbook(name):
    """θ' ~ N(θ, (c 2.38/√d)² S²), accepted where the uniform lies below p(θ') / p(θ)."""
    target, scale = make_target(name, num_data=30), 0.02 if name == "stochastic_volatility" else 0.2
    fixed = WALK.Knobs.checked({"tune": False, "scale": scale})
    state, verdicts = WALK.init(np.random.default_rng(1), target, fixed), []
    for t in range(60):
        theta, (*noise, last) = state.newer[-1], np.random.default_rng(t).standard_normal(target.dim + 1)
        proposal = theta + scale * 2.38 / np.sqrt(target.dim) * target.scale * np.array(noise)
        log_ratio = target.log_joint(proposal[None])[0] - target.log_joint(theta[None])[0]
        verdicts.append(np.log(NormalDist().cdf(last)) < log_ratio)
        state, info = WALK.step(np.random.default_rng(t), state, target, target.data, fixed)
        np.testing.assert_allclose(state.newer[-1], proposal if verdicts[-1] else theta, rtol=1e-9)
        assert info.words.startswith("accepted" if verdicts[-1] else "rejected")
        assert info.cost.density_evaluations == 30 * (1 + (t == 0)) and info.gradient_evaluations == 0
        (kind, lines), *none = info.paths().items()
        assert not none and kind == ("accepted" if verdicts[-1] else "rejected")
        np.testing.assert_allclose(lines, np.stack([theta, proposal])[None], rtol=1e-9)
    assert 0 < sum(verdicts) < 60 and state.accepted == sum(verdicts)


def test_the_kernel_refuses_what_has_no_density_and_keeps_the_better():
    model, data = make_target("gaussian").model, make_target("gaussian").data
    jumps, uniforms = np.array([[1e200, 0.0], [0.0, 0.0], [np.nan, 0.0]]), np.array([1e-300, 0.999, 1e-300])
    start = np.zeros(2)
    found = metropolis(model, data, start, make_target("gaussian").log_joint(start[None])[0], jumps, uniforms)
    assert found.accepted.tolist() == [False, True, False] and found.chances[2] == 0 == found.draws.any()


@looped("dim, wanted", [(1, 0.441), (2, 0.352), (3, 0.316), (5, 0.275), (10, 0.267)])
def test_the_wanted_acceptance_is_that_of_the_table(dim, wanted):
    """Gelman, Roberts and Gilks 1996, table 1."""
    assert wanted_acceptance(dim) == pytest.approx(wanted, abs=0.02)


def test_a_flip_changes_one_coordinate_to_any_other_value():
    space, rng = Discrete((-1, 0, 2), 4), np.random.default_rng(0)
    here = np.array([0.0, 2.0, -1.0, 0.0])
    ends = np.array([here + _flip(rng, here, space)[0][0] for _ in range(8000)])
    assert ((ends != here).sum(axis=1) == 1).all() and len(space.check(ends)) == 8000
    _, counts = np.unique(ends, axis=0, return_counts=True)
    assert len(counts) == 8 and (np.abs(counts - 1000) < 5 * np.sqrt(1000)).all()
