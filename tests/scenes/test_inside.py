import numpy as np
import pytest

from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.scenes.inside import NO_TERMS, POINTS, START, THIS_STEP, filled, inside
from pmdviz.scenes.stage import SceneChoice
from tests.support.tables import looped

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
    return before, after, inside(before, after, scene, pair, 150).told


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
    found = inside(before, after, *SceneChoice().of(session.target, session.method), 150).told
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
    found = inside(before, after, scene, pair).told["lines"]["before"]
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
    assert inside(session.frame, session.frame, scene, pair).payload() == {"iteration": 0, "note": START}
    before, after = session.frame, session.advance(1).without_caches()
    assert inside(before, after, scene, pair).told["note"] == THIS_STEP
    assert inside(*stepped("mixture", "gibbs", 2)).told["note"] == NO_TERMS


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
