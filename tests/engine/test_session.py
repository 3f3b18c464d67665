"""A live run: knobs turned on the way, restarts, budgets, and going back and forth."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pmdviz.engine.recipe import MAX_BUDGET, Recipe
from pmdviz.engine.session import BatchStream, Session
from pmdviz.errors import InputError
from pmdviz.kernels.pool import Cancelled, CancelToken, cancellable
from tests.support.engine import CountingTarget, digest, drive, straight
from tests.support.tables import refused

SMALL = {"target": "gaussian", "num_particles": 20, "batch_size": 5}


def session(**parts):
    given = {**SMALL, "budget": 200, **parts}
    return Session(Recipe(**{name: value for name, value in given.items() if value is not ...}))


def test_a_frame_says_where_it_stands():
    s = session()
    first = s.frame
    assert (first.iteration, first.visited, first.info, first.budget, first.num_data) == (0, 0, None, 200, 20)
    frame = s.advance(3)
    assert frame is s.frame
    assert (frame.iteration, frame.visited, frame.info.visited) == (3, 15, 5)
    assert frame.density_evaluations == 15 * 20 and frame.gradient_evaluations == 0
    assert frame.seconds > first.seconds == 0.0
    assert first.iteration == 0, "a frame does not move on"
    run = s.run
    s.advance(6)
    assert run.final.iteration == 3 and run.history["iteration"].tolist() == [0, 1, 2, 3]
    assert s.run.final.iteration == 9


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
    """Also after going back to it, and where several steps were made in one call; all of them are one slice."""
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
    assert s.done and 7 in s.history.columns["iteration"]
    assert digest(s) == straight(Recipe(**SMALL, budget=35))
    refused("at least the 35 observations used; got 34", s.limit, 34)
    s.limit(None)
    assert s.recipe.budget is None and s.advance().iteration == 8
    s = session()
    for more in (0, -1, 1.5, True, "five", MAX_BUDGET + 1):
        refused("more must be a whole number at least 1", s.extend, more)
        assert s.recipe.budget == 200
    assert s.extend(13).budget == s.frame.budget == 213


def test_a_knob_turned_is_written_down_and_acts_at_the_next_step():
    s = session()
    s.advance(4)
    particles = s.frame.particles
    s.set(eta=1.0)
    assert s.recipe.changes == ((4, {"eta": 1.0}),)
    assert s.frame.knobs.eta == s.knobs.eta == 1.0
    assert np.array_equal(s.frame.particles, particles)
    assert s.pending == {"eta": "takes effect at the next step"}
    assert s.advance().info.step_size == pytest.approx(1 / 25)
    assert s.pending == {}


def test_a_width_acts_at_once():
    s = session(bandwidth_rule="local")
    s.advance(4)
    before = s.frame
    assert before.metrics and before.grid  # what was computed under the old width must not be shown under the new one
    after = s.set(bandwidth=2.0)
    assert s.pending == {}
    np.testing.assert_allclose(after.density.cholesky, before.density.cholesky * 2.0 / 0.75, rtol=1e-12)
    assert after.metrics["tv"] != before.metrics["tv"]
    assert np.array_equal(after.particles, before.particles) and np.array_equal(after.weights, before.weights)
    assert before.knobs.bandwidth == 0.75, "a frame does not change"


def test_what_acts_at_a_restart_is_pending_until_then():
    s = session()
    s.advance(2)
    s.set(warm_start=True)
    for _ in range(3):
        assert s.pending == {"warm_start": "takes effect on restart"}
        s.advance()
    s.set(warm_start=False)
    assert s.pending == {}
    s.set(warm_start=True)
    s.restart()
    assert s.pending == {} and s.knobs.warm_start
    assert "warm start" in s.advance().info.words


def test_a_turn_after_going_back_drops_what_came_later():
    s = session()
    s.advance(5)
    s.set(eta=1.0)
    s.advance(5)
    s.set(kappa=0.5)
    s.seek(7)
    assert s.recipe.changes == ((5, {"eta": 1.0}), (10, {"kappa": 0.5}))
    s.set(n0=3)
    assert s.recipe.changes == ((5, {"eta": 1.0}), (7, {"n0": 3.0}))
    drive(s)
    assert s.knobs.kappa == 1.0
    assert digest(s) == straight(s.recipe)


def test_a_turn_that_cannot_be_used_changes_nothing():
    s = session()
    s.advance(3)
    before, recipe = digest(s), s.recipe
    for values in ({"eta": 0}, {"etta": 1}, {"batch_size": 21}, {"eta": 1, "kappa": 2}, {"self": 1}):
        with pytest.raises(InputError):
            s.set(**values)
        assert digest(s) == before and s.recipe == recipe, values


# Restart, replay, another seed, back and forth.


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
    for _ in range(20):
        before = s.recipe.seed
        s.reseed()
        assert s.recipe.seed != before and 0 <= s.recipe.seed < 1000  # one can say it aloud
    drive(s)
    assert digest(s) == straight(Recipe(**{**SMALL, "num_particles": 33}, eta=3.0, budget=200, seed=s.recipe.seed))


def test_seek_takes_a_whole_number_and_a_session_a_recipe():
    s = session()
    s.advance(2)
    for iteration in (-1, 1.5, "three", None, True):
        refused("iteration must be a whole number at least 0", s.seek, iteration)
        assert s.frame.iteration == 2
    for parts in ({"recipe": {}}, {"recipe": None}, {"metrics_every": 0}, {"metrics_every": 1.5}):
        with pytest.raises(InputError):
            Session(**{"recipe": Recipe(**SMALL), **parts})


def test_an_interrupted_step_can_be_done_again(monkeypatch):
    """Ctrl-C in the middle of a step: the random streams go back with it."""
    s, usual = session(policy="always"), session(policy="always")
    drive(usual)
    s.advance(6)
    step = type(s.method).step

    def interrupted(self, rng, *rest):
        step(self, rng, *rest)
        raise KeyboardInterrupt

    monkeypatch.setattr(type(s.method), "step", interrupted)
    with pytest.raises(KeyboardInterrupt):
        s.advance()
    monkeypatch.undo()
    assert s.frame.iteration == 6
    drive(s)
    assert digest(s) == digest(usual)


def cancelled_at(part):
    """A watch that ends the work at its `part`-th block."""
    watch, check, count = CancelToken(), CancelToken.check, iter(range(10**6))

    def counting(share):
        if next(count) == part:
            watch.cancel()
        check(watch, share)

    watch.check = counting
    return watch


@pytest.mark.parametrize("act", [lambda s: s.advance(), lambda s: s.set(bandwidth=0.4), lambda s: s.restart()])
def test_cancelled_work_leaves_the_session_as_it_was(act):
    for part in (0, 2, 20):
        check_cancelled(act, part)


def check_cancelled(act, part):
    knobs = {"policy": "always", "num_particles": 200, "batch_size": 5}
    recipe = Recipe("gaussian", seed=3, budget=40, **knobs)
    s = Session(recipe, metrics_every=1)
    s.advance(4)
    before = digest(s), s.recipe.to_json()
    with cancellable(cancelled_at(part)):
        try:
            act(s)
        except Cancelled:
            assert (digest(s), s.recipe.to_json()) == before
        else:
            assert part > 0, "a first block there was in any case"
            return
    act(s)
    drive(s)
    other = Session(recipe, metrics_every=1)
    other.advance(4)
    act(other)
    drive(other)
    assert digest(s) == digest(other)


def test_the_last_frame_of_a_run_has_the_paths_of_its_step():
    """Those kept on the way do not, and a picture of the end shows what the step did."""
    session = Session(Recipe(target="gmm", method="random_walk", budget=100), 1)
    session.advance(5)
    assert session.run.final.info.paths() and not session.run.frames[-2].info.paths()
    assert [frame.iteration for frame in session.run.frames] == [*range(6)]


# The rows that each step visits.


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


def test_whole_is_all_rows_in_their_order_and_takes_no_random_numbers():
    one, other = stream(), stream()
    data = np.arange(23.0)
    assert one.draw(23, "whole") == slice(None)
    assert np.shares_memory(data[one.draw(23, "whole")], data)
    assert np.array_equal(one.draw(5, "replacement"), other.draw(5, "replacement"))


def test_replacement_draws_every_row_equally_often_and_some_twice():
    rows = stream(20).draw(40_000, "replacement")
    counts = np.bincount(rows, minlength=20)
    assert len(counts) == 20
    assert np.abs((counts - 2000) / np.sqrt(40_000 * 0.05 * 0.95)).max() < 4.5
    assert len(np.unique(stream(20).draw(20, "replacement"))) < 20


@given(draws, draws, draws)
def test_a_stream_goes_back_to_a_mark(before, between, after):
    one = stream()
    for size, kind in before:
        one.draw(size, kind)
    mark = one.mark()
    expected = [one.draw(size, kind).tolist() for size, kind in after]
    for size, kind in between:
        one.draw(size, kind)
    one.restore(mark)
    assert [one.draw(size, kind).tolist() for size, kind in after] == expected
    fresh = stream(seed=9)
    fresh.restore(mark)
    assert [fresh.draw(size, kind).tolist() for size, kind in after] == expected


def test_an_epoch_is_numpys_permutation():
    """In four bytes per row instead of eight, but the same rows in the same order."""
    for num_data in (1, 2, 10, 70_000):
        one, rng = stream(num_data, 3), np.random.default_rng(3)
        for _ in range(2):
            rows = one.draw(num_data, "epochs")
            assert np.array_equal(rows, rng.permutation(num_data)) and rows.dtype == np.uint32
