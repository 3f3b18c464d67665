"""The Metropolis-adjusted Langevin algorithm: its step against the textbook's formula, and exact posteriors."""

from statistics import NormalDist

import numpy as np

from pmdviz.methods import METHODS
from pmdviz.targets import make_target
from tests.support.engine import sized_targets
from tests.support.tables import looped

MALA = METHODS["mala"]


def log_proposal(target, to, start, time_step):
    """log N(to | θ + ε²/2 S² ∇ log p(θ|X), ε² S²), without its constant."""
    mean = start + 0.5 * (time_step * target.scale) ** 2 * target.grad_log_joint(start[None])[0]
    return -0.5 * (((to - mean) / (time_step * target.scale)) ** 2).sum()


# time steps of which some are accepted and some are not, where the posterior is narrow at draws of the prior
NARROW = {"regression_net": 0.05, "stochastic_volatility": 0.02}


@looped("name, options", lambda: [(name, {}) for name in sized_targets("gradient")] + [("gaussian", {"prior_sd": 3.0})])
def test_a_step_is_that_of_the_textbook(name, options):
    """θ' ~ N(θ + ε²/2 S² ∇, ε² S²), accepted with p(θ') q(θ | θ') / (p(θ) q(θ' | θ))."""
    target = make_target(name, num_data=30, **options)
    time_step = NARROW.get(name, 0.3 if target.dim <= 5 else 0.1)
    knobs = MALA.Knobs.checked({"tune": False, "time_step": time_step})
    state, verdicts = MALA.init(np.random.default_rng(1), target, knobs), []
    for t in range(60):
        theta, rng = state.newer[-1], np.random.default_rng(t)
        _, *noise, last = rng.standard_normal(target.dim + 2)
        noise, uniform = np.array(noise), NormalDist().cdf(last)
        step = time_step * target.scale
        proposal = theta + 0.5 * step**2 * target.grad_log_joint(theta[None])[0] + step * noise
        log_ratio = target.log_joint(proposal[None])[0] - target.log_joint(theta[None])[0]
        log_ratio += log_proposal(target, theta, proposal, time_step) - log_proposal(target, proposal, theta, time_step)
        verdicts.append(np.log(uniform) < log_ratio)
        state, info = MALA.step(np.random.default_rng(t), state, target, target.data, knobs)
        np.testing.assert_allclose(state.newer[-1], proposal if verdicts[-1] else theta, rtol=1e-9)
        assert info.words.startswith("accepted" if verdicts[-1] else "rejected")
    assert 0 < sum(verdicts) < 60 and state.accepted == sum(verdicts)
