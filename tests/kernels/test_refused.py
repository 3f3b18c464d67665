"""What no kernel computes with: arrays of a shape that does not fit, values that are not finite, parameters outside."""

import numpy as np
import pytest

from pmdviz.kernels import likelihoods, stein
from pmdviz.kernels.chains import logistic_block_gradient
from pmdviz.kernels.clusters import median_distance, pooled_local_covariance
from pmdviz.kernels.gaussian_processes import factorised, gp_log_marginal, tilted
from pmdviz.kernels.grid import kde_on_grid, kde_on_line
from pmdviz.kernels.kde import kde_log_density
from pmdviz.kernels.mixture import component_shares, gaussian_mixture_log_density, mixture_log_likelihood, weighted_sums
from pmdviz.kernels.networks import LayeredShape, NetShape, net_log_likelihood, regression_gradient
from pmdviz.kernels.resampling import multinomial, residual, stratified, systematic, thinned
from pmdviz.kernels.spins import block_gibbs, ising_log_density, mixture_sweep, through_bonds
from pmdviz.kernels.topics import shares_of
from tests.support.tables import looped

ZERO, ONE, EYE, NAN = np.zeros, np.ones, np.eye(2), np.full((3, 2), np.nan)
PAIR = ZERO((3, 2))  # three points in the plane
NET, LAYERS = NetShape(2, 1, 2, 1.0, 1.0), LayeredShape((3, 2, 1), False, True)
DOCUMENT = np.array([[0, 1, 2]]), np.array([0, 1], np.int32), np.array([1, 1], np.int32)
INDUCING = ZERO((1, 2, 1)), factorised(ZERO((1, 2, 1))), ZERO((1, 2, 3))

# Words of the message, the kernel, and what it is given.
REFUSED = [
    ("x must", likelihoods.bimodal_log_likelihood, (ZERO((2, 1)), ONE((3, 1)), 1.0)),
    ("sigma_x", likelihoods.bimodal_log_likelihood, (ZERO((2, 1)), ONE(3), 0.0)),
    ("x must", likelihoods.gaussian_log_likelihood, (ZERO((2, 2)), NAN, 1.0)),
    ("p must", mixture_log_likelihood, (ZERO((2, 2)), ONE(3), 1.0, 1.1)),
    ("points must have shape", gaussian_mixture_log_density, (ZERO((3, 3)), EYE, ZERO(2), 1.0)),
    ("at least one component", gaussian_mixture_log_density, (PAIR, ZERO((0, 2)), ZERO(0), 1.0)),
    ("log_weights must be finite", gaussian_mixture_log_density, (PAIR, EYE, np.array([0, -np.inf]), 1.0)),
    ("variance must be finite and above 0", gaussian_mixture_log_density, (PAIR, EYE, ZERO(2), 0.0)),
    ("theta must have shape", net_log_likelihood, (ONE((1, 3)), ZERO((1, 3)), NET, True)),
    ("a class from 0 to 1", net_log_likelihood, (ONE((1, 4)), np.array([[0.0, 0.0, 9.0]]), NET, True)),
    ("weights must be finite", regression_gradient, (ONE((1, LAYERS.dim)) * np.nan, ZERO((1, 4)), LAYERS)),
    ("a class, 0 or 1", regression_gradient, (ONE((1, LAYERS.dim)), np.full((1, 4), 9.0), LAYERS)),
    ("classes must be -1 or 1", gp_log_marginal, (ZERO((1, 3)), PAIR, np.array([0.0, 1.0, 1.0]))),
    ("features must be finite", gp_log_marginal, (ZERO((1, 3)), NAN, ONE(3))),
    ("states must have shape", ising_log_density, (ONE((1, 3)), 2, 0.3, 0.0)),
    ("rows must have shape", likelihoods.linear_log_likelihood, (ONE((2, 3)), ONE((2, 5)), 1.0)),
    ("must be 0 or 1", likelihoods.logistic_log_likelihood, (ONE((1, 1)), np.array([[1.0, 2.0]]))),
    ("own must have shape", logistic_block_gradient, (ZERO((2, 2)), ZERO((3, 2)), np.array([0]), ZERO((4, 3)))),
    ("sds must be above 0", component_shares, (PAIR, ZERO(1), ZERO((1, 2)), ZERO((1, 2)), ZERO(3))),
    ("a row for each of 3 points", weighted_sums, (PAIR, ZERO((1, 2)), ONE((1, 2)), ONE((2, 1)), ONE(3))),
    ("two points", median_distance, (ZERO((1, 2)),)),
    ("below the 3 pairs", median_distance, (np.arange(3.0)[:, None], 3)),
    ("p must be in", mixture_sweep, (ZERO(2), ZERO(1), 1.0, 0.0, 1.0, ZERO(1), ZERO(2))),
    ("uniforms must have shape", mixture_sweep, (ZERO(2), ZERO(1), 1.0, 0.5, 1.0, ZERO(2), ZERO(2))),
    ("gx must be", kde_on_grid, (PAIR, ZERO(3), EYE, [0.0, 1.0, 3.0], [0.0, 1.0])),
    (r"\(m, 1\)", kde_on_line, (PAIR, ZERO(3), EYE, np.arange(3.0))),
    ("cholesky must have shape", kde_log_density, (ZERO((3, 3)), ZERO(3), EYE, ZERO((4, 2)))),
    ("particles must be finite", kde_log_density, (NAN, ZERO(3), EYE, ZERO((4, 2)))),
    ("log_weights must be finite", kde_log_density, (PAIR, np.array([0, 0, np.inf]), EYE, ZERO((4, 2)))),
    ("no particle has a weight", kde_log_density, (PAIR, np.full(3, -np.inf), EYE, ZERO((4, 2)))),
    ("positive diagonal", kde_log_density, (PAIR, ZERO(3), ZERO((2, 2)), ZERO((4, 2)))),
    ("points must be finite", kde_log_density, (PAIR, ZERO(3), EYE, np.full((4, 2), np.inf))),
    ("centres", pooled_local_covariance, (PAIR, ONE(3), np.array([3]), ONE(2), 2)),
    ("num_neighbours|particles", pooled_local_covariance, (PAIR, ONE(3), np.array([0]), ONE(2), 4)),
    ("weights", pooled_local_covariance, (PAIR, -ONE(3), np.array([0]), ONE(2), 2)),
    ("scale", pooled_local_covariance, (PAIR, ONE(3), np.array([0]), np.array([1.0, 0.0]), 2)),
    *(("weights", systematic, (np.array(w), 1, 0.5)) for w in ([], [0.0], [-0.1, 1.1], [np.nan, 1.0], [np.inf, 1.0])),
    *(("systematic", systematic, (ONE(1), n, u)) for n, u in ((0, 0.5), (1, 1.0), (1, -0.1), (1, np.nan))),
    *(("weights", way, (np.array([-1.0, 2.0]), np.array([0.5]))) for way in (stratified, residual, multinomial)),
    *(("resampling", way, (ONE(1), np.array([1.0]))) for way in (stratified, residual, multinomial)),
    ("rows must be finite", tilted, (*INDUCING, np.array([[np.nan, 1.0]]), 1.0, 1.0, 0.1, True)),
    ("noise must be finite and above 0", tilted, (*INDUCING, ONE((1, 2)), 1.0, 1.0, 0.0, True)),
    ("do not fit weights", block_gibbs, (ONE((2, 3)), ONE((2, 1)), ONE(2), ONE(1), ONE((1, 2, 3)))),
    ("power of two rows, not 3", through_bonds, (ONE((3, 2)), ONE(3), 0.1)),
    ("shape", stein.stein_matrix, (PAIR, EYE, 1.0)),
    ("scores must be finite", stein.matched_force, (PAIR, NAN, ONE(3), 1.0)),
    ("log_masses must be finite", stein.soft_means, (PAIR, PAIR, np.array([0.0, -np.inf, 0.0]), 1.0)),
    ("must be finite", stein.transport, (NAN, PAIR, PAIR, 1.0)),
    ("h must be finite and above 0", stein.transport, (PAIR, PAIR, PAIR, np.nan)),
    ("must be finite", stein.log_determinants, (np.full((1, 2, 2), np.inf), 1.0)),
    *(("must be finite", force, (PAIR, NAN, 1.0)) for force in (stein.stein_force, stein.imq_force)),
    ("shape", stein.stein_force, (PAIR, EYE, 1.0)),
    ("weights must be at least 0", stein.stein_force, (PAIR, PAIR, 1.0, np.array([0.5, 0.6, -0.1]))),
    *(("candidates|u must", thinned, (ZERO((6, 2)), n, u)) for n, u in ((4, ZERO(4)), (0, ZERO(0)), (2, ONE(2)))),
    ("finite", thinned, (np.array([[0.0], [np.nan]]), 1, ZERO(1))),
    ("alpha must be finite and above 0", shares_of, (ONE((1, 2, 2)), DOCUMENT, 0.0)),
    ("must point into the 2 pairs", shares_of, (ONE((1, 2, 2)), (DOCUMENT[0] + 4, *DOCUMENT[1:]), 0.5)),
]  # fmt: skip


@looped("words, kernel, given", REFUSED)
def test_what_cannot_be_used_is_refused(words, kernel, given):
    with pytest.raises(ValueError, match=words):
        kernel(*given)
