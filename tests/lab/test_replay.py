"""The way to a link's iteration: in turns, once for all who ask for it, with the bits of a replay of one's own."""

import math

import pytest

from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.kernels.pool import Cancelled, CancelToken, cancellable
from pmdviz.lab.links import Link
from pmdviz.lab.loop import limits
from pmdviz.lab.loop import runner as replay
from pmdviz.lab.loop.frame_sender import Acknowledge
from pmdviz.lab.loop.runner import Runner
from pmdviz.lab.loop.task import Again, DaemonPool
from pmdviz.lab.panels.sharing import Sharing
from tests.support.engine import columns

RECIPE = Recipe("mixture", num_particles=60, budget=None, changes=((4, {"bandwidth": 0.4}), (8, {"eta": 3.0})))
AT = 12


@pytest.fixture(autouse=True)
def alone(monkeypatch):
    """No replay of another test, no limit, and one iteration a turn."""
    monkeypatch.setattr("pmdviz.lab.loop.runner.SHARE_S", -1.0)
    monkeypatch.setattr(replay, "_replays", {})
    monkeypatch.setattr(limits, "most_replay_s", math.inf)


def visitor(recipe=RECIPE, at=AT, digest=""):
    """A visitor of a link, and the act that the live loop is given."""
    return Runner(recipe), Sharing(Acknowledge(), Link(recipe, at, digest))


def arrived(runner, sharing):
    for turns in range(10_000):
        made = sharing.arrive(runner)
        if not isinstance(made, Again):
            return made, turns
    raise AssertionError("it never arrived")


def bits(session):
    """All that is seen of a run, but the time that it took."""
    return session.frame.digest, [frame.digest for frame in session.frames], columns(session.history)


def counted(monkeypatch):
    steps, step = [], Session.advance
    monkeypatch.setattr(Session, "advance", lambda self, n=1: (steps.append(n), step(self, n))[1])
    return steps


def test_all_who_open_a_link_share_one_replay(monkeypatch):
    first = Runner(RECIPE)
    for _ in range(AT):
        first.advance(1)
    visitors = [visitor(digest=first.session.frame.digest) for _ in range(6)]
    steps = counted(monkeypatch)
    pool = DaemonPool(4, "test")
    ways = [pool.submit(sharing.arrive, runner) for runner, sharing in visitors]
    snapshots = [way.result(120) for way in ways]
    assert sum(steps) == AT, "it was computed more than once"
    for (runner, sharing), snapshot in zip(visitors, snapshots, strict=True):
        assert bits(runner.session) == bits(first.session) and not sharing.sentence
        assert [mark.text for mark in snapshot.marks] == [mark.text for mark in first.snapshot().marks]
        assert snapshot.recipe == RECIPE and snapshot.in_force == first.session.knobs.as_dict()
    late = visitor()
    assert arrived(*late)[1] == 0 and bits(late[0].session) == bits(first.session)
    assert sum(steps) == AT


def test_each_goes_its_own_way_from_there():
    """Onward, back, replayed and turned: as a run that was never shared, whatever the others do."""
    own, (one, _), (two, _) = Runner(RECIPE), *(pair for pair in [visitor(), visitor()] if arrived(*pair))
    for _ in range(AT):
        own.advance(1)
    two.set({"bandwidth": 1.5})
    two.advance(1)
    two.session.seek(3)
    turn = (lambda runner: runner.set({"batch_size": 7}),)
    on, back, replay_ = (Runner.advance,), (Runner.back,), (Runner.replay,)
    for act in (*3 * on, *5 * back, *turn, *4 * on, *replay_, *2 * on):
        act(own), act(one)
        assert bits(one.session) == bits(own.session) and one.session.recipe == own.session.recipe
    assert two.session.frame.iteration == 3 and two.session.recipe != own.session.recipe


def test_who_leaves_hands_the_replay_over(monkeypatch):
    steps = counted(monkeypatch)
    (one, ones), (two, twos) = visitor(), visitor()
    watch = CancelToken()
    with cancellable(watch):
        for _ in range(5):
            assert ones.arrive(one) == Again()
        assert watch.share == pytest.approx(5 / AT)
        watch.cancel()
        with pytest.raises(Cancelled):
            ones.arrive(one)
    assert one.session.frame.iteration == 0, "the last picture stays"
    assert arrived(two, twos)[0].frame.iteration == AT
    assert sum(steps) == AT


def test_a_link_beyond_what_can_be_replayed_says_so(monkeypatch):
    recipe = RECIPE.limited(500)
    pair = visitor(recipe, at=4000, digest="0" * 12)
    assert arrived(*pair)[0].done
    assert pair[1].sentence == "The link starts at iteration 4,000, but its run ends at iteration 5."
    monkeypatch.setattr(limits, "most_replay_s", 60)
    pair = visitor(at=10**9, digest="0" * 12)
    snapshot, turns = arrived(*pair)
    assert snapshot.frame.iteration == 0 and turns == 1
    assert "starts at iteration 1,000,000,000" in pair[1].sentence and "starts at iteration 0" in pair[1].sentence
    assert pair[0].advance(1).frame.iteration == 1
    assert arrived(*visitor(at=10**9))[1] == 0, "the next one is told at once"
