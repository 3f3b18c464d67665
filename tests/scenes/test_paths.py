import numpy as np
import pytest

from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.kernels.stein import stein_force
from pmdviz.methods import METHODS
from pmdviz.methods.base import checked_gradient
from pmdviz.methods.stein import forces, squared_width
from pmdviz.scenes.columns import LONGEST, OF_GAUSSIANS, OF_STEP, OF_TRAIL, TRAIL, path_columns, path_words
from pmdviz.scenes.stage import SCENES
from tests.support.tables import looped


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
