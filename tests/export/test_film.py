import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pmdviz
from pmdviz.errors import InputError
from pmdviz.export.films import Film, chosen, spread
from pmdviz.export.options import Look
from pmdviz.scenes.stage.posterior import stage_columns
from pmdviz.scenes.words import state


@given(st.integers(1, 100_000), st.data())
def test_frames_are_spread_evenly_over_the_whole_run_and_all_different(last, data):
    frames = data.draw(st.integers(2, min(last + 1, 500)))
    places = spread(last, frames)
    gaps = np.diff(places)
    assert len(places) == frames and places[0] == 0 and places[-1] == last
    assert gaps.min() >= 1 and gaps.max() - gaps.min() <= 1
    assert np.abs(np.array(places) - np.linspace(0, last, frames)).max() <= 0.5 + 1e-9


@given(st.integers(0, 5_000), st.integers(1, 6_000))
def test_every_so_many_iterations_and_the_last(last, every):
    try:
        found = chosen(last, last, Look.checked({"every": every}), "")
    except InputError as error:
        least = int(str(error).rpartition("every=")[2].split()[0])
        assert len(chosen(last, last, Look.checked({"every": least}), "")) <= 2_000
        return
    assert found[-1] == last and found[: -1 if last else 1] == [*range(0, max(last, 1), every)]


def test_the_scenes_are_the_runs_own_frames_and_the_last_needs_no_replay(run):
    film = Film(run, Look.checked({}))
    scenes = [*film.scenes()]
    assert [scene.iteration for scene in scenes] == film.iterations == [*range(13)]
    session = pmdviz.Session(run.recipe)
    for scene in scenes:
        frame = session.seek(scene.iteration)
        assert scene.words == state(frame) and "being computed" not in scene.words
        columns = stage_columns(frame)
        for mine, page in zip(scene.columns[:3], columns[:3], strict=True):
            assert mine.keys() == page.keys()
            assert all(np.array_equal(mine[name], page[name], equal_nan=True) for name in page)
        assert scene.columns[3:5] == columns[3:5]
    last, replayed = Film(run, Look.checked({})).last_scene(), scenes[-1]
    assert (last.iteration, last.words, last.note) == (replayed.iteration, replayed.words, replayed.note)
    assert np.array_equal(last.columns.particles["x"], replayed.columns.particles["x"])


def test_the_traces_grow_to_the_present_with_every_frame(run):
    for scene in Film(run, Look.checked({"frames": 7})).scenes():
        past = scene.history["iteration"]
        assert past[-1] == scene.iteration and (np.diff(past) > 0).all()
        assert {*range(0, scene.iteration + 1, 2)} <= set(past.tolist())
        assert all(mark.iteration <= scene.iteration for mark in scene.marks)
    turned = [mark for mark in scene.marks if mark.kind == "knob"]
    assert [mark.iteration for mark in turned] == [5] and turned[0].visited == 500
    kinds = [mark.kind for mark in scene.marks]
    assert kinds.count("rejuvenated") == run.final.rejuvenations > 0
    assert kinds.count("limited") == run.final.limited_steps > 0
    assert len(kinds) == 1 + run.final.rejuvenations + run.final.limited_steps


def test_a_run_ends_where_it_stands_and_its_replay_between_any_two_iterations(run):
    session = pmdviz.Session(pmdviz.Recipe("gaussian", num_particles=30, budget=None))
    session.advance(4)
    assert [scene.iteration for scene in Film(session.run, Look.checked({})).scenes()] == [0, 1, 2, 3, 4]
    ticks = []

    def tick():
        ticks.append(1)
        if len(ticks) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        [*Film(run, Look.checked({"frames": 2})).scenes(tick)]
    assert len(ticks) == 3
