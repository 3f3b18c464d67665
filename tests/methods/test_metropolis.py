"""MALA and random-walk Metropolis: their steps against the textbook's, and what the walk does on discrete states."""

from statistics import NormalDist

import numpy as np
import pytest

from pmdviz.kernels.chains import metropolis
from pmdviz.methods import METHODS
from pmdviz.methods.mcmc.random_walk import _flip, wanted_acceptance
from pmdviz.targets import make_target
from pmdviz.targets.space import Discrete
from tests.support.engine import sized_targets
from tests.support.tables import looped

# Time steps of which some are accepted and some are not, where the posterior is narrow at draws of the prior.
NARROW = {"regression_net": 0.05, "stochastic_volatility": 0.02}


def check_steps(method, target, knobs, mean_of, sd, skipped):
    """θ' ~ N(mean(θ), sd²), accepted with p(θ') q(θ | θ') / (p(θ) q(θ' | θ)); the first normals may be others' own."""
    knobs = METHODS[method].Knobs.checked({"tune": False, **knobs})
    state, verdicts = METHODS[method].init(np.random.default_rng(1), target, knobs), []

    def log_proposal(to, start):
        return -0.5 * (((to - mean_of(start)) / sd) ** 2).sum()

    for t in range(60):
        theta, normals = state.newer[-1], np.random.default_rng(t).standard_normal(skipped + target.dim + 1)
        proposal = mean_of(theta) + sd * normals[skipped:-1]
        log_ratio = target.log_joint(proposal[None])[0] - target.log_joint(theta[None])[0]
        log_ratio += log_proposal(theta, proposal) - log_proposal(proposal, theta)
        verdicts.append(np.log(NormalDist().cdf(normals[-1])) < log_ratio)
        state, info = METHODS[method].step(np.random.default_rng(t), state, target, target.data, knobs)
        np.testing.assert_allclose(state.newer[-1], proposal if verdicts[-1] else theta, rtol=1e-9)
        assert info.words.startswith("accepted" if verdicts[-1] else "rejected")
        yield info, theta, proposal, verdicts[-1], t
    assert 0 < sum(verdicts) < 60 and state.accepted == sum(verdicts)


@looped("name, options", lambda: [(name, {}) for name in sized_targets("gradient")] + [("gaussian", {"prior_sd": 3.0})])
def test_a_step_of_mala_is_that_of_the_textbook(name, options):
    """The mean is θ + ε²/2 S² ∇."""
    target = make_target(name, num_data=30, **options)
    time_step = NARROW.get(name, 0.3 if target.dim <= 5 else 0.1)
    sd = time_step * target.scale
    mean_of = lambda theta: theta + 0.5 * sd**2 * target.grad_log_joint(theta[None])[0]  # noqa: E731
    for _ in check_steps("mala", target, {"time_step": time_step}, mean_of, sd, 1):
        pass


@looped("name", lambda: sized_targets("reals"))
def test_a_step_of_the_walk_is_that_of_the_textbook(name):
    """The sd is c 2.38/√d S."""
    target, scale = make_target(name, num_data=30), 0.02 if name == "stochastic_volatility" else 0.2
    sd = scale * 2.38 / np.sqrt(target.dim) * target.scale
    for info, theta, proposal, accepted, t in check_steps("random_walk", target, {"scale": scale}, lambda x: x, sd, 0):
        assert info.cost.density_evaluations == 30 * (1 + (t == 0)) and info.gradient_evaluations == 0
        ((kind, lines),) = info.paths().items()
        assert kind == ("accepted" if accepted else "rejected")
        np.testing.assert_allclose(lines, np.stack([theta, proposal])[None], rtol=1e-9)


def test_the_kernel_refuses_what_has_no_density_and_keeps_the_better():
    table = [(1, 0.441), (2, 0.352), (3, 0.316), (5, 0.275), (10, 0.267)]  # Gelman, Roberts and Gilks 1996, table 1
    assert [wanted_acceptance(dim) for dim, _ in table] == pytest.approx([wanted for _, wanted in table], abs=0.02)
    model, data = make_target("gaussian").model, make_target("gaussian").data
    jumps, uniforms = np.array([[1e200, 0.0], [0.0, 0.0], [np.nan, 0.0]]), np.array([1e-300, 0.999, 1e-300])
    start = np.zeros(2)
    found = metropolis(model, data, start, make_target("gaussian").log_joint(start[None])[0], jumps, uniforms)
    assert found.accepted.tolist() == [False, True, False] and found.chances[2] == 0 == found.draws.any()


def test_a_flip_changes_one_coordinate_to_any_other_value():
    space, rng = Discrete((-1, 0, 2), 4), np.random.default_rng(0)
    here = np.array([0.0, 2.0, -1.0, 0.0])
    ends = np.array([here + _flip(rng, here, space)[0][0] for _ in range(8000)])
    assert ((ends != here).sum(axis=1) == 1).all() and len(space.check(ends)) == 8000
    _, counts = np.unique(ends, axis=0, return_counts=True)
    assert len(counts) == 8 and (np.abs(counts - 1000) < 5 * np.sqrt(1000)).all()
