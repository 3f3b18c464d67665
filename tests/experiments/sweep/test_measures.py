import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

import pmdviz
from pmdviz import InputError, Recipe, Session
from pmdviz.experiments import sweep as measures
from pmdviz.experiments.sweep import BOUNDED, bounded_error, chosen_error, exact_values, measured
from tests.support.own import own_target


def expectation(f, mean, sd, scale):
    """By SciPy's quadrature."""
    return quad(lambda z: f(np.array(z / scale)) * norm.pdf(z, mean, sd), mean - 10 * sd, mean + 10 * sd,
                limit=400, points=[0.5 * scale])[0]  # fmt: skip


@pytest.mark.parametrize("dim", [1, 2])
def test_exact_values_of_the_gaussian(dim):
    target = pmdviz.target("gaussian", dim=dim, prior_sd=2.0)
    sds = np.sqrt(np.diag(target.exact.cov))
    wanted = [
        [expectation(f, m, s, 2.0) for f, _ in BOUNDED.values()] for m, s in zip(target.exact.mean, sds, strict=True)
    ]
    np.testing.assert_allclose(exact_values(target), wanted, atol=1e-4)


def test_antiderivatives_and_exact_values_of_the_mixture_against_draws():
    u, step = np.linspace(-3, 3, 61) + 1e-3, 1e-6
    for f, antiderivative in BOUNDED.values():
        slope = (antiderivative(u + step) - antiderivative(u - step)) / (2 * step)
        np.testing.assert_allclose(slope, f(u), atol=1e-6)
        assert np.abs(f(u)).max() <= 1
    target = pmdviz.target("mixture", num_data=400, sigma_x=1.5)
    draws = target.exact.sample(np.random.default_rng(0), 200_000)
    wanted = np.array([[f(draws[:, k]).mean() for f, _ in BOUNDED.values()] for k in range(2)])
    np.testing.assert_allclose(exact_values(target), wanted, atol=4 / np.sqrt(200_000))


def test_bounded_errors_are_of_the_points_or_of_the_density_of_a_gaussian_family():
    frame = Session(Recipe("gaussian", target_options={"dim": 1}, num_particles=300, budget=200)).advance(20)
    values = [frame.weights @ f(frame.particles[:, 0]) for f, _ in BOUNDED.values()]
    assert bounded_error(frame) == pytest.approx(np.abs(values - exact_values(frame.target)[0]).mean())
    frame = Session(Recipe("gaussian", "svi", target_options={"dim": 2}, budget=100)).advance(3)
    sds = np.sqrt(np.diag(frame.density.cov))
    wanted = [
        [expectation(f, m, s, 1.0) for f, _ in BOUNDED.values()] for m, s in zip(frame.density.mean, sds, strict=True)
    ]
    error = np.abs(np.array(wanted) - exact_values(frame.target)).mean()
    assert bounded_error(frame) == pytest.approx(error, abs=1e-4)


def test_which_errors_can_be_asked_for_and_those_that_cannot_be_had_are_nan():
    def own(frame):
        return 0.0

    def mean_error(frame):
        return 0.0

    assert chosen_error("bounded") == ("bounded", {})
    assert chosen_error(own) == ("own", {"own": own})
    named = (mean_error, "'mean_error' is the name of a metric")
    for wrong, words in [
        ("tvv", "did you mean 'tv'"),
        (lambda frame: 0.0, "not a lambda"),
        (5, "must be one of"),
        named,
    ]:
        with pytest.raises(InputError, match=words):
            chosen_error(wrong)
    found = measured(Session(Recipe(own_target(dim=3), num_particles=20, budget=10)).advance(1), {})
    assert set(found) == set(measures.ERRORS) and np.isnan([*found.values()]).all()
    frame = Session(Recipe("linear", target_options={"dim": 4}, num_particles=50, budget=100)).advance()
    name, own = chosen_error("mean_error")
    assert name == "mean_error" and measured(frame, own)["mean_error"] == frame.metrics["mean_error"] > 0
    with pytest.raises(
        InputError,
        match="error 'perplexity' is unavailable for method 'pmd' on target 'linear'; available: .*mean_error",
    ):
        measured(frame, chosen_error("perplexity")[1])
