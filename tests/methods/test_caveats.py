"""What a frame says when it is not to be trusted: the state alone decides, and a run that is well says nothing."""

import numpy as np
import pytest

from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session
from tests.support.own import own_target
from tests.support.tables import looped

NARROW = {"target": "gaussian", "target_options": {"num_data": 20_000, "sigma_x": 1.0}, "num_particles": 300}


FORMAT_1 = {"step_limit": 0.0, "bandwidth_rule": "local"}


def ended(**parts):
    session = Session(Recipe(**parts), metrics_every=10**6)
    session.advance(10**6)
    return session.frame


def test_a_run_whose_first_steps_left_a_few_particles_says_so_for_ever():
    """Its ESS reads high: the trap that the sentence is for."""
    frame = ended(**NARROW, **FORMAT_1, budget=6000)
    assert frame.caveat.startswith("all descend from ") and "effective particles: at iteration 1 they" in frame.caveat
    assert float(frame.caveat.split()[3]) < 4 and frame.state.fewest_at == 1
    assert frame.metrics["ess"] > 100 and frame.metrics["tv"] > 0.9


@looped("target, rule", [("mixture", "local"), ("gaussian", "shaped"), ("banana", "shaped"), ("bimodal1d", "local")])
def test_a_run_that_is_well_says_nothing(target, rule):
    assert ended(target=target, budget=8000, num_particles=500, step_limit=0.5, bandwidth_rule=rule).caveat == ""


def test_what_is_left_of_the_prior_is_the_product_of_the_shares_that_steps_keep_and_is_said():
    """q is prior x likelihood^(1 - left): of a Gaussian the sd follows from it."""
    session = Session(Recipe(target="gaussian", num_particles=3000, budget=None), metrics_every=10**6)
    assert session.frame.caveat.startswith("the starting density still has 100% of the exponent: ")
    kept = 1.0
    for _ in range(60):
        frame = session.advance()
        kept *= 1 - frame.info.step_size
        assert frame.state.prior_left == frame.info.scalars["prior_left"] == pytest.approx(kept, rel=1e-12)
        assert frame.caveat.startswith(f"the starting density still has {kept:.0%} of the exponent: ") == (kept > 0.05)
        if frame.iteration == 20:
            precision = 1 + (1 - kept) * session.target.num_data / session.target.options.sigma_x**2
            sds = np.sqrt(np.diag(frame.density.cov))
            np.testing.assert_allclose(sds, precision**-0.5, rtol=0.03)
    session.advance(20)
    assert session.frame.state.prior_left < 0.05 and session.frame.caveat == ""


def test_a_full_warm_pass_leaves_nothing_of_the_start():
    session = Session(Recipe(target="gaussian", warm_start=True, num_particles=300, budget=None), metrics_every=10**6)
    applied = 0.0
    while session.frame.state.warming:
        frame = session.advance()
        applied += frame.info.numbers["s"] * 10 / 20
        assert frame.state.prior_left == pytest.approx(1 - applied, abs=1e-12)
    assert applied == pytest.approx(1) and frame.caveat == "" == session.advance(5).caveat


@looped("knobs", [{"eta": 20.0}, {"step_limit": 0.95}, {"n0": 1000.0}, {"eta": 0.05}, {"budget": 500}])
def test_runs_whose_steps_are_limited_or_too_few_say_that_q_is_on_its_way(knobs):
    """Each is off by a TV of 0.16 to 0.8 on the mixture."""
    frame = ended(**{"target": "mixture", "num_particles": 500, "seed": 1, **knobs})
    assert frame.tv > 0.15
    assert frame.caveat == frame.method.unfinished(frame.state, frame.knobs)
    assert frame.caveat.startswith("steps shortened" if frame.limited_steps > 20 else "the starting density")


def test_the_share_of_limited_steps_falls_once_they_are_over():
    session = Session(Recipe(**NARROW, step_limit=0.9, policy="always", budget=None), metrics_every=10**6)
    share = 0.0
    for k in range(40):
        if k == 30:
            session.set(step_limit=0.0)
        frame = session.advance()
        gamma, limited = frame.info.step_size, bool(frame.info.limited)
        assert limited == (k < 30) == bool(frame.state.in_a_row)
        share = (1 - gamma) * share + gamma * limited
        assert frame.state.from_limited == pytest.approx(share, rel=1e-12)
        said = frame.method.unfinished(frame.state, frame.knobs).startswith("steps shortened")
        assert said == (share > 0.1 and frame.state.prior_left <= 0.05)
    assert share < 0.1


def linear(d, seed):
    """y ~ N(w'x, 1), x and w ~ N(0, I), whose posterior the target does not tell; its mean and covariance."""
    rng = np.random.default_rng([seed, d])
    x, w = rng.standard_normal((1000, d)), rng.standard_normal(d)
    y, covariance = x @ w + rng.standard_normal(1000), np.linalg.inv(np.eye(d) + x.T @ x)
    likelihood = lambda theta, rows: -0.5 * ((rows[:, -1] - theta @ rows[:, :-1].T) ** 2).sum(axis=1)  # noqa: E731
    target = own_target(d, "linear_regression", log_likelihood=likelihood, data=np.column_stack([x, y]))
    return target, covariance @ (x.T @ y), covariance


def arrived(target, seed, moves):
    """A frame of `smc_mcmc` after at least so many moves at temperature 1 beyond those of each temperature."""
    session = Session(
        Recipe(target=target, method="smc_mcmc", num_particles=400, seed=seed, budget=None), metrics_every=10**6
    )
    while session.frame.state.beta < 1 or session.frame.state.moves < session.knobs.num_moves:
        session.advance()
    return session.advance(moves) if moves else session.frame


@pytest.mark.parametrize("method", ["importance", "pmd"])
def test_fewer_effective_particles_than_a_shape_takes_are_named(method):
    knobs = {"policy": "never", "step_limit": 0.0} if method == "pmd" else {}
    frame = ended(
        **{**NARROW, "target_options": {"num_data": 2000, "sigma_x": 0.3}}, method=method, budget=2000, **knobs
    )
    ess = frame.metrics["ess"]
    assert ess < 4 and frame.caveat.startswith(f"{ess:.1f} effective particles: ") and "2 dimensions" in frame.caveat
    three = ended(target="gaussian", method=method, num_particles=3, budget=2000)
    assert three.caveat == three.no_density and "4 distinct points" in three.caveat, "three have none at all"


def test_weights_with_a_heavy_tail_are_named():
    """Draws of the prior, a few of which fell near the posterior: more than a shape takes, too few to trust."""
    for data_seed, heavy in ((205, True), (200, False)):
        frame = ended(method="importance", target_options={"data_seed": data_seed}, seed=data_seed)
        assert frame.metrics["ess"] > 15 and frame.caveat.startswith("k-hat 1.8: a few heavy") == heavy
        assert heavy or frame.caveat == ""


@pytest.mark.ci
@looped("method, d, moves, lost", [
    ("smc", 2, None, False), ("smc", 10, None, True), ("smc_mcmc", 5, 0, False), ("smc_mcmc", 20, 0, True),
    ("smc_mcmc", 20, 300, False),
])  # fmt: skip
def test_what_was_lost_on_the_way_is_said_and_where_nothing_was_there_is_no_word(method, d, moves, lost):
    """Its weights at the end are as even as can be; of tempering, moves on the way to 20 dimensions are too short."""
    seed = {"smc": 301, "smc_mcmc": 302}[method]
    target, mean, covariance = linear(d, seed)
    frame = ended(target=target, method=method, seed=seed) if moves is None else arrived(target, seed, moves)
    off = np.abs(frame.density.mean - mean) / np.sqrt(np.diag(covariance))
    assert (off.max() > 1) == lost and frame.caveat.startswith("all descend from ") == lost
    assert (lost or frame.caveat == "") and frame.metrics["ess"] > 300


@looped("target, options", [("sparse_gp", {}), ("topics", {"num_topics": 5, "num_data": 200})])
def test_structured_particles_say_from_the_first_step_on_that_one_of_them_decides(target, options):
    session = Session(Recipe(target=target, target_options=options, method="structured_pmd"), metrics_every=10**6)
    assert session.frame.caveat == ""
    for _ in range(5):
        frame = session.advance()
        alone = 1 / (frame.weights**2).sum() < 2
        assert alone and frame.caveat.startswith("one of 16 particles carries all weight: ")
    one = Recipe(target=target, target_options=options, method="structured_pmd", num_particles=1)
    assert Session(one, metrics_every=10**6).advance().caveat == "", "a single particle is no mixture"
