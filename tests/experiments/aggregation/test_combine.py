import numpy as np
import pytest

from pmdviz.experiments import mixtures as combine
from pmdviz.experiments.mixtures import MODELS, Mixture, distance, squared_distance


def machines_of(name, seed, num_data, dim=3, components=3, latent=2, shards=10):
    """Models fitted to shares of data from one truth."""
    model = MODELS[name](dim, components, latent)
    rng = np.random.default_rng([seed, 0])
    truth = model.truth(np.random.default_rng(11))
    parts = np.array_split(model.sample(truth, rng, num_data), shards)
    return combine.Machines(model, [model.fit(part, rng=rng).params for part in parts], rng), np.concatenate(parts)


def bootstrap(machines, n, seed):
    return combine.Bootstrap(machines, n, np.random.default_rng([seed, n]))


def test_the_exact_average_of_gaussians_is_the_fit_to_all_data():
    machines, points = machines_of("gaussian", 0, 1000)
    found = combine.exact(machines).params
    assert squared_distance(found, machines.model.fit(points).params) < 1e-24
    # The mean of the covariances lacks the spread of the means
    means = np.array([each.means[0] for each in machines.params])
    difference = found.covs[0] - combine.linear(machines, None).params.covs[0]
    np.testing.assert_allclose(difference, np.cov(means.T, ddof=0), atol=1e-12)


@pytest.mark.parametrize("name", ["gaussian", "ppca"])
def test_no_model_near_by_is_a_better_kl_average(name):
    machines, _ = machines_of(name, 1, 2000, shards=4)
    best, model = combine.exact(machines).params, machines.model

    def total(params):
        """sum_k KL(theta_k || theta) without what does not depend on theta."""
        inverse, spread = np.linalg.inv(params.covs[0]), 0.0
        for each in machines.params:
            apart = each.means[0] - params.means[0]
            spread += np.trace(inverse @ each.covs[0]) + apart @ inverse @ apart
        return 0.5 * (spread + len(machines.params) * np.linalg.slogdet(params.covs[0])[1])

    at = model.coordinates(best)
    where, rng = at.vector(best), np.random.default_rng(0)
    for _ in range(50):
        assert total(at.params(where + 1e-3 * rng.standard_normal(len(where)))) > total(best)


def test_the_exact_average_of_mixtures_is_that_of_gauss_and_hermite():
    """By 30 x 30 nodes in each component of each machine; weighted draws are far behind, and plain ones further."""
    machines, _ = machines_of("gmm", 4, 4000, dim=2, components=2, shards=4)
    z = combine.normal_points(2000, 2)
    np.testing.assert_allclose(z.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(z.T @ z / len(z), np.eye(2), atol=1e-12)
    roots, masses = np.polynomial.hermite_e.hermegauss(30)
    nodes = np.stack(np.meshgrid(roots, roots, indexing="ij"), axis=-1).reshape(-1, 2)
    log_masses = np.log(np.multiply.outer(masses, masses).ravel())
    points, weights = [], []
    for each in machines.params:
        for share, mean, cov in zip(*each, strict=True):
            points.append(mean + nodes @ np.linalg.cholesky(cov).T)
            weights.append(np.log(share) + log_masses)
    best = machines.model.fit(np.concatenate(points), np.concatenate(weights), machines.first).params
    drawn = bootstrap(machines, 2000, 0)
    far = [distance(one(machines, drawn).params, best) for one in (combine.naive, combine.weighted)]
    near = distance(combine.exact(machines).params, best)
    assert near < 0.05 * far[1] < 0.05 * far[0], (near, far)


def test_control_is_algorithm_11():
    machines, _ = machines_of("gaussian", 2, 3000, dim=2, shards=3)
    drawn = bootstrap(machines, 40, 5)
    rows, columns = np.tril_indices(2)

    def vector(mean, cov):
        return np.concatenate([mean, cov[rows, columns]])

    total, shift = np.zeros((5, 5)), np.zeros(5)
    for each, x in zip(machines.params, drawn.draws, strict=True):
        mean, cov = each.means[0], each.covs[0]
        inverse, scores = np.linalg.inv(cov), []
        for point in x:
            z = inverse @ (point - mean)
            by_entry = 0.5 * (np.outer(z, z) - inverse)
            scores.append(np.append(z, [by_entry[0, 0], 2 * by_entry[1, 0], by_entry[1, 1]]))
        fisher = np.mean([np.outer(s, s) for s in scores], axis=0)
        total += fisher
        shift += fisher @ (vector(x.mean(axis=0), np.cov(x.T, ddof=0)) - vector(mean, cov))
    pooled = np.concatenate(drawn.draws)
    by_hand = vector(pooled.mean(axis=0), np.cov(pooled.T, ddof=0)) - np.linalg.inv(total) @ shift
    found = combine.control(machines, drawn).params
    np.testing.assert_allclose(vector(found.means[0], found.covs[0]), by_hand, rtol=1e-9, atol=1e-12)


def test_weighted_is_algorithm_12_with_weights_of_mean_1_whose_largest_are_cut():
    machines, _ = machines_of("gaussian", 3, 3000, shards=4)
    drawn, model, weights = bootstrap(machines, 200, 5), machines.model, []
    for each, x in zip(machines.params, drawn.draws, strict=True):
        again = Mixture(np.ones(1), x.mean(axis=0)[None], np.cov(x.T, ddof=0)[None])
        ratio = np.exp(model.log_density(x, each) - model.log_density(x, again))
        weights.append(ratio / ratio.mean())
    weights, points = np.concatenate(weights), np.concatenate(drawn.draws)
    assert weights.max() < combine.CAP
    found = combine.weighted(machines, drawn).params
    np.testing.assert_allclose(found.means[0], np.average(points, axis=0, weights=weights), rtol=1e-9)
    np.testing.assert_allclose(found.covs[0], np.cov(points.T, aweights=weights, ddof=0), rtol=1e-9)
    raw = [  # (0.139) as printed, no mean and no cap
        np.exp(model.log_density(x, each) - model.log_density(x, again))
        for each, x in zip(machines.params, drawn.draws, strict=True)
        for again in [Mixture(np.ones(1), x.mean(axis=0)[None], np.cov(x.T, ddof=0)[None])]
    ]
    printed = combine.weighted_printed(machines, drawn).params
    np.testing.assert_allclose(printed.means[0], np.average(points, axis=0, weights=np.concatenate(raw)), rtol=1e-9)
    assert np.abs(printed.means - found.means).max() > 1e-6
    usual = np.array([0.1, -0.3, 0.2, 0.0])
    assert np.exp(combine.capped(usual + 800)).mean() == pytest.approx(1)
    np.testing.assert_allclose(np.diff(combine.capped(usual)), np.diff(usual))
    cut = np.exp(combine.capped(np.append(np.zeros(99), 9.0)))
    before = np.append(np.ones(99), np.exp(9.0)) / np.mean(np.append(np.ones(99), np.exp(9.0)))
    assert cut.mean() == pytest.approx(1) and cut[-1] / cut[0] == pytest.approx(combine.CAP / before[0])


@pytest.mark.parametrize("name", ["gmm", "mixture_ppca", "ppca"])
def test_a_mean_of_unmatched_parameters_is_no_model_of_the_data(name):
    machines, points = machines_of(name, 5, 4000, components=2)
    best = machines.model.fit(points, start=machines.first).params
    good, bad = (distance(one(machines, None).params, best) for one in (combine.linear, combine.linear_unmatched))
    assert good < 0.02 and bad > 20 * good and bad > 0.3


def test_machines_are_matched_also_where_numbers_of_components_differ():
    machines, _ = machines_of("gmm", 6, 4000)
    order = np.array([2, 0, 1])
    switched = [each.ordered(order) if k % 2 else each for k, each in enumerate(machines.params)]
    again = combine.Machines(machines.model, switched, np.random.default_rng(0))
    assert squared_distance(combine.linear(again, None).params, combine.linear(machines, None).params) < 1e-24
    machines, _ = machines_of("gmm", 7, 3000, shards=4)
    two = MODELS["gmm"](3, 2).fit(machines.model.sample(machines.first, np.random.default_rng(0), 500)).params
    mixed = combine.Machines(machines.model, [two, *machines.params[1:]], np.random.default_rng(0))
    assert mixed.components == 3
    drawn = bootstrap(mixed, 200, 0)
    for name in ("control", "control_fresh", "linear", "linear_unmatched"):
        found, _, note = combine.combined(name, mixed, drawn)
        assert found is None and note == (
            "the machines' models have 2 and 3 components: their parameters cannot be averaged"
        )
    with pytest.raises(combine.NotApplicable):
        combine.linear(mixed, drawn)
    for name in ("naive", "weighted"):
        found, _, note = combine.combined(name, mixed, drawn)
        assert len(found.params.shares) == 3 and found.params.fault == ""


def test_too_few_draws_are_said():
    machines, _ = machines_of("gaussian", 8, 1000)
    drawn = bootstrap(machines, 3, 0)
    assert combine.weighted(machines, drawn).note.startswith("10 of 10 refits: a covariance has shrunk")
    few = combine.Machines(machines.model, machines.params[:3], np.random.default_rng(0))
    found, _, note = combine.combined("control", few, bootstrap(few, 3, 0))
    assert found is None and note == "9 draws in all do not tell the Fisher information of 9 parameters"


def test_the_parts_of_a_bootstrap_are_made_once_and_counted_for_all_that_use_them():
    machines, _ = machines_of("gaussian", 9, 1000)
    drawn = bootstrap(machines, 50, 0)
    first = combine.combined("naive", machines, drawn)
    draws = drawn.draws
    assert combine.combined("naive", machines, drawn)[0].params is first[0].params and drawn.draws is draws
    assert combine.combined("naive", machines, drawn)[1] >= drawn.seconds["draws"] + drawn.seconds["naive"]
    assert {part for each in combine.COMBINERS.values() for part in each.parts} == {
        "draws",
        "naive",
        "refits",
        "others",
    }
    assert not any((one == other).any() for one, other in zip(draws, drawn.others, strict=True))
    again = bootstrap(machines, 50, 0)
    assert np.array_equal(again.others[0], drawn.others[0]) and np.array_equal(again.draws[0], draws[0])
