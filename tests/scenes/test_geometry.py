"""The geometry of steps, the paths of particles, and a step from the inside."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import entropy, norm

from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.kernels.stein import stein_force
from pmdviz.methods import METHODS
from pmdviz.methods.base import checked_gradient
from pmdviz.methods.stein import forces, squared_width
from pmdviz.scenes import geometry as steps
from pmdviz.scenes.columns import LONGEST, OF_GAUSSIANS, OF_STEP, OF_TRAIL, TRAIL, path_columns, path_words
from pmdviz.scenes.inside import NO_TERMS, POINTS, START, THIS_STEP, filled, inside, payload
from pmdviz.scenes.stage import SCENES, SceneChoice
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


def test_the_slope_and_its_steps_and_extremes_of_the_mirror_step():
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
@given(st.lists(st.floats(-3, 3), min_size=2, max_size=6))
def test_the_projection_meets_the_conditions_of_the_nearest_point(values):
    """Karush, Kuhn and Tucker: v - q is the same number wherever q > 0, and no larger elsewhere."""
    v = np.array(values)
    q = steps.project(v)
    assert q.min() >= 0 and q.sum() == pytest.approx(1, abs=1e-12)
    gaps = v - q
    tau = gaps[q > 0]
    assert np.ptp(tau) < 1e-12 and np.all(gaps[q == 0] <= tau[0] + 1e-12)


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
    geometry = steps.Geometry(steps.GeometryKnobs.checked({"start": "moved"}), q)
    np.testing.assert_array_equal(geometry.start, q)
    assert steps.Geometry(steps.GeometryKnobs.checked({"start": "edge"}), q).start is steps.STARTS["edge"]


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
    geometry = steps.Geometry(steps.GeometryKnobs.checked({"gamma": 0.7, "steps": 9, "peak": 0.95}))
    pictures = steps.triangle_picture(geometry), steps.density_picture(geometry), steps.kl_picture(geometry)
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
    assert len(marks) and steps.KL_SPAN[0] < kl["infinite"]["y"][0] < steps.KL_SPAN[1]
    for columns in kl.values():
        assert not (columns["y"] <= 0).any() and not np.isinf(columns["y"]).any()


def drawn(method, steps, **knobs):
    return Session(Recipe(method=method, budget=10**7, **knobs)).advance(steps)


def of_kind(columns, kind):
    chosen = columns["kind"] == kind
    return np.stack([columns[name][chosen] for name in ("x0", "y0", "x1", "y1")], axis=1), columns["alpha"][chosen]


def test_a_chain_leaves_a_fading_trail_that_ends_where_it_stands():
    frame = drawn("sgld", 300)
    lines, opacity = of_kind(path_columns(frame, (0, 1), 7.0), OF_TRAIL)
    assert len(lines) == TRAIL and (np.diff(opacity) > 0).all() and opacity[-1] == 1
    np.testing.assert_array_equal(lines[1:, :2], lines[:-1, 2:])
    newest = np.concatenate([frame.state.older, frame.state.newer])[-1]
    np.testing.assert_array_equal(lines[-1, 2:], newest.astype(np.float32))
    others = SCENES["posterior"].columns(frame, (0, 1)).others
    assert (others["x"][0], others["y"][0]) == tuple(newest.astype(np.float32))
    three = drawn("hmc", 5, num_chains=3)
    assert len(of_kind(path_columns(three, (0, 1), 7.0), OF_TRAIL)[0]) == 15
    assert len(SCENES["posterior"].columns(three, (0, 1)).others["x"]) == 3
    swapped, _ = of_kind(path_columns(frame, (1, 0), 7.0), OF_TRAIL)
    np.testing.assert_array_equal(swapped, lines[:, [1, 0, 3, 2]])


@looped("method", ["hmc", "random_walk"])
def test_a_trajectory_leads_from_the_draw_before_to_the_proposal(method):
    session, outcomes = Session(Recipe(method=method, budget=10**7)), set()
    for _ in range(12):
        before = session.frame.method.trails(session.frame.state, 1)[0][-1]
        frame = session.advance(1)
        after = frame.method.trails(frame.state, 1)[0][-1]
        (name, lines), *none = frame.info.paths().items()
        assert not none
        np.testing.assert_array_equal(lines[0, 0], before)
        np.testing.assert_array_equal(lines[1:, 0], lines[:-1, 1])
        accepted = bool((after != before).any())
        assert name == ("accepted" if accepted else "rejected")
        if accepted:
            np.testing.assert_allclose(lines[-1, 1], after, rtol=1e-9)
        kind = OF_STEP + (0 if accepted else 1)
        assert len(of_kind(path_columns(frame, (0, 1), 7.0), kind)[0]) == len(lines)
        outcomes.add(name)
    assert outcomes == {"accepted", "rejected"}


def test_the_arrows_of_svgd_are_the_parts_of_its_force_and_have_one_scale():
    session = Session(Recipe(method="svgd", num_particles=40, batch_size=1_000))
    before = session.frame.state.particles
    frame = session.advance(1)
    scores = checked_gradient(frame.target, before, frame.target.data)
    h = squared_width(before, frame.knobs, frame.target)
    found = forces(before, scores, h)
    total = sum(lines[:, 1] - lines[:, 0] for lines in found.values())
    np.testing.assert_allclose(total, stein_force(before, scores, h), rtol=1e-9, atol=1e-9)
    shown = frame.info.paths()
    np.testing.assert_allclose(shown["repulsion"], found["repulsion"], rtol=1e-9)
    columns = path_columns(frame, (0, 1), 7.0)
    lengths = [np.hypot(*(lines[:40, 2:] - lines[:40, :2]).T) for lines, _ in (of_kind(columns, k) for k in (2, 3))]
    assert max(each.max() for each in lengths) == pytest.approx(LONGEST * 7.0, rel=1e-4)
    true = [np.hypot(*(found[name][:, 1] - found[name][:, 0]).T) for name in ("drive", "repulsion")]
    np.testing.assert_allclose(lengths[1] / lengths[0].max(), true[1] / true[0].max(), atol=1e-4)


def test_a_gaussian_has_the_ellipse_of_one_sd_and_words_say_what_is_drawn():
    frame = drawn("svi", 5)
    lines, _ = of_kind(path_columns(frame, (0, 1), 7.0), OF_GAUSSIANS)
    inverse = np.linalg.inv(frame.density.cov)
    away = lines[:, :2] - frame.density.mean
    np.testing.assert_allclose(np.einsum("ni,ij,nj->n", away, inverse, away), 1, atol=1e-3)
    assert SCENES["posterior"].columns(frame, (0, 1)).particles["size"].max() <= 7
    many = drawn("npv", 1, num_components=60)
    assert len(path_columns(many, (0, 1), 7.0)["x0"]) == 24 * 28
    for method in METHODS.values():
        assert bool(path_words(method)) == (method.family in ("chain", "parametric") or bool(method.paths))
        assert len(method.paths) <= 2
    frame = drawn("hmc", 2)
    assert frame.info.paths() and not frame.without_caches().info.paths()


SMALL = {"num_particles": 400}
STEPS = [("mixture", "pmd", SMALL), ("bimodal1d", "pmd", SMALL), ("mixture", "sgld", {"num_chains": 3})]


def stepped(target, method, steps, **knobs):
    """The frames before and after the last of some steps, and how they are drawn."""
    session = Session(Recipe(target, method, **knobs))
    before = session.advance(steps - 1)
    after = session.advance(1)
    return before, after, *SceneChoice().of(session.target, session.method)


def told(*args, **knobs):
    before, after, scene, pair = stepped(*args, **knobs)
    return before, after, inside(before, after, scene, pair, 150)


@looped("target, method, knobs", STEPS)
def test_the_terms_add_up_and_are_those_of_the_step(target, method, knobs):
    before, after, found = told(target, method, 3, **knobs)
    rows = found["dots"]["row"].astype(int)
    for term in found["terms"]:
        whole = np.asarray(after.info.terms[term["name"]])
        for k, column in enumerate(term["values"]):
            np.testing.assert_array_equal(column, (whole if whole.ndim == 1 else whole[:, k])[rows].astype(np.float32))
    for k, column in enumerate(found["total"]):
        np.testing.assert_allclose(sum(term["values"][k] for term in found["terms"]), column, atol=2e-4)
    if found["kind"] == "weights":
        np.testing.assert_allclose(np.exp(found["total"][0]), after.weights[rows], rtol=1e-4, atol=1e-12)
    else:
        moved = after.method.points(after.state) - before.method.points(before.state)
        np.testing.assert_allclose(np.stack(found["total"], axis=1), moved[rows], atol=1e-5)
        np.testing.assert_allclose(found["dots"]["x0"], before.method.points(before.state)[rows, 0], atol=1e-5)


def test_parents_and_their_children_are_those_of_the_redraw():
    session = Session(Recipe("mixture", "pmd", **SMALL))
    before = session.frame
    while not (after := session.advance(1)).info.rejuvenated:
        before = after
    found = inside(before, after, *SceneChoice().of(session.target, session.method), 150)
    dots, parents = found["dots"], after.info.parents
    rows, counts = dots["row"].astype(int), np.bincount(parents, minlength=len(before.particles))
    np.testing.assert_array_equal(dots["parent"], parents[rows])
    np.testing.assert_array_equal(dots["children"], counts[parents[rows]])
    np.testing.assert_allclose(dots["weight0"], before.weights[parents[rows]], rtol=1e-6)
    np.testing.assert_allclose(dots["x0"], before.particles[parents[rows], 0], rtol=1e-6)
    drawn = np.isin(before.particles[:, 0].astype("f4"), found["old"]["x"])
    assert found["old"]["children"].max() == counts[drawn].max()
    words = f"New particles: {after.info.rejuvenated}. {np.count_nonzero(counts)} of the old ones have children."
    assert found["pictures"][1] == {"title": "Redrawn", "sentence": words}
    np.testing.assert_allclose(found["gain"], found["total"][0] + np.log(len(parents)), atol=1e-5)  # from equal weights


def test_the_batch_is_the_one_of_the_step_and_the_heaviest_particle_is_told():
    _, after, found = told("mixture", "pmd", 2, batch_size=20, **SMALL)
    batch, target = found["batch"], after.target
    rows = target.data_rows[after.batch_rows]
    np.testing.assert_allclose(np.sort(batch["batch"]["x"]), np.sort(rows.ravel()), rtol=1e-6)
    assert batch["title"] == "The batch: 20 of 1,000 data points"
    some = after.particles[np.linspace(0, 399, 300).astype(int)]
    pull = target.log_likelihood(some, rows)
    weights = np.exp(pull - pull.max()) / np.exp(pull - pull.max()).sum()
    x = batch["curve"]["x"][40].astype(float)
    density = np.exp(target.row_log_likelihood(some, np.full((1, 1), x).reshape(1, *rows.shape[1:])))[:, 0]
    np.testing.assert_allclose(batch["curve"]["y"][40], weights @ density, rtol=1e-4)
    assert np.trapezoid(batch["curve"]["y"], batch["curve"]["x"]) == pytest.approx(1.0, abs=0.02)
    assert int(np.argmax(after.weights)) in found["dots"]["row"] and 150 <= len(found["dots"]["row"]) <= 151
    assert found["size"] == SMALL["num_particles"]
    assert found["pictures"][1] == {"title": "Kept", "sentence": "Particles kept: this step redraws none."}
    before, after, scene, pair = stepped("mixture", "pmd", 3, **SMALL)
    found = inside(before, after, scene, pair)["lines"]["before"]
    whole = scene.columns(before, pair).approximate
    assert set(found["x"][~np.isnan(found["x"])]) <= set(whole["x"])
    assert np.isnan(found["x"]).sum() == np.isnan(whole["x"]).sum() and len(found["x"]) < POINTS + 200


def test_what_cannot_be_placed_or_has_no_terms_is_said():
    _, _, flat = told("bimodal1d", "pmd", 2, **SMALL)
    assert flat["flat"] and "y" not in flat["dots"] and len(flat["components"]) == 0
    _, _, spins = told("ising", "ais", 2)
    assert not spins["placed"] and "x" not in spins["dots"] and spins["lines"] == {} and spins["old"] == {}
    np.testing.assert_allclose(sum(term["values"][0] for term in spins["terms"]), spins["total"][0], atol=1e-4)
    session = Session(Recipe("mixture", "pmd", **SMALL))
    scene, pair = SceneChoice().of(session.target, session.method)
    assert payload(inside(session.frame, session.frame, scene, pair)) == {"iteration": 0, "note": START}
    before, after = session.frame, session.advance(1).without_caches()
    assert inside(before, after, scene, pair)["note"] == THIS_STEP
    assert inside(*stepped("mixture", "gibbs", 2))["note"] == NO_TERMS


@looped(
    "formula, numbers, words",
    [
        ("+ γ N/B Σ log p(x | θ)", {"γ": 0.0909, "N/B": 10.0}, "+ 0.0909 × 10 Σ log p(x | θ)"),
        ("(1 − γ) log w", {"γ": 0.25}, "(1 − 0.25) log w"),
        ("ε/2 ∇ log p + √ε ξ", {"ε": 0.5}, "0.5/2 ∇ log p + √0.5 ξ"),
        ("γ_t + γ′ + γ", {"γ": 2.0}, "γ_t + γ′ + 2"),
        ("ε m", {"ε": 4.6e-6}, "4.6 × 10^{−6} m"),
        ("a ε", {"ε": -0.5}, "a (−0.5)"),
        ("log w", {}, "log w"),
    ],
)
def test_numbers_take_the_place_of_symbols_and_of_nothing_else(formula, numbers, words):
    assert filled(formula, numbers) == words
