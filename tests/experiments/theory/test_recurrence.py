import numpy as np
import pytest

import pmdviz
from pmdviz import InputError, Recipe, Session
from pmdviz.experiments.theory.recurrence import averaged, terms, unrolled

GAUSSIAN = Recipe("gaussian", target_options={"dim": 1}, num_particles=400, batch_size=5, budget=100)


def test_the_run_is_that_of_the_session():
    rows = terms(GAUSSIAN, 6)
    session = Session(GAUSSIAN)
    for row in rows:
        before = session.frame.metrics["kl_forward"]
        frame = session.advance()
        assert (row.t, row.gamma) == (frame.iteration, frame.info.step_size)
        assert row.kl == pytest.approx(before, abs=2e-3)
        assert row.measured == pytest.approx(frame.metrics["kl_forward"], abs=2e-3)


def test_terms_add_up_and_join():
    rows = terms(GAUSSIAN, 5)
    for row, after in zip(rows, rows[1:], strict=False):
        assert row.bound == pytest.approx(row.kept + row.noise + row.inexactness)
        assert row.proved == pytest.approx(row.kept + row.noise + row.proved_inexactness)
        assert row.kept == pytest.approx((1 - row.gamma) * row.kl)
        assert row.noise == pytest.approx(row.gamma**2 * row.gradient**2 / 2)
        assert after.kl == row.measured
    assert all(row.inexactness >= 0 for row in rows)


def test_the_gradient_of_a_gaussian_is_known():
    """Before the first step q = prior, so g = -(N/B) sum log p(x|theta): a parabola whose range is 2 ||g||."""
    recipe = GAUSSIAN.replaced(knobs={"num_particles": 50_000, "batch_size": 20, "bandwidth": 0.05})
    target = recipe.make_target()
    row = terms(recipe, 1)[0]
    theta = np.linspace(*target.view_box[0], 4001)[:, None]
    values = target.log_likelihood(theta, target.data)
    assert row.gradient == pytest.approx((values.max() - values.min()) / 2, rel=0.1)


def test_an_exact_step_has_no_inexactness_and_goes_where_bayes_goes():
    """With all data in the batch and gamma = 1 the exact prox-mapping is the posterior itself."""
    knobs = {"schedule": "constant", "step_size": 1.0, "batch_size": 20, "num_particles": 20_000, "policy": "never"}
    row = terms(GAUSSIAN.replaced(knobs=knobs), 1)[0]
    assert row.kept == 0.0
    assert row.measured < 0.02 and row.inexactness < 0.02


def test_the_printed_inexactness_leaves_out_how_far_the_forward_kl_is_from_that_of_the_exact_step():
    """All data, gamma = 1: the exact step is p, so what is printed is KL(q || p) and what is proved adds KL(p || q)."""
    knobs = {"schedule": "constant", "step_size": 1.0, "batch_size": 20, "num_particles": 100, "step_limit": 0.0}
    for row in [terms(GAUSSIAN.replaced(seed=seed, knobs=knobs), 1)[0] for seed in range(3)]:
        assert row.measured > 1e-6
        assert row.proved_inexactness == pytest.approx(row.inexactness + row.measured, rel=1e-6)


def test_the_recurrence_holds_in_the_mean():
    rows = averaged([terms(GAUSSIAN.replaced(seed=seed), 6) for seed in range(4)])
    assert all(row.measured <= row.proved for row in rows)
    assert (unrolled(rows)[1:] >= [row.measured for row in rows]).all()
    assert unrolled(rows)[0] == rows[0].kl


def test_the_mean_gradient_is_the_root_of_the_mean_square():
    one, other = terms(GAUSSIAN, 2), terms(GAUSSIAN.replaced(seed=1), 2)
    mean = averaged([one, other])[1]
    assert mean.gradient == pytest.approx(np.sqrt((one[1].gradient ** 2 + other[1].gradient ** 2) / 2))
    assert mean.noise == pytest.approx(mean.gamma**2 * mean.gradient**2 / 2)
    assert mean.bound == pytest.approx((one[1].bound + other[1].bound) / 2)


def test_what_theorem_2_is_not_about():
    with pytest.raises(InputError, match="about 'pmd'"):
        terms(Recipe("gaussian", "smc"), 1)
    with pytest.raises(InputError, match="without warm_start"):
        terms(Recipe("gaussian", warm_start=True), 1)
    mine = pmdviz.custom_target(
        log_prior=lambda theta: -0.5 * (theta**2).sum(axis=1),
        log_likelihood=lambda theta, batch: -0.5 * ((theta[:, :1] - batch[:, 0]) ** 2).sum(axis=1),
        sample_prior=lambda rng, m: rng.standard_normal((m, 3)),
        data=[[0.5], [1.0]], dim=3, name="wide",
    )  # fmt: skip
    with pytest.raises(InputError, match="no exact posterior"):
        terms(Recipe(mine), 1)
