import numpy as np
import pytest
from scipy.stats import entropy, norm

from pmdviz.scenes import geometry as setting
from pmdviz.scenes.geometry import (
    KL_SPAN,
    MOST_STEPS,
    STARTS,
    Geometry,
    GeometryKnobs,
    density_columns,
    kl_columns,
    triangle_columns,
)
from tests.support.tables import looped


def made(**values):
    return Geometry(GeometryKnobs.checked(values))


def weights(x, y):
    """Of the corners at points of the triangle."""
    return np.linalg.solve(np.vstack([setting.CORNERS.T, np.ones(3)]), np.vstack([x, y, np.ones(len(x))])).T


def test_the_corners_are_the_certain_states_and_a_start_stays_where_it_was_put():
    assert np.allclose(np.linalg.norm(setting.CORNERS - np.roll(setting.CORNERS, 1, axis=0), axis=1), 1)
    at = setting.place(np.eye(3))
    np.testing.assert_allclose(np.column_stack([at["x"], at["y"]]), setting.CORNERS)
    q = np.array([0.2, 0.5, 0.3])
    at = setting.place(q)
    np.testing.assert_allclose(setting.start_at(at["x"][0], at["y"][0]), q)
    outside = setting.start_at(-5.0, 3.0)
    assert outside.min() > 0 and outside.sum() == pytest.approx(1)
    geometry = Geometry(GeometryKnobs.checked({"start": "moved"}), q)
    np.testing.assert_array_equal(geometry.start, q)
    assert Geometry(GeometryKnobs.checked({"start": "edge"}), q).start is STARTS["edge"]


@looped("peak", [0.4, 0.8])
def test_on_a_contour_the_reverse_kl_is_one_of_the_levels(peak):
    lines = setting.contours(peak)
    kept = np.isfinite(lines["x"])
    q = np.clip(weights(lines["x"][kept], lines["y"][kept]), 0, 1)
    kl = np.array([entropy(one, setting.posterior(peak)) for one in q])
    off = np.abs(kl[:, None] - np.array(setting.LEVELS)).min(axis=1)
    assert kept.sum() > 200 and off.max() < 0.02


def test_the_density_is_the_mixture_and_the_columns_are_of_it():
    sd = 0.25 + (1 - 0.8)
    exact = 0.6 * norm.pdf(setting.GRID, -1.5, sd) + 0.4 * norm.pdf(setting.GRID, 1.5, sd)
    np.testing.assert_allclose(setting.two_modes(0.8) / setting.CELL, exact, rtol=1e-6)
    np.testing.assert_allclose(setting.wide_prior() / setting.wide_prior()[80], np.exp(-(setting.GRID**2) / 8))
    geometry = made(gamma=0.7, steps=9, peak=0.95)
    triangle, density, kl = triangle_columns(geometry), density_columns(geometry), kl_columns(geometry)
    assert len(triangle["mirror"]["x"]) == len(triangle["gradient"]["t"]) == 10
    np.testing.assert_allclose(triangle["gradient"]["B"], geometry.states.gradient[:, 1])
    for name in ("exact", "start", "mirror", "gradient"):
        assert density[name]["y"].sum() * setting.CELL == pytest.approx(1)
    at_zero = density["cut"]["y"] == 0
    assert at_zero.mean() == geometry.cut > 0 and np.isnan(density["cut"]["y"][~at_zero]).all()
    assert len(kl["bound"]["x"]) == MOST_STEPS + 1
    marks = kl["infinite"]["x"]
    np.testing.assert_array_equal(marks[marks >= 0], np.flatnonzero(np.isinf(geometry.gradient_kl)))
    assert (marks >= 0).any() and KL_SPAN[0] < kl["infinite"]["y"][0] < KL_SPAN[1]
    for columns in kl.values():
        assert not (columns["y"] <= 0).any() and not np.isinf(columns["y"]).any()


@looped("values", [{}, {"gamma": 0.7, "steps": 40, "peak": 0.95}, {"start": "edge", "gamma": 1.0}])
def test_the_mirror_steps_are_never_above_the_bound_nor_at_zero(values):
    geometry = made(**values)
    t = np.arange(geometry.knobs.steps + 1)
    assert geometry.mirror_kl[0] == geometry.gradient_kl[0] == pytest.approx(entropy(geometry.states.p, geometry.start))
    assert (geometry.mirror_kl <= geometry.bound(t) + 1e-12).all()
    assert (geometry.states.mirror > 0).all() and (geometry.density.mirror > 0).all()
