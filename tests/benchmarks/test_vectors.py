"""What the bench of wider vectors tells numba, and how it compares two kinds of process; no time is judged."""

from benchmarks.vectors import compared, wider


def test_the_processor_s_features_are_kept_and_the_preference_is_taken_away():
    *features, last = wider().split(",")
    assert last == "-prefer-256-bit" and last not in features and len(features) > 5
    assert all(one[0] in "+-" for one in features)


def test_processes_are_compared_by_medians_and_frames_by_their_digests():
    plain = [{"kde_2": ms, "frame": "a"} for ms in (2.0, 9.0, 3.0)]
    wide = [{"kde_2": ms, "frame": "a"} for ms in (1.5, 0.1, 7.0)]
    found = compared(plain, wide)
    assert (
        found["as_it_comes"] == {"kde_2": 3.0} and found["wider"] == {"kde_2": 1.5} and found["ratio"] == {"kde_2": 0.5}
    )
    assert found["same_bits"] and found["processes"] == 3
    assert not compared(plain, [{**one, "frame": "b"} for one in wide])["same_bits"]
