import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import entropy, norm

from pmdviz.scenes import geometry as steps
from pmdviz.scenes.geometry import (
    KL_SPAN,
    STARTS,
    Geometry,
    GeometryKnobs,
    density_picture,
    kl_picture,
    triangle_picture,
)
from tests.support.tables import looped

EXAMPLES = settings(max_examples=60, deadline=None)
gammas = st.floats(0.01, 0.99)


@st.composite
def pairs(draw, least=1e-6):
    """Two distributions over 2 to 8 states, all positive."""
    size = draw(st.integers(2, 8))
    weights = st.lists(st.floats(least, 1.0), min_size=size, max_size=size)
    return tuple(np.array(each) / sum(each) for each in (draw(weights), draw(weights)))


@EXAMPLES
@given(pairs(), gammas)
def test_the_mirror_path_is_straight_in_log_coordinates(pair, gamma):
    """Log-ratios of q_t are those of q_0 and p, mixed by (1-γ)^t; and the bound holds at every step."""
    q, p = pair
    found = steps.mirror_path(q, p, gamma, 6)
    t = np.arange(7)
    left = ((1 - gamma) ** t)[:, None]
    ratios = [np.log(each[..., 1:] / each[..., :1]) for each in (found, q, p)]
    np.testing.assert_allclose(ratios[0], left * ratios[1] + (1 - left) * ratios[2], atol=1e-9)
    assert np.all(steps.forward_kl(p, found) <= left[:, 0] * entropy(p, q) + 1e-12)


def test_extremes_of_the_mirror_step_and_of_the_forward_kl():
    p, q = np.array([0.5, 0.5, 0.0]), np.array([0.25, 0.5, 0.25])
    assert steps.forward_kl(p, q) == pytest.approx(0.5 * np.log(2))
    assert steps.forward_kl(q, p) == np.inf
    q, p = np.array([0.2, 0.3, 0.5]), np.array([0.6, 0.4, 0.0])
    np.testing.assert_array_equal(steps.mirror_step(q, p, 1.0), p)
    after = steps.mirror_step(q, p, 0.5)
    np.testing.assert_allclose(after[:2], np.sqrt(q * p)[:2] / np.sqrt(q * p).sum())
    assert after[2] == 0
    assert steps.mirror_step(p, q, 0.5)[2] == 0  # what was lost stays lost ...
    assert steps.mirror_step(p, q, 1.0)[2] == 0.5  # ... unless the step forgets everything
    far = steps.mirror_step(np.array([1e-300, 1.0]), np.array([1.0, 1e-300]), 0.5)
    np.testing.assert_allclose(far, [0.5, 0.5])


@EXAMPLES
@given(st.lists(st.floats(-3, 3), min_size=2, max_size=6))
def test_the_projection_meets_the_conditions_of_the_nearest_point(values):
    """Karush, Kuhn and Tucker: v - q is the same number wherever q > 0, and no larger elsewhere."""
    v = np.array(values)
    q = steps.project(v)
    assert q.min() >= 0 and q.sum() == pytest.approx(1, abs=1e-12)
    gaps = v - q
    tau = gaps[q > 0]
    assert np.ptp(tau) < 1e-12 and np.all(gaps[q == 0] <= tau[0] + 1e-12)


def test_the_slope_is_the_gradient_and_its_steps_lead_to_the_posterior_or_to_an_edge():
    q, p = np.array([0.2, 0.3, 0.5]), np.array([0.6, 0.3, 0.1])
    rng = np.random.default_rng(0)
    for along in rng.normal(0, 1, (3, 3)):
        along -= along.mean()
        h = 1e-6
        measured = (entropy(q + h * along, p) - entropy(q - h * along, p)) / (2 * h)
        assert steps.slope(q, p) @ along == pytest.approx(measured, abs=1e-8)
    q, p = np.array([0.05, 0.15, 0.8]), np.array([0.9, 0.07, 0.03])
    calm, bold = steps.gradient_path(q, p, 0.1, 200), steps.gradient_path(q, p, 0.7, 40)
    np.testing.assert_allclose(calm[-1], p, atol=1e-6)
    assert (calm > 0).all() and (bold == 0).any()
    assert np.isinf(steps.forward_kl(p, bold)).any()


@EXAMPLES
@given(pairs(least=1e-3), gammas)
def test_the_first_steps_are_equally_long(pair, gamma):
    q, p = pair
    wanted = np.linalg.norm(steps.mirror_step(q, p, gamma) - q)
    size = steps.equal_size(q, p, gamma)
    length = np.linalg.norm(steps.gradient_step(q, p, size) - q)
    # On a face of the simplex a gradient step ends, however large its size.
    assert length == pytest.approx(wanted, rel=1e-6, abs=1e-9) or (size >= steps.LARGEST and length < wanted)


def test_the_corners_are_the_certain_states_and_a_start_stays_where_it_was_put():
    at = steps.place(np.eye(3))
    np.testing.assert_allclose(np.column_stack([at["x"], at["y"]]), steps.CORNERS)
    q = np.array([0.2, 0.5, 0.3])
    at = steps.place(q)
    np.testing.assert_allclose(steps.start_at(at["x"][0], at["y"][0]), q)
    outside = steps.start_at(-5.0, 3.0)
    assert outside.min() > 0 and outside.sum() == pytest.approx(1)
    geometry = Geometry(GeometryKnobs.checked({"start": "moved"}), q)
    np.testing.assert_array_equal(geometry.start, q)
    assert Geometry(GeometryKnobs.checked({"start": "edge"}), q).start is STARTS["edge"]


@looped("peak", [0.4, 0.8])
def test_on_a_contour_the_reverse_kl_is_one_of_the_levels(peak):
    lines = steps.contours(peak)
    kept = np.isfinite(lines["x"])
    corners, points = (
        np.vstack([*at, np.ones(len(at[0]))]) for at in (steps.CORNERS.T, [lines[k][kept] for k in "xy"])
    )
    kl = np.array([entropy(one, steps.posterior(peak)) for one in np.clip(np.linalg.solve(corners, points).T, 0, 1)])
    off = np.abs(kl[:, None] - np.array(steps.LEVELS)).min(axis=1)
    assert kept.sum() > 200 and off.max() < 0.02


def test_the_density_is_the_mixture_and_the_columns_are_of_it():
    exact = 0.6 * norm.pdf(steps.GRID, -1.5, 0.45) + 0.4 * norm.pdf(steps.GRID, 1.5, 0.45)
    np.testing.assert_allclose(steps.two_modes(0.8) / steps.CELL, exact, rtol=1e-6)
    np.testing.assert_allclose(steps.wide_prior() / steps.wide_prior()[80], np.exp(-(steps.GRID**2) / 8))
    geometry = Geometry(GeometryKnobs.checked({"gamma": 0.7, "steps": 9, "peak": 0.95}))
    pictures = triangle_picture(geometry), density_picture(geometry), kl_picture(geometry)
    triangle, density, kl = ({name: mark.columns for name, mark in each.marks.items()} for each in pictures)
    assert len(triangle["mirror"]["x"]) == len(triangle["gradient"]["t"]) == 10
    np.testing.assert_allclose(triangle["gradient"]["B"], geometry.states.gradient[:, 1])
    for name in ("exact", "start", "mirror", "gradient"):
        assert density[name]["y"].sum() * steps.CELL == pytest.approx(1)
    at_zero = density["cut"]["y"] == 0
    assert at_zero.mean() == geometry.cut > 0 and np.isnan(density["cut"]["y"][~at_zero]).all()
    assert (geometry.mirror_kl <= geometry.bound(np.arange(10)) + 1e-12).all() and (geometry.density.mirror > 0).all()
    marks = kl["infinite"]["x"]
    np.testing.assert_array_equal(marks, np.flatnonzero(np.isinf(geometry.gradient_kl)))
    assert len(marks) and KL_SPAN[0] < kl["infinite"]["y"][0] < KL_SPAN[1]
    for columns in kl.values():
        assert not (columns["y"] <= 0).any() and not np.isinf(columns["y"]).any()
