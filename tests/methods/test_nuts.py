"""The No-U-Turn sampler: exact moments, its criterion, its trees, and what a draw costs."""

import numpy as np
import pytest

from pmdviz.densities.density import normalise
from pmdviz.methods import nuts
from pmdviz.methods.nuts import Asked, Motion, Point, Tree, grown, turns
from pmdviz.targets import make_target
from tests.support.chains import all_draws
from tests.support.engine import advanced


def start_on(target, rng):
    theta = target.sample_prior(rng, 1)
    gradient, value = target.grad_log_joint(theta)[0], float(target.log_joint(theta)[0])
    return Point(theta[0], rng.standard_normal(target.dim), value, gradient)


def test_a_half_is_drawn_from_by_the_density_of_its_points():
    target, rng = make_target("gaussian", dim=1), np.random.default_rng(1)
    start = start_on(target, rng)
    motion, first = Motion(target, target.data, 0.9), nuts._leaf(start, 0.0, Asked())
    one, _, _ = motion.leap(start, 1)
    two, _, _ = motion.leap(one, 1)
    log_joint, momenta = target.log_joint(np.array([one.theta, two.theta])), np.array([one.momentum, two.momentum])
    chances = np.exp(normalise(log_joint - 0.5 * (momenta**2).sum(axis=1)))
    found = [grown(rng, motion, first, 1, 1, start.energy).drawn.theta[0] == two.theta[0] for _ in range(4000)]
    assert np.mean(found) == pytest.approx(chances[1], abs=0.03) and abs(chances[1] - 0.5) > 0.1


def test_a_trajectory_turns_where_the_sum_of_momenta_points_against_an_end():
    def tree(*momenta):
        points = [Point(np.zeros(2), np.array(p, float), 0.0, np.zeros(2)) for p in momenta]
        total = np.sum([point.momentum for point in points], axis=0)
        return Tree(points[0], points[-1], points[0], 0.0, total, (), Asked())

    assert not turns(tree((1, 0)), tree((1, 0.2)))
    assert not turns(tree((1, 0)), tree((-0.5, 1), (1, 1))), "the next point counts in the sum across the seam"
    assert turns(tree((1, 0)), tree((-1.5, 0))), "the sum points against the first momentum"
    assert turns(tree((3, 0), (0.1, 1)), tree((-1, 0.2))), "and across the seam, where both ends agree with the whole"


def test_a_step_that_is_far_too_long_diverges_and_stays():
    session = advanced("nuts", 3, "gaussian", tune=False, time_step=1000.0)
    info = session.frame.info
    assert info.event("diverged") and len(np.unique(all_draws(session), axis=0)) == 1
    assert info.scalars["acceptance_statistic"] == 0.0
