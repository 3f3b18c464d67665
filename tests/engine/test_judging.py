"""The check of a frame: importance weights against plain NumPy, what it says of right and wrong q, and when."""

from types import SimpleNamespace

import numpy as np
import pytest

import pmdviz
from pmdviz.densities.density import GaussianMixture, KernelDensity
from pmdviz.engine.frame import caveat_of, find
from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.metrics import diagnostics
from pmdviz.metrics.diagnostics import importance_shift
from pmdviz.scenes.words import state
from pmdviz.streams import stream
from pmdviz.targets import make_target
from tests.support.tables import looped

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


def test_the_check_takes_fewer_draws_of_more_data_and_none_of_too_many(monkeypatch):
    monkeypatch.setattr(diagnostics, "MOST_ROWS", 3000)
    for num_data, draws in ((1, 1500), (5, 600), (20, 0)):
        target = two_modes(num_data=num_data)
        assert target.modes is not None
        asked = counted(target, monkeypatch)
        found = judged(gaussians(*RIGHT), target)
        assert sum(asked) == draws and bool(found.unchecked) == (draws == 0), (num_data, asked, found)


def test_four_times_the_draws_are_taken_where_the_first_do_not_settle_it(monkeypatch):
    """The weights of a Gaussian in the place of two modes are uneven; of one far away more draws would not help."""
    cases = (gaussians(*RIGHT), 1), (gaussians(MEANS[1:], (0.45,)), 2), (gaussians([[30.0, 0, 0]], (0.1,)), 1)
    for q, looks in cases:
        target = two_modes(gradient=False)
        assert target.modes is None
        asked = counted(target, monkeypatch)
        found = importance_shift(q, target)
        assert asked == [1000, 4000][:looks] and found.draws == asked[-1], (asked, found)


def test_a_reference_judges_where_there_is_one_and_nothing_is_drawn():
    session = Session(Recipe("linear", "svi", target_options={"dim": 3, "num_data": 100}, budget=200))
    frame = session.advance(1)
    assert frame.metric("mean_error") > 0.3 and frame.caveat.startswith("mean ")
    assert "shift" not in frame.__dict__ and "modes" not in frame.target.__dict__


def test_a_q_with_the_right_moments_and_another_shape_is_named_where_tv_is_known():
    """Two modes at -1 and 1 have the mean and the sd of a Gaussian; so has q with kernels too narrow to touch."""
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
