"""The way of a moved slider: how many functions hand the value on, and that it is checked once."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from benchmarks.knob_path import SCENES, moved

MOST_STOPS = 22


@pytest.mark.parametrize("iterations", SCENES.values(), ids=list(SCENES))
def test_a_moved_slider_has_few_stops_and_one_check(iterations):
    with ThreadPoolExecutor(1) as pool:  # the main thread's loop may be Playwright's
        way = pool.submit(moved, iterations).result()
    assert way["num_stops"] <= MOST_STOPS, "\n".join(way["stops"])
    assert way["num_checks"] == way["num_fits_one_another"] == 1
    for met in ("KnobForm._handle_msg", "Live.set", "Session.set_all", "StageView.draw", "FrameSender.put"):
        assert any(stop.endswith(f" {met}") for stop in way["stops"])
