"""A live run: knobs turned on the way, restarts, budgets of data or evaluations, and going back and forth."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pmdviz.engine.recipe import MAX_BUDGET, Recipe
from pmdviz.engine.session import BatchStream, Session
from pmdviz.experiments.race.recipe import RaceRecipe
from pmdviz.kernels.pool import Cancelled, CancelToken, cancellable
from pmdviz.methods import METHODS, usual_target
from pmdviz.methods.base import DEFAULT_BUDGET
from pmdviz.scenes.words import observations_used
from tests.support.engine import CountingTarget, digest, drive, straight
from tests.support.tables import looped, refused

SMALL = {"target": "gaussian", "num_particles": 20, "batch_size": 5}


def session(**parts):
    given = {**SMALL, "budget": 200, **parts}
    return Session(Recipe(**{name: value for name, value in given.items() if value is not ...}))


def test_a_frame_says_where_it_stands():
    s = session()
    first, frame = s.frame, s.advance(3)
    assert (first.iteration, first.visited, first.info, first.budget, first.num_data) == (0, 0, None, 200, 20)
    assert (frame.iteration, frame.visited, frame.info.cost.visited) == (3, 15, 5) and frame is s.frame
    assert frame.density_evaluations == 15 * 20 and frame.gradient_evaluations == 0
    assert frame.seconds > first.seconds == 0.0
    run = s.run
    s.advance(6)
    assert run.final.iteration == 3 and run.history["iteration"].tolist() == [0, 1, 2, 3]


def test_a_run_stops_at_the_first_visited_at_or_above_its_budget_and_without_one_never():
    for budget, end in ((1, 5), (5, 5), (6, 10), (200, 200), (201, 205)):
        s = session(budget=budget)
        assert s.advance(10**6).visited == s.seek(100).visited == end
        assert s.done
        last = s.frame
        assert s.advance() is last
    s = session(budget=None)
    assert s.advance(100).visited == 500 and not s.done and s.seek(145).iteration == 145
    refused("without a budget never ends", s.extend, 10)


def test_a_frame_knows_the_rows_that_its_step_was_given():
    target = session().target
    asked = CountingTarget(target)
    s = session()
    s.target = asked
    for _ in range(6):
        frame = s.advance(1)
        assert np.array_equal(target.data[frame.batch_rows], asked.calls[-1])
    s = session()
    whole = [s.frame.batch_rows, *(s.advance(1).batch_rows for _ in range(12))]
    assert whole[0] is None and sorted(np.concatenate(whole[1:5])) == list(range(20))  # a pass
    for at in (10, 7, 2):
        assert np.array_equal(s.seek(at).batch_rows, whole[at])
    chain = session(method="sgld", num_particles=..., burn_in=5).recipe
    one, leaping = Session(chain), Session(chain, metrics_every=1000)
    for _ in range(23):
        one.advance(1)
    assert np.array_equal(leaping.advance(23).batch_rows, one.frame.batch_rows)
    assert session(method="hmc", num_particles=..., batch_size=...).advance(1).batch_rows == slice(None)


def test_a_budget_can_be_cut_to_what_has_been_visited():
    s = session()
    s.advance(7)
    assert not s.done and 7 not in s.history.columns["iteration"]
    s.limit(35)
    assert s.done and 7 in s.history.columns["iteration"] and digest(s) == straight(Recipe(**SMALL, budget=35))
    refused("at least the 35 observations used; got 34", s.limit, 34)
    s.limit(None)
    assert s.recipe.budget is None and s.advance().iteration == 8
    s = session()
    for more in (0, -1, 1.5, True, "five", MAX_BUDGET + 1):
        refused("more must be a whole number at least 1", s.extend, more)
    assert s.recipe.budget == 200 and s.extend(13).budget == s.frame.budget == 213


def test_a_knob_turned_is_written_down_and_acts_at_the_next_step_a_width_at_once_and_others_at_a_restart():
    s = session(bandwidth_rule="local")
    before = s.advance(4)
    assert before.metrics and before.grid  # what was computed under the old width must not be shown under the new one
    s.set(eta=1.0)
    assert s.recipe.changes == ((4, {"eta": 1.0}),) and s.frame.knobs.eta == s.knobs.eta == 1.0
    assert s.pending == {"eta": "takes effect at the next step"}
    after = s.set(bandwidth=2.0)
    np.testing.assert_allclose(after.density.cholesky, before.density.cholesky * 2.0 / 0.75, rtol=1e-12)
    assert after.metrics["tv"] != before.metrics["tv"] and before.knobs.bandwidth == 0.75
    assert np.array_equal(after.particles, before.particles) and np.array_equal(after.weights, before.weights)
    assert s.advance().info.step_size == pytest.approx(1 / 25) and s.pending == {}
    s.set(warm_start=True)
    for _ in range(3):
        assert s.pending == {"warm_start": "takes effect on restart"}
        s.advance()
    s.set(warm_start=False)
    assert s.pending == {}
    s.set(warm_start=True)
    s.restart()
    assert s.pending == {} and s.knobs.warm_start and "warm start" in s.advance().info.words


def test_a_turn_after_going_back_drops_what_came_later_and_one_that_cannot_be_used_changes_nothing():
    s = session()
    for knobs in ({"eta": 1.0}, {"kappa": 0.5}):
        s.advance(5)
        s.set(**knobs)
    s.seek(7)
    assert s.recipe.changes == ((5, {"eta": 1.0}), (10, {"kappa": 0.5}))
    s.set(n0=3)
    assert s.recipe.changes == ((5, {"eta": 1.0}), (7, {"n0": 3.0}))
    drive(s)
    assert s.knobs.kappa == 1.0 and digest(s) == straight(s.recipe)
    s = session()
    s.advance(3)
    before, recipe = digest(s), s.recipe
    for values in ({"eta": 0}, {"etta": 1}, {"batch_size": 21}, {"eta": 1, "kappa": 2}, {"self": 1}):
        refused("", s.set, **values)
        assert digest(s) == before and s.recipe == recipe, values


def test_what_a_restart_another_seed_and_a_start_over_keep():
    s = session()
    s.set(eta=1.0, num_particles=33)
    assert s.recipe.changes == () and s.recipe.knobs["eta"] == 1.0, "before the first step it is the recipe's own"
    assert s.frame.particles.shape == (33, 2)
    s.advance(5)
    s.set(eta=1.5)
    s.set(eta=3.0, n0=5)
    assert s.recipe.changes == ((5, {"eta": 3.0, "n0": 5.0}),)
    s.set(n0=20)
    data, particles = s.target.data, s.frame.particles
    s.advance(2)
    s.restart()
    assert (s.frame.iteration, s.recipe.changes, s.knobs.eta, s.recipe.seed, len(s.history)) == (0, (), 3.0, 0, 1)
    s.advance(5)
    s.reseed(9)
    assert (s.recipe.seed, s.knobs.eta, s.recipe.changes, s.frame.iteration) == (9, 3.0, (), 0)
    assert np.array_equal(s.target.data, data) and not np.array_equal(s.frame.particles, particles)
    s.reseed()
    assert s.recipe.seed != 9 and 0 <= s.recipe.seed < 1000  # one can say it aloud
    drive(s)
    assert digest(s) == straight(Recipe(**{**SMALL, "num_particles": 33}, eta=3.0, budget=200, seed=s.recipe.seed))


def test_seek_takes_a_whole_number_and_a_session_a_recipe():
    s = session()
    s.advance(2)
    for iteration in (-1, 1.5, "three", None, True):
        refused("iteration must be a whole number at least 0", s.seek, iteration)
        assert s.frame.iteration == 2
    for parts in ({"recipe": {}}, {"recipe": None}, {"metrics_every": 0}, {"metrics_every": 1.5}):
        refused("", Session, **{"recipe": Recipe(**SMALL), **parts})


def test_an_interrupted_step_can_be_done_again(monkeypatch):
    """Ctrl-C in the middle of a step: the random streams go back with it."""
    s, usual = session(policy="always"), session(policy="always")
    drive(usual)
    s.advance(6)
    step = type(s.method).step

    def interrupted(*given):
        step(*given)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(type(s.method), "step", interrupted)
        s.advance()
    assert s.frame.iteration == 6
    drive(s)
    assert digest(s) == digest(usual)


def cancelled_at(part):
    watch, check, count = CancelToken(), CancelToken.check, iter(range(10**6))

    def counting(share):
        if next(count) == part:
            watch.cancel()
        check(watch, share)

    watch.check = counting
    return watch


@pytest.mark.parametrize("act", [lambda s: s.advance(), lambda s: s.set(bandwidth=0.4), lambda s: s.restart()])
@looped("part", [0, 2, 20])
def test_cancelled_work_leaves_the_session_as_it_was(act, part):
    recipe = Recipe("gaussian", seed=3, budget=40, policy="always", num_particles=200, batch_size=5)
    s, other = (Session(recipe, metrics_every=1) for _ in range(2))
    s.advance(4), other.advance(4)
    before = digest(s), s.recipe.to_json()
    try:
        with cancellable(cancelled_at(part)):
            act(s)
    except Cancelled:
        assert (digest(s), s.recipe.to_json()) == before
        act(s)
    else:
        assert part > 0, "a first block there was in any case"
    act(other)
    drive(s), drive(other)
    assert digest(s) == digest(other)


def test_the_last_frame_of_a_run_has_the_paths_of_its_step():
    session = Session(Recipe(target="gmm", method="random_walk", budget=100), 1)
    session.advance(5)
    assert session.run.final.info.paths() and not session.run.frames[-2].info.paths()
    assert [frame.iteration for frame in session.run.frames] == [*range(6)]


draws = st.lists(st.tuples(st.integers(1, 30), st.sampled_from(["epochs", "epochs", "replacement"])), max_size=12)


def stream(num_data=23, seed=0):
    return BatchStream(np.random.default_rng(seed), num_data)


@given(st.integers(1, 40), st.lists(st.integers(1, 50), min_size=1, max_size=20))
def test_epochs_show_every_datum_once_a_pass(num_data, sizes):
    one = stream(num_data)
    batches = [one.draw(size, "epochs") for size in sizes]
    assert [len(batch) for batch in batches] == sizes
    rows = np.concatenate(batches)
    for start in range(0, len(rows) - num_data + 1, num_data):
        assert sorted(rows[start : start + num_data]) == list(range(num_data))
    assert np.array_equal(stream(num_data).draw(len(rows), "epochs"), rows), "however a pass is cut"


@given(draws, draws, draws)
def test_a_stream_goes_back_to_a_mark(before, between, after):
    def drawn(one, sizes):
        return [one.draw(size, kind).tolist() for size, kind in sizes]

    one, fresh = stream(), stream(seed=9)
    drawn(one, before)
    mark = one.mark()
    expected = drawn(one, after)
    drawn(one, between)
    for each in (one, fresh):
        each.restore(mark)
        assert drawn(each, after) == expected


QUICK = ("pmd", "smc_mcmc", "svgd", "hmc", "gibbs")


def ended(recipe):
    session = Session(recipe, metrics_every=10**6)
    session.advance(10**6)
    return session


@pytest.mark.parametrize(
    "method", [name if name in QUICK else pytest.param(name, marks=pytest.mark.nightly) for name in METHODS]
)
def test_a_run_stops_at_the_first_step_that_spends_its_budget(method):
    parts = {"target_options": {"num_data": 60}, "budget": 9_000, "budget_unit": "evaluations"}
    parts |= {"num_particles": 30} if "num_particles" in METHODS[method].Knobs.specs() else {}
    session = ended(Recipe(usual_target(method), method, **parts))
    frame = session.frame
    assert frame.spent == frame.evaluations == frame.density_evaluations + frame.gradient_evaluations
    if not session.ended:
        assert frame.spent >= 9_000 > frame.spent - frame.info.cost.evaluations
        again = Session(Recipe.from_json(session.recipe.to_json()), metrics_every=10**6)
        assert not drive(again, 7) and digest(again) == digest(session)


@looped("method", ["hmc", "mala", "gibbs", "random_walk"])
def test_a_default_budget_follows_burn_in_thinning_and_data(method):
    usual = Recipe(method=method, target_options={"num_data": 500})
    assert usual.knobs["burn_in"] == 0.2  # of which are left 400 of 500 draws
    for knobs, draws in (({"burn_in": 2000, "thinning": 3}, 2000 + 1200), ({"burn_in": 0.5}, 800)):
        made = Recipe(method=method, target_options={"num_data": 500}, **knobs)
        assert made.budget == pytest.approx(usual.budget * draws / 500, rel=0.06)
    assert Recipe(method=method).budget == pytest.approx(2 * usual.budget, rel=0.06)


def test_a_target_without_data_counts_evaluations_and_runs_for_500_steps_where_nobody_says_more():
    recipe = Recipe("ising", "gibbs")
    assert recipe.budget_unit == "evaluations"
    session = ended(recipe.replaced(budget=100))
    assert session.frame.iteration == 100 and observations_used(session.frame) == "100 of 100 evaluations"
    assert recipe.replaced(target="mixture").budget_unit == "data"
    assert Recipe("mixture", "gibbs").replaced(target="ising").budget_unit == "evaluations"
    refused("'ising' has no data", Recipe, "ising", "gibbs", budget_unit="data")
    for target, method in [("gmm", "pmd"), ("funnel", "svgd"), ("rbm", "pmd"), ("correlated_gaussian", "black_box_is")]:
        recipe = Recipe(target, method)
        assert recipe.budget == recipe.default_budget == 500 * recipe.knobs["num_particles"], (target, method)
    assert RaceRecipe.checked(["pmd:num_particles=60", "svgd:num_particles=20"], "gmm").budget == 500 * 60
    assert Recipe("mixture").budget == DEFAULT_BUDGET


def test_a_run_as_it_stands_ends_where_it_stands():
    session = Session(Recipe("mixture", "pmd", num_particles=50, budget=10**6, budget_unit="evaluations"))
    session.advance(7)
    recipe = session.run.to_recipe()
    assert (recipe.budget, recipe.budget_unit) == (7 * 100 * 50, "evaluations")
    again = ended(recipe)
    assert again.extend(5_000).budget == 40_000 and not again.done
    refused("at least the 35,000 evaluations made", again.limit, 34_999)
    assert again.frame.iteration == 7 and np.array_equal(again.frame.particles, session.frame.particles)
