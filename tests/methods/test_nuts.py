"""The No-U-Turn sampler: exact moments, its criterion, its trees, and what a draw costs."""

import numpy as np
import pytest

from pmdviz.densities.chains import bulk_ess
from pmdviz.methods import METHODS, nuts
from pmdviz.methods.nuts import Asked, Motion, Point, Tree, doubled, grown, turns
from pmdviz.targets import make_target
from tests.support.chains import all_draws
from tests.support.engine import advanced
from tests.support.tables import looped

NUTS = METHODS["nuts"]


def start_on(target, rng):
    """A point with a momentum, and its data."""
    theta = target.sample_prior(rng, 1)
    gradient, value = target.grad_log_joint(theta)[0], float(target.log_joint(theta)[0])
    return Point(theta[0], rng.standard_normal(target.dim), value, gradient)


@looped("name, options", [("gaussian", {"dim": 3}), ("linear", {"dim": 4, "num_data": 30}), ("banana", {})])
def test_means_and_variances_are_exact_within_five_monte_carlo_standard_errors(name, options):
    target = make_target(name, **options)
    draws = all_draws(advanced("nuts", 1600, name, target_options=options, burn_in=100.0, budget=None))[100:]
    exact = target.reference()
    unit = np.sqrt(np.diag(exact.cov))
    z = (draws - exact.mean) / unit
    for values, wanted in ((z, 0.0), (z**2, 1.0)):
        ess = np.array([bulk_ess(column[None]) for column in values.T])
        error = values.std(axis=0) / np.sqrt(ess)
        assert (np.abs(values.mean(axis=0) - wanted) < 5 * error).all(), (values.mean(axis=0), error)
    assert (np.array([bulk_ess(column[None]) for column in z.T]) > 100).all()


def test_a_tree_is_one_trajectory_of_the_leapfrog_whichever_way_its_halves_went():
    target, rng = make_target("banana"), np.random.default_rng(0)
    start = start_on(target, rng)
    tree, _, depth = doubled(rng, Motion(target, target.data, 0.001), start, NUTS.Knobs.checked({"max_depth": 4}))
    assert len(tree.thetas) == 2**depth == 16 and tree.asked.steps == 15
    motion, at = Motion(target, target.data, 0.001), tree.first
    for theta in tree.thetas[1:]:
        at, _, _ = motion.leap(at, 1)
        assert at.theta == pytest.approx(theta, rel=1e-9)
    back, _, _ = motion.leap(at, -1)
    assert back.theta == pytest.approx(tree.thetas[-2], rel=1e-9), "the leapfrog is reversible"


def test_a_half_is_drawn_from_by_the_density_of_its_points():
    """Of two points further on, each is drawn in proportion to exp(-H)."""
    target, rng = make_target("gaussian", dim=1), np.random.default_rng(1)
    start = start_on(target, rng)
    motion, first = Motion(target, target.data, 0.9), nuts._leaf(start, 0.0, Asked())
    one, _, _ = motion.leap(start, 1)
    two, _, _ = motion.leap(one, 1)
    wanted = 1 / (1 + np.exp(two.energy - one.energy))
    found = [grown(rng, motion, first, 1, 1, start.energy).drawn.theta[0] == two.theta[0] for _ in range(4000)]
    assert np.mean(found) == pytest.approx(wanted, abs=0.03) and abs(wanted - 0.5) > 0.1


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
    assert session.frame.info.event("diverged") and len(np.unique(all_draws(session), axis=0)) == 1
    assert session.frame.info.scalars["acceptance_statistic"] == 0.0


def test_a_tree_has_at_most_the_steps_of_its_depth_and_counts_each():
    session = advanced("nuts", 5, "gaussian", tune=False, time_step=1e-4, max_depth=3)
    info, n = session.frame.info, session.frame.target.num_data
    assert info.scalars["leapfrog_steps"] == 7 and info.gradient_evaluations == info.density_evaluations == 7 * n
    assert info.paths()["kept"].shape == (7, 2, 2)
    once = advanced("nuts", 5, "gaussian", tune=False, time_step=1e-4, max_depth=3, one_pass=True)
    assert np.array_equal(all_draws(session), all_draws(once)) and once.frame.info.visited == 7 * n


def test_the_tuning_leads_to_the_wanted_acceptance_statistic():
    session, found = advanced("nuts", 300, "gaussian", burn_in=300.0, budget=None), []
    for _ in range(300):
        found.append(session.advance().info.scalars["acceptance_statistic"])
    assert np.mean(found) == pytest.approx(nuts.WANTED, abs=0.12)
