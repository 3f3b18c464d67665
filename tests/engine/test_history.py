"""Which frames are measured and kept, and the check of a frame by importance weights."""

from types import SimpleNamespace

import numpy as np
import pytest

import pmdviz
from pmdviz.densities.density import GaussianMixture, KernelDensity
from pmdviz.engine import frame as frame_module
from pmdviz.engine import run as module
from pmdviz.engine.frame import after_step, caveat_of, find
from pmdviz.engine.recipe import Recipe
from pmdviz.engine.run import History, is_due, next_due
from pmdviz.engine.session import Session
from pmdviz.methods.step import Cost, StepInfo, events
from pmdviz.metrics import diagnostics
from pmdviz.metrics.diagnostics import importance_shift
from pmdviz.scenes.words import state
from pmdviz.streams import PURPOSES, stream
from pmdviz.targets import make_target
from tests.support.engine import columns, digest, drive
from tests.support.tables import looped

SMALL = {"target": "gaussian", "num_particles": 20, "batch_size": 5}


def iterations(session):
    return session.history.columns["iteration"].tolist()


def row(iteration):
    return {"iteration": iteration, "visited": 5 * iteration, "tv": None}


def test_early_frames_and_one_in_each_block_of_ten_are_measured_and_no_phase_of_a_pass_is_preferred():
    due = [t for t in range(20_000) if is_due(t, None)]
    assert due[:11] == [0, 1, 2, 5, 10, 16, 22, 39, 45, 52, 68]
    assert [t // 10 for t in due[5:]] == [*range(1, 2000)]
    assert [t for t in range(10) if is_due(t, 3)] == [0, 3, 6, 9], "what the user asks for stays as it is"
    for every in (None, 1, 7, 10):
        due = [t for t in range(1000) if is_due(t, every)]
        for t in range(due[-1]):
            assert next_due(t, every) == next(d for d in due if d > t), (every, t)
    for stride, least in [(1, 0.7), (2, 0.5), (8, 0.5)]:
        due = [t for t in range(20, 5000 * stride) if is_due(t, None, stride)]
        assert len(due) == pytest.approx(500, abs=3)
        for steps in range(2, 21):
            seen = np.bincount(np.array(due) % steps, minlength=steps) * steps / len(due)
            assert least < seen.min() and seen.max() < 2 - least, (stride, steps, seen)


def test_a_run_measures_what_is_due_the_last_and_again_what_acts_at_once():
    for every, expected in [(None, [0, 1, 2, 5, 10, 16, 22, 23]), (7, [0, 7, 14, 21, 23]), (1, [*range(24)])]:
        session = Session(Recipe(**SMALL, budget=115), metrics_every=every)
        drive(session)
        assert iterations(session) == expected
        assert session.run.frames[-1].iteration == 23
    session = Session(Recipe(**SMALL, budget=None))
    before = session.advance(10).metrics["tv"]
    session.set(bandwidth=3.0)
    after = session.history.columns["tv"][-1]
    assert after != before and after == session.frame.metrics["tv"] and iterations(session) == [0, 1, 2, 5, 10]
    session.advance(3)
    session.set(bandwidth=1.0)
    session.advance(1)
    session.set(eta=1.0)
    assert iterations(session) == [0, 1, 2, 5, 10, 13], "what acts at the next step is not seen yet"


def test_a_bandwidth_gives_the_same_row_whatever_was_tried_and_looked_at_before():
    rows = []
    for tried in ((), (2.0, 0.3, 1.7)):
        session = Session(Recipe("mixture", num_particles=400, seed=5))
        session.advance(23)  # between two measured frames
        for bandwidth in tried:
            _ = session.frame.tv
            session.set(bandwidth=bandwidth)
        session.set(bandwidth=0.5)
        rows.append({name: value for name, value in session.frame.row().items() if name != "seconds"})
    assert rows[0] == rows[1]


def test_columns_have_the_metrics_of_their_frames_and_nan_for_what_cannot_be_had():
    session = Session(Recipe(**SMALL, budget=60), metrics_every=1)
    drive(session)
    found = session.history.columns
    for k, frame in enumerate(session.run.frames):
        assert (found["iteration"][k], found["visited"][k], found["num_particles"][k]) == (k, 5 * k, 20)
        for name in ("tv", "kl_forward", "kl_reverse", "cross_entropy", "ess", "mass_outside"):
            assert found[name][k] == frame.metrics[name]
    assert np.isnan(found["step_size"][0]) and found["step_size"][1] == pytest.approx(2 / 21)
    assert (np.diff(found["seconds"]) > 0).all() and (np.diff(found["rejuvenations"]) >= 0).all()
    assert {len(column) for column in found.values()} == {13} and History().columns == {}


@looped("every", [None, 1, 3])
@looped("last", [29, 64, 333, 1000])
def test_a_long_history_is_thinned_evenly_and_keeps_its_ends(every, last, monkeypatch):
    monkeypatch.setattr(module, "MAX_ROWS", 20)
    history, due = History(every), [t for t in range(last) if is_due(t, every)]
    for t in [*due, last]:
        history.put(row(t))
        assert len(history) <= 21
    kept = history.columns["iteration"].tolist()
    assert kept == sorted(set(kept)) and kept[0] == 0 and kept[-1] == last
    assert set(kept[:-1]) == {t for t in due if is_due(t, every, history.stride)}
    assert history.stride == 1 or len(history) >= 8


def test_a_thinned_history_hangs_on_the_run_and_not_on_the_way_there(monkeypatch):
    monkeypatch.setattr(module, "MAX_ROWS", 10)
    recipe = Recipe(**SMALL, budget=200)
    straight, winding = Session(recipe, metrics_every=1), Session(recipe, metrics_every=1)
    drive(straight)
    for iteration in (20, 8, 33, 3):
        winding.seek(iteration)
    drive(winding)
    assert straight.history.stride == winding.history.stride > 1
    assert columns(winding.history) == columns(straight.history)
    assert digest(winding) == digest(straight)


def size_of_a_state():
    return Session(Recipe(**SMALL, budget=None)).frame.num_bytes


def test_frames_are_thinned_past_the_memory_cap_or_put_aside_and_seek_works_as_before():
    recipe = Recipe(**SMALL, budget=200, changes=[(10, {"bandwidth": 0.3}), (17, {"num_particles": 25})])
    for room in (5, 8):
        usual = Session(recipe, metrics_every=1)
        tight = Session(recipe, metrics_every=1, memory_cap=room * size_of_a_state())
        drive(usual), drive(tight)
        kept = [frame.iteration for frame in tight.run.frames]
        assert kept == sorted(set(kept)) and kept[0] == 0 and kept[-1] == 40 and 3 <= len(kept) <= room + 1
        assert len(tight.history) == 41, "the history is not thinned"
        for iteration in (29, 16, 0, 18, 40):
            usual.seek(iteration), tight.seek(iteration)
            assert digest(tight) == digest(usual), iteration
    usual, aside = (Session(Recipe(**SMALL, budget=200), metrics_every=1) for _ in range(2))
    drive(usual), drive(aside)
    aside.kept.shrink(6 * size_of_a_state())
    assert len(usual.frames) > 30 and 4 <= len(aside.frames) <= 7 and aside.frames[0].iteration == 0
    for iteration in (40, 33, 0):
        usual.seek(iteration), aside.seek(iteration)
        assert digest(aside) == digest(usual)


def test_columns_that_grow_row_by_row_are_those_built_at_once():
    rows = [{"iteration": at, "size": 3 if at < 4 else None, "tv": None if at == 0 else at / 7} for at in range(9)]
    history, whole = History(1), History(1)
    for row in [*rows[:6], *rows[3:]]:  # back to iteration 3, and on
        history.put(row)
        grown = history.kept_columns()
    for row in rows:
        whole.put(row)
    for name, values in whole.columns.items():
        assert grown[name].tobytes() == values.tobytes() and grown[name].dtype == values.dtype
    history.columns["tv"][:] = 0.0  # the caller's own
    assert history.columns["tv"][-1] == 8 / 7
    history.cut(3)
    assert history.columns["iteration"].tolist() == [0, 1, 2, 3]


def test_rows_leave_out_figures_that_the_steps_have_not_paid_for_whatever_the_way_to_a_row(monkeypatch):
    recipe = Recipe("regression_net", "psgld", target_options={"num_data": 40, "hidden": 3}, budget=4000)
    whole = Session(recipe, metrics_every=10)
    whole.advance(400)
    assert np.isfinite(whole.history.columns["rhat"][2:]).all(), "all rows in full, where they are asked for"
    monkeypatch.setattr(frame_module, "CHEAP", 100_000)
    session, other = Session(recipe), Session(recipe)
    session.advance(400)
    history = session.history.columns
    known = np.isfinite(history["rhat"])
    assert np.isfinite(history["rmse"]).all() and known[-1] and 1 < known.sum() < len(known)
    np.testing.assert_array_equal(known, np.isfinite(history["bulk_ess"]))
    other.advance(290)
    other.seek(33)
    other.advance(1)
    other.advance(400)
    for name in ("iteration", "rhat", "rmse", "nlpd"):
        np.testing.assert_array_equal(other.history.columns[name], history[name])
    assert session.run.final.metrics["rhat"] == history["rhat"][-1]


@looped("method, knobs", [("pmd", {}), ("pmd", {"growth": "power"}), ("smc", {}), ("smc_mcmc", {})])
def test_a_run_composes_its_parents(method, knobs):
    session, every = Session(Recipe("mixture", method, seed=3, num_particles=60, **knobs)), []
    counts = [session.frame.metrics["ancestors"]]
    while not session.done and session.frame.iteration < 20:
        every.append(session.advance().info.parents)
        counts.append(session.frame.metrics["ancestors"])
    end, rows = session.frame, np.arange(len(session.frame.particles))
    for parents in reversed(every):
        rows = rows if parents is None else parents[rows]
    assert any(parents is not None for parents in every)
    assert counts == sorted(counts, reverse=True) and counts[-1] < counts[0] == len(end.ancestry.first)
    assert counts[-1] == len(set(rows[end.weights > 0].tolist()))
    assert end.ancestry.number_alive(np.where(rows == rows[0], 0.0, -np.inf)) == 1
    untold = StepInfo(Cost(), "", events(rejuvenated="few"))
    assert after_step(end.ancestry, untold) is None, "parents that nobody tells"
    if method == "smc_mcmc":  # which follows its families itself, for its caveat
        np.testing.assert_array_equal(end.ancestry.rows, end.state.ancestors)
    assert session.seek(7).metrics["ancestors"] == counts[7]
    for frame in (end, session.seek(end.iteration)):
        np.testing.assert_array_equal(frame.ancestry.rows, rows)


def test_streams_of_purposes_of_data_and_of_runs_differ():
    children = np.random.SeedSequence(0).spawn(2)
    streams = [stream(p) for p in PURPOSES] + [np.random.default_rng(each) for each in (0, *children)]
    heads = {tuple(each.random(3)) for each in streams}
    assert len(heads) == len(streams) == len(PURPOSES) + 3
    assert stream("check").random() == stream("check").random() != stream("check", 1).random()


MEANS, SHARES = np.array([[-3.0, 0.0, 1.0], [3.0, 1.0, 0.0]]), np.array([0.3, 0.7])


def log_two(theta):
    """A mixture of two Gaussians in three dimensions, too far apart for a chain to cross."""
    parts = -0.5 * ((theta[:, None] - MEANS) ** 2).sum(axis=2) + np.log(SHARES) - 1.5 * np.log(2 * np.pi)
    return np.logaddexp(*parts.T)


def grad_two(theta):
    pulls = MEANS - theta[:, None]
    parts = -0.5 * (pulls**2).sum(axis=2) + np.log(SHARES)
    weights = np.exp(parts - np.logaddexp(*parts.T)[:, None])
    return (weights[:, :, None] * pulls).sum(axis=1)


def prior(theta):
    return -0.5 * (theta**2).sum(axis=1) / 16 - 3 * np.log(4 * np.sqrt(2 * np.pi))


def two_modes(gradient=True, num_data=1):
    slopes = {
        "grad_log_prior": lambda theta: -theta / 16,
        "grad_log_likelihood": lambda theta, batch: len(batch) / num_data * (grad_two(theta) + theta / 16),
    }
    likelihood = lambda theta, batch: len(batch) / num_data * (log_two(theta) - prior(theta))  # noqa: E731
    draws = {"log_prior": prior, "sample_prior": lambda rng, n: 4 * rng.standard_normal((n, 3))}
    parts = {"dim": 3, "name": "two_modes", "data": np.zeros((num_data, 1)), **draws, **(slopes if gradient else {})}
    return pmdviz.custom_target(log_likelihood=likelihood, **parts)


def gaussians(means, scales=(1.0,), shares=(1.0,)):
    factors = np.array([scale * np.eye(3) for scale in scales])
    return GaussianMixture(np.array(means, float), np.log(np.array(shares)), factors)


RIGHT = (MEANS, (1.0, 1.0), SHARES)


def judged(density, target, family="particles", particles=None, **metrics):
    draws = density.sample(np.random.default_rng(5), 2000) if particles is None else particles
    parts = {"particles": draws, "weights": np.full(2000, 1 / 2000), "metric": metrics.get, "tv": None}
    found, method = importance_shift(density, target), SimpleNamespace(family=family)
    return find(SimpleNamespace(target=target, shift=found, density=density, method=method, **parts))


def test_the_weights_are_those_of_the_mixture_of_q_and_the_modes():
    target, q = two_modes(), gaussians(MEANS + 0.2, (1.2, 0.9), (0.4, 0.6))
    found = importance_shift(q, target)
    rng, r = stream("check"), target.modes
    points = np.concatenate([q.sample(rng, 1000), r.sample(rng, 500)])
    weights = np.exp(log_two(points)) / (2 / 3 * naive(q, points) + 1 / 3 * naive(r, points))
    weights /= weights.sum()
    mean = weights @ points
    sd = np.sqrt(weights @ (points - mean) ** 2)
    ratios = np.sqrt(np.diag(q.cov)) / sd
    expected = [(np.abs(mean - q.mean) / sd).max(), ratios.min(), ratios.max(), 1 / (weights**2).sum()]
    assert [found.moved, found.narrowest, found.widest, found.ess] == pytest.approx(expected, rel=1e-10)


def naive(mixture, points):
    total = 0.0
    for weight, mean, factor in zip(mixture.weights, mixture.particles, mixture.choleskys, strict=True):
        cov, off = factor @ factor.T, points - mean
        exponent = -0.5 * (off @ np.linalg.inv(cov) * off).sum(axis=1)
        total = total + weight * np.exp(exponent) / np.sqrt(np.linalg.det(2 * np.pi * cov))
    return total


def test_a_right_q_is_confirmed_and_each_wrong_one_has_a_sentence():
    target = two_modes()
    right = judged(gaussians(*RIGHT), target)
    assert right.agrees and not right.words
    alike = judged(gaussians(*RIGHT), target, particles=np.zeros((2000, 3)))
    assert not alike.agrees and not alike.words, "the width of q is that of its kernels alone"
    wrong = {
        "mean": gaussians(MEANS[1:]),  # a mode is missing: draws of q alone would not show that
        "mean 1.": gaussians(MEANS + 1.2, (1.0, 1.0), SHARES),
        "sds off: the narrowest": gaussians([SHARES @ MEANS], (0.5,)),
        "sds off: the widest": gaussians(MEANS, (1.8, 1.8), SHARES),
    }
    for words, q in wrong.items():
        found = judged(q, target)
        assert found.words.startswith(words) and not found.agrees, (words, found)


def test_without_a_gradient_the_modes_are_not_known_and_a_right_q_is_not_confirmed():
    target = two_modes(gradient=False)
    assert target.modes is None and judged(gaussians(*RIGHT), target) == ("", False, "")
    assert judged(gaussians(MEANS + 1.2, (1.0, 1.0), SHARES), target).words
    assert "too uneven" in judged(gaussians([[30.0, 0, 0]]), target).words


@looped("family, metrics, words", [
    ("chain", {"rhat": 1.2, "bulk_ess": 500.0}, "R-hat 1.20"), ("chain", {"rhat": 1.01, "bulk_ess": 400.0}, ""),
    ("chain", {"rhat": 1.01, "bulk_ess": 12.0}, "bulk ESS 12"),
    ("parametric", {"khat": 1.1}, "k-hat 1.1"), ("parametric", {"khat": 0.3}, ""),
])  # fmt: skip
def test_chains_and_densities_are_judged_by_their_own_diagnostics_where_weights_do_not_tell(family, metrics, words):
    found = judged(gaussians(*RIGHT), two_modes(gradient=False), family, **metrics).words
    assert found.startswith(words) and bool(found) == bool(words)
    assert judged(gaussians(*RIGHT), two_modes(), family, **metrics).words == "", "the check found it right"


def counted(target, monkeypatch):
    asked, function = [], target.log_likelihood
    monkeypatch.setattr(target, "log_likelihood", lambda theta, rows: asked.append(len(theta)) or function(theta, rows))
    return asked


def test_the_check_takes_fewer_draws_of_more_data_and_more_where_the_first_do_not_settle_it(monkeypatch):
    cases = (gaussians(*RIGHT), 1), (gaussians(MEANS[1:], (0.45,)), 2), (gaussians([[30.0, 0, 0]], (0.1,)), 1)
    for q, looks in cases:
        target = two_modes(gradient=False)
        assert target.modes is None
        asked = counted(target, monkeypatch)
        found = importance_shift(q, target)
        assert asked == [1000, 4000][:looks] and found.draws == asked[-1], (asked, found)
    monkeypatch.setattr(diagnostics, "MOST_ROWS", 3000)
    for num_data, draws in ((1, 1500), (5, 600), (20, 0)):
        target = two_modes(num_data=num_data)
        assert target.modes is not None
        asked = counted(target, monkeypatch)
        found = judged(gaussians(*RIGHT), target)
        assert sum(asked) == draws and bool(found.unchecked) == (draws == 0), (num_data, asked, found)


def test_a_reference_or_tv_judges_where_there_is_one():
    session = Session(Recipe("linear", "svi", target_options={"dim": 3, "num_data": 100}, budget=200))
    frame = session.advance(1)
    assert frame.metric("mean_error") > 0.3 and frame.caveat.startswith("mean ")
    assert "shift" not in frame.__dict__ and "modes" not in frame.target.__dict__
    told = {"mean_error": 0.1, "sd_ratio_min": 1.0, "sd_ratio_max": 1.0}
    target = SimpleNamespace(reference=lambda: "known")
    for tv, words in ((0.1, ""), (0.3, ""), (0.6, "TV 0.60")):
        frame = SimpleNamespace(target=target, tv=tv, metric=told.get, method=SimpleNamespace(family="structured"))
        found = find(frame)
        assert found.words.partition(":")[0] == words and found.agrees == (tv < 0.2), tv


def test_the_caveat_of_a_frame_depends_on_its_iteration_alone():
    looked, jumped = (Session(Recipe(two_modes(), "svi", budget=60)) for _ in range(2))
    caveats = {looked.frame.iteration: looked.frame.caveat}
    for _ in range(25):
        caveats[looked.advance().iteration] = looked.frame.caveat
    for at in (7, 20, 13):
        assert jumped.seek(at).caveat == caveats[at], at
    assert caveats[0] == "" and any(caveats.values())
    frame = jumped.frame
    assert frame.measured is not None and frame.measured.iteration < frame.iteration == 13
    assert frame.checked.measured is None and frame.checked.finding is not frame.measured.finding
    assert jumped.run.final.measured is None and len(frame.measured.finding) == 3


def test_what_a_method_says_of_itself_comes_first_and_a_check_overrules_it_only_where_it_judges_q():
    def frame(found, of_q=True, own="own words", unfinished=""):
        said = {"caveat": lambda state, knobs: own, "unfinished": lambda state, knobs: unfinished}
        method = SimpleNamespace(caveat_is_of_q=of_q, **said)
        told = {"state": None, "knobs": None, "iteration": 3, "measured": None, "no_density": ""}
        return SimpleNamespace(method=method, finding=found, **told)

    right, wrong = SimpleNamespace(agrees=True, words=""), SimpleNamespace(agrees=False, words="mean 2 off")
    assert caveat_of(frame(wrong)) == "own words" and caveat_of(frame(right)) == ""
    assert caveat_of(frame(right, of_q=False)) == "own words" and caveat_of(frame(wrong, of_q=False)) == "mean 2 off"
    assert caveat_of(frame(wrong, unfinished="not yet")) == "own words"
    assert caveat_of(frame(wrong, own="", unfinished="not yet")) == "not yet"
    assert caveat_of(frame(wrong, own="")) == "mean 2 off"


def test_a_kernel_density_of_exact_draws_is_confirmed_in_every_dimension_that_is_checked():
    for dim in (2, 5, 10):
        target = make_target("linear", dim=dim, num_data=50)
        draws = target.exact.sample(np.random.default_rng(1), 1500)
        kernel = np.linalg.cholesky(1500 ** (-2 / (dim + 4)) * np.cov(draws.T))
        found = importance_shift(KernelDensity(draws, np.full(1500, -np.log(1500)), kernel), target)
        assert found.moved < 0.15 and found.ess > 200, (dim, found)


def test_a_run_that_no_check_could_judge_says_why():
    large = pmdviz.run(target=two_modes(num_data=20_001), method="svi", budget=500_000).final
    assert large.caveat == "" and large.unchecked == "more than 20,000 observations"
    assert state(large).endswith(", not checked: more than 20,000 observations")
    confirmed = pmdviz.run(target="gaussian", budget=2000, num_particles=500).final
    assert confirmed.unchecked == ""
