import numpy as np

from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.scenes import trace_columns as columns
from pmdviz.views import TracesView

NO_FLOORS = {"floor_tv": None, "floor_kl": None}


def history(n=50, **columns):
    base = {
        "iteration": np.arange(n),
        "visited": 100 * np.arange(n),
        "evaluations": 1000 * np.arange(n),
        "seconds": 0.01 * np.arange(n),
    }
    values = {"tv": np.geomspace(0.9, 0.09, n), "kl_forward": np.geomspace(5, 0.05, n), "ess": np.full(n, 800.0)}
    values["ancestors"] = np.full(n, 90.0)
    values |= {"kl_reverse": np.geomspace(9, 0.04, n), "cross_entropy": np.linspace(4, -1, n)}
    return base | values | columns


def test_zero_infinite_and_missing_values_keep_the_line():
    kl = np.array([np.inf, 1e6, np.nan, 0.5, 0.0])
    view = TracesView("kl")
    view.show(history(5, kl_forward=kl, kl_reverse=np.full(5, np.inf)), NO_FLOORS)
    shown = view.source.data["kl_forward"]
    span = view.figure.y_range
    assert span.end <= 100 and span.start > 0
    assert np.isfinite(shown[[0, 1, 3, 4]]).all() and np.isnan(shown[2])
    assert shown[0] == np.float32(span.end) and shown[4] == np.float32(span.start)
    assert view.corner.text == "reverse KL > 100"


def test_points_are_thinned_and_no_trace_loses_its_ends_or_a_peak():
    rng = np.random.default_rng(0)
    one, two = rng.random(100_000), rng.random(100_000)
    one[12_345], two[76_543], two[:50], two[500:900] = 9.0, -9.0, np.nan, np.nan
    rows = columns.extremes([one, two])
    assert 0.9 * columns.MAX_POINTS < len(rows) <= columns.MAX_POINTS and np.array_equal(rows, np.unique(rows))
    assert {0, 12_345, 76_543, 99_999} <= set(rows.tolist())
    for values in (one, two):
        for k in range(500, 99_000, 1_000):
            part, kept = values[k : k + 1_000], values[rows[(rows >= k - 250) & (rows < k + 1_250)]]
            assert np.nanmax(kept) >= np.nanmax(part) and np.nanmin(kept) <= np.nanmin(part)  # 200 rows a bucket
    assert list(columns.extremes([one[:7]])) == list(range(7))
    assert len(columns.extremes([np.full(5_000, np.nan)], 100)) <= 100
    view = TracesView()
    view.show(history(30_000), NO_FLOORS)
    assert all(len(column) <= columns.MAX_POINTS for column in view.source.data.values())


def test_ranges_hold_what_is_drawn():
    low, high = columns.value_range(columns.GROUPS["kl"], [np.array([0.9, 0.03])], [0.02])
    assert low <= 0.02 and high >= 0.9
    assert columns.value_range(columns.GROUPS["kl"], [np.array([1e9])])[1] == 100
    assert columns.value_range(columns.GROUPS["accuracy"], [np.array([0.1, 0.99])])[1] == 1
    low, high = columns.value_range(columns.GROUPS["cross_entropy"], [np.array([-1.0, 4.0])])
    assert low < -1 and high > 4
    assert columns.clamped(np.array([0.0, np.inf]), 0.1, 10).tolist() == [np.float32(0.1), 10.0]
    assert columns.clock_end("visited", 300, 20_000) == 20_400
    assert columns.clock_end("iteration", 130, 20_000) == 200


def test_a_run_that_has_ended_by_itself_has_the_whole_axis():
    """A ladder asks for a small part of a budget that longer ones fit into."""
    session = Session(Recipe(target="gaussian", method="ais", num_particles=10, num_temperatures=5, budget=20_000))
    session.advance(3)
    assert columns.budget_drawn(session.frame, 20_000) == 20_000
    session.advance(5)
    assert session.ended and columns.budget_drawn(session.frame, 20_000) == session.frame.spent < 1_000
    assert columns.budget_drawn(session.frame, None) is None
    view = TracesView()
    view.show(history(10), NO_FLOORS, budget=20_000)
    assert view.figure.x_range.end == 20_400
    view.figure.x_range.update(start=100, end=500)
    view.show(history(20), NO_FLOORS, budget=20_000)
    assert (view.figure.x_range.start, view.figure.x_range.end) == (100, 500)
    view.follow()
    assert view.figure.x_range.end == 20_400
