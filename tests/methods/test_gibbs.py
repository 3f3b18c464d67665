"""Gibbs sampling against exact posteriors, and what it cannot do."""

import numpy as np

from pmdviz.targets import make_target
from tests.support.chains import all_draws, moment_errors, run_chain
from tests.support.engine import sized_targets
from tests.support.tables import looped


def test_on_the_conjugate_gaussian_every_draw_is_independent_and_exact():
    assert (np.abs(moment_errors("gibbs", 500, skip=0)) < 4).all()
    draws = all_draws(run_chain("gibbs", 4000))[:, 0]
    assert abs(np.corrcoef(draws[1:], draws[:-1])[0, 1]) < 4 / np.sqrt(4000)


@looped("name", lambda: sized_targets("conditionals"))
def test_a_sweep_hangs_on_the_data_that_it_is_given(name):
    target, theta = make_target(name), np.full(make_target(name).dim, 0.1)
    one, same, other = (
        target.gibbs_sweep(np.random.default_rng(3), theta, rows)
        for rows in (target.data, target.data.copy(), target.data + 1.0)
    )
    assert np.array_equal(one, same) and (one != other).all()
