"""The leaders' force and its Jacobian against their formulas and finite differences, determinants against NumPy."""

import numpy as np

from pmdviz.kernels.stein.steinis import TILE, is_monotone, log_determinants, transport, transport_diagonal
from tests.kernels.naive import LONG
from tests.support.tables import looped


def naive(points, leaders, scores, h):
    """phi and J as they are written, in extended precision."""
    y, x, s, c = points.astype(LONG), leaders.astype(LONG), scores.astype(LONG), 2 / LONG(h)
    u = x[None] - y[:, None]
    k = np.exp(-(u**2).sum(axis=-1) / LONG(h))[..., None]
    force = (k * (s - c * u)).mean(axis=1)
    outer = c * k[..., None] * (s[None, :, :, None] * u[:, :, None] - c * u[..., None] * u[:, :, None])
    return force, outer.mean(axis=1) + c * k.mean(axis=1)[..., None] * np.eye(y.shape[1])


def some(rng, n, num, dim):
    return rng.normal(size=(n, dim)), rng.normal(size=(num, dim)), 3 * rng.normal(size=(num, dim))


@looped("dim", [1, 2, 3, 4, 7])
@looped("num", [1, 2, 63, 200])
@looped("h", [1e-2, 0.7, 50.0])
def test_they_are_the_formulas(rng, num, dim, h):
    points, leaders, scores = some(rng, 70, num, dim)
    force, jacobian = transport(points, leaders, scores, h)
    expected = [part.astype(float) for part in naive(points, leaders, scores, h)]
    np.testing.assert_allclose(force, expected[0], atol=3e-15 * np.abs(expected[0]).max() + 1e-15, rtol=1e-13)
    np.testing.assert_allclose(jacobian, expected[1], atol=3e-15 * np.abs(expected[1]).max() + 1e-15, rtol=1e-13)
    again, diagonal = transport_diagonal(points, leaders, scores, h)
    np.testing.assert_array_equal(again, force)
    np.testing.assert_allclose(diagonal, np.diagonal(jacobian, axis1=1, axis2=2), rtol=1e-14)


def test_more_leaders_than_a_tile(rng):
    points, leaders, scores = some(rng, 5, TILE + 3, 2)
    found = transport(points, leaders, scores, 0.5)
    for one, expected in zip(found, naive(points, leaders, scores, 0.5), strict=True):
        np.testing.assert_allclose(one, expected.astype(float), atol=1e-13)


@looped("dim", [1, 2, 3, 4, 6, 20])
def test_determinants_are_numpys_and_zero_where_a_map_flattens(rng, dim):
    jacobian = rng.normal(size=(100, dim, dim))
    jacobian[:2] = 0.0
    jacobian[1, -1, -1] = -2.0
    logs, signs = log_determinants(jacobian, 0.5)
    np.testing.assert_array_equal([logs[:2], signs[:2]], [[0.0, -np.inf], [1.0, 0.0]])
    expected = np.linalg.slogdet(np.eye(dim) + 0.5 * jacobian[2:])
    np.testing.assert_allclose(logs[2:], expected.logabsdet, atol=1e-10 * dim)
    np.testing.assert_array_equal(signs[2:], expected.sign)
    assert {-1.0, 1.0} == {*signs[2:]}


@looped("dim", [1, 2, 3, 8])
@looped("step", [0.05, 0.2, 0.7])
def test_a_map_is_monotone_by_the_eigenvalues_of_its_symmetric_part(rng, dim, step):
    for scale in (0.3, 1.0, 3.0):
        jacobian = scale * rng.normal(size=(6, dim, dim))
        lowest = np.linalg.eigvalsh(0.5 * step * (jacobian + jacobian.transpose(0, 2, 1)))[:, 0].min() + 1
        for least in (lowest - 1e-9, lowest + 1e-9):
            assert is_monotone(jacobian, step, least) == (least < lowest)
