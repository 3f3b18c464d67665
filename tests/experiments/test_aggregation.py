import sys

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment
from scipy.stats import multivariate_normal

import pmdviz
from pmdviz.experiments import TooMuch
from pmdviz.experiments import mixtures as combine
from pmdviz.experiments.aggregation import VARIED, Aggregation, Block, principal_scores, read_points
from pmdviz.experiments.mixtures import MODELS, Mixture, distance, squared_distance
from pmdviz.targets import rows as data_rows
from tests.support.tables import refused


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


def test_no_model_near_by_is_a_better_kl_average():
    machines, _ = machines_of("ppca", 1, 2000, shards=4)
    best, model = combine.exact(machines).params, machines.model

    def total(params):
        """sum_k KL(theta_k || theta) without what does not depend on theta."""
        inverse, spread = np.linalg.inv(params.covs[0]), 0.0
        for each in machines.params:
            apart = each.means[0] - params.means[0]
            spread += np.trace(inverse @ each.covs[0]) + apart @ inverse @ apart
        return 0.5 * (spread + len(machines.params) * np.linalg.slogdet(params.covs[0])[1])

    at = combine.Coordinates(model.covariances, best)
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
    far = [distance(one.params, best) for one in (drawn.naive, combine.weighted(machines, drawn))]
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
    drawn, model, raw = bootstrap(machines, 200, 5), machines.model, []
    for each, x in zip(machines.params, drawn.draws, strict=True):
        again = Mixture(np.ones(1), x.mean(axis=0)[None], np.cov(x.T, ddof=0)[None])
        raw.append(np.exp(model.log_density(x, each) - model.log_density(x, again)))  # (0.139) as printed
    weights, points = np.concatenate([ratio / ratio.mean() for ratio in raw]), np.concatenate(drawn.draws)
    assert weights.max() < combine.CAP
    found = combine.weighted(machines, drawn).params
    np.testing.assert_allclose(found.means[0], np.average(points, axis=0, weights=weights), rtol=1e-9)
    np.testing.assert_allclose(found.covs[0], np.cov(points.T, aweights=weights, ddof=0), rtol=1e-9)
    printed = combine.weighted(machines, drawn, printed=True).params
    np.testing.assert_allclose(printed.means[0], np.average(points, axis=0, weights=np.concatenate(raw)), rtol=1e-9)
    assert np.abs(printed.means - found.means).max() > 1e-6
    usual = np.array([0.1, -0.3, 0.2, 0.0])
    assert np.exp(combine.capped(usual + 800)).mean() == pytest.approx(1)
    np.testing.assert_allclose(np.diff(combine.capped(usual)), np.diff(usual))
    cut = np.exp(combine.capped(np.append(np.zeros(99), 9.0)))
    before = np.append(np.ones(99), np.exp(9.0)) / np.mean(np.append(np.ones(99), np.exp(9.0)))
    assert cut.mean() == pytest.approx(1) and cut[-1] / cut[0] == pytest.approx(combine.CAP / before[0])


@pytest.fixture
def rng():
    return np.random.default_rng(1)


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
    drawn = bootstrap(mixed, 200, 0)
    for name in ("control", "control_fresh", "linear", "linear_unmatched"):
        found, _, note = combine.combined(name, mixed, drawn)
        assert found is None and "2 and 3 components: their parameters cannot be averaged" in note
    for name in ("naive", "weighted"):
        found, _, note = combine.combined(name, mixed, drawn)
        assert len(found.params.shares) == mixed.components == 3 and found.params.fault == ""


MADE = Aggregation()
SMALL = {"num_data": 2000, "num_shards": 4, "lowest": 50, "highest": 200, "num_levels": 2, "repetitions": 2}
MIXTURE = {**SMALL, "model": "gmm", "dim": 2, "components": 2}


def rows_of(knobs):
    chosen = MADE.Knobs.checked(knobs)
    return chosen, [row for case in MADE.cases(chosen) for row in MADE.run(case)]


def test_one_repetition_has_all_numbers_of_draws_and_each_value_is_a_case():
    chosen, rows = rows_of(SMALL)
    assert [case["draws"] for case in MADE.cases(chosen)] == [[50, 200]] * 2
    mine = [(row["combiner"], row["num_draws"]) for row in rows if row["seed"] == 1]
    assert mine == [
        ("naive", 50), ("control", 50), ("control_fresh", 50), ("weighted", 50), ("weighted_printed", 50),
        ("naive", 200), ("control", 200), ("control_fresh", 200), ("weighted", 200), ("weighted_printed", 200),
        ("linear", 0), ("exact", 0), ("mle", 0),
    ]  # fmt: skip
    by_name = {(row["combiner"], row["num_draws"]): row for row in rows if row["seed"] == 1}
    assert by_name["exact", 0]["error"] == 0 and by_name["mle", 0]["gap"] == by_name["mle", 0]["error_mle"] == 0
    assert by_name["naive", 200]["error_truth"] > by_name["mle", 0]["error_truth"] > 0
    assert by_name["naive", 50]["gap"] > by_name["linear", 0]["gap"]
    assert by_name["control", 50]["error"] != by_name["control_fresh", 50]["error"]
    keys = {"K": "num_shards", "K_total": "num_shards", "N": "num_data", "dim": "dim"}
    assert {*keys} == {*VARIED} - {"n", "alpha"}
    for varied, key in keys.items():
        chosen = MADE.Knobs.checked({"varied": varied, "num_draws": 120, "num_shards": 6, "repetitions": 1})
        cases = MADE.cases(chosen)
        assert [case[key] for case in cases] == chosen.levels and len(cases) == 4, varied
        draws = [case["draws"][0] * (case["num_shards"] if varied == "K_total" else 1) for case in cases]
        assert np.allclose(draws, 720 if varied == "K_total" else 120, rtol=0.05), varied
    chosen = MADE.Knobs.checked({"varied": "alpha", "lowest": 50, "num_levels": 2, "num_data": 40_000, "num_shards": 4})
    assert [case["draws"] for case in MADE.cases(chosen)] == [[100, 1585]] * 10  # 10,000 to the power 0.5, and 0.8


def test_the_slopes_stand_beside_theory():
    chosen = MADE.Knobs.checked(SMALL)
    rows = [
        {"combiner": name, "num_draws": n, "error": 5.0 * n**-power, "gap": 0.1 / n, "note": "odd" if n == 50 else ""}
        for name, power in (("naive", 1), ("weighted", 2))
        for n in (50, 100, 200)
    ]
    plain, noted, by_weights, _ = MADE.summary(rows, chosen)
    assert plain["slope"] == pytest.approx(-1) == plain["theory"] and by_weights["slope"] == pytest.approx(-2)
    assert noted == {"what": "KL, plain draws: 1 of 3 rows", "note": "odd"}
    errors, gaps = MADE.pictures(rows, chosen)
    assert [slope for _, slope in errors.slopes] == [-1, -2] and errors.y_log and gaps.y_log
    rows[2]["gap"] = -0.1  # better than the fit to all data: no place on a log axis
    gaps = MADE.pictures(rows, chosen)[1]
    assert not gaps.y_log and gaps.series[0].y[-1] == -0.1


@pytest.mark.ci
def test_components_counted_on_each_machine():
    chosen, rows = rows_of({**MIXTURE, "count": "bic", "num_data": 1200, "repetitions": 1})
    counts = [len(each.shares) for each in Block(MADE.cases(chosen)[0]).machines.params]
    weighted = [row for row in rows if row["combiner"] == "weighted"]
    assert counts.count(2) >= 3 and {row["components"] for row in weighted} == {2}
    assert all(row["error"] < 1 for row in weighted if row["num_draws"] == 200)


TABLES = [("breast_cancer", 455, 30), *(pytest.param(*each, marks=pytest.mark.ci)
                                        for each in [("digits", 1437, 61), ("randhie", 16_152, 9)])]  # fmt: skip


@pytest.mark.parametrize("source, most, columns", TABLES)
def test_carried_tables(source, most, columns):
    few = {"repetitions": 1, "num_levels": 1, "lowest": 300, "num_shards": 2, "dim": 5}
    _, rows = rows_of({"data": source, **few})
    assert {row["num_data"] for row in rows} == {most} and np.isnan(rows[0]["error_truth"])
    scores = principal_scores(source)
    assert scores.shape[1] == columns and scores[:, 0].std() == pytest.approx(1)
    cov = scores.T @ scores / len(scores)
    assert np.abs(cov - np.diag(np.diag(cov))).max() < 1e-9 and (np.diff(np.diag(cov)) < 1e-9).all()
    points = read_points(source, MODELS["gaussian"](5), 10**9, 3)
    together = np.concatenate([points.train, points.test])
    assert len(points.test) == len(scores) - most
    np.testing.assert_allclose(np.sort(together, axis=0), np.sort(scores[:, :5], axis=0))


@pytest.mark.filterwarnings("ignore::pmdviz.errors.InputWarning")
def test_a_file_of_ones_own(tmp_path):
    rng = np.random.default_rng(0)
    correlated = rng.normal(size=(500, 4)) @ rng.normal(size=(4, 4))
    path = tmp_path / "covtype.csv"
    np.savetxt(path, np.column_stack([correlated, np.ones(500), rng.integers(0, 7, 500)]), delimiter=",")
    given = {"data": str(path), "num_shards": 3, "repetitions": 1, "workers": 1}
    found = pmdviz.experiment("aggregation", dim=4, **given)
    assert not found.failed and found.rows[0]["num_data"] == 400 and found.knobs["data"].startswith(str(path))
    # The fifth column does not vary.
    refused("dim must be at most 4 with data", pmdviz.experiment, "aggregation", dim=5, **given)


def test_what_cannot_be_used_or_is_missing_is_said(monkeypatch):
    for knobs, words in [
        ({"lowest": 2000}, "lowest must be at most highest, 1,000; got 2,000"),
        ({"model": "ppca", "varied": "dim"}, "latent must be below the dimension, 2; got 2"),
        ({"data": "breast_cancer", "model": "gmm"}, "num_data must be at least 1,980: .*; got 455"),
        ({"data": "digits", "against": "truth"}, "a table has no true parameters; set against to exact or mle"),
        ({"data": "nowhere.csv"}, "cannot be read"),
        ({"data": "covtype"}, "data must be simulated, digits"),
    ]:
        refused(words, pmdviz.experiment, "aggregation", **knobs)
    monkeypatch.setitem(sys.modules, "statsmodels", None)
    monkeypatch.setattr(data_rows, "find_spec", lambda name: None)
    for cached in (principal_scores, data_rows._of_statsmodels):
        cached.cache_clear()
    refused(r"pmdviz\[surveys\]", pmdviz.experiment, "aggregation", data="randhie")


def test_what_is_too_large_is_refused_and_cases_that_choose_cost_more(monkeypatch):
    monkeypatch.setattr(Aggregation, "run", lambda self, case: pytest.fail("it has begun"))
    monkeypatch.setattr("pmdviz.experiments.free_megabytes", lambda: 16_000.0)
    for knobs in ({"num_data": 10**9}, {"num_data": 10**12, "model": "gmm"}, {"varied": "N", "highest": 10**10}):
        with pytest.raises(TooMuch, match="of memory, and 16 GB are free; make it smaller$"):
            pmdviz.experiment("aggregation", **knobs, workers=1, insist=True)
    case = MADE.cases(MADE.Knobs.checked({"model": "gmm"}))[0]
    known, chosen = (MADE.size(case | {"count": count, "components": 1}) for count in ("known", "bic"))
    assert known.seconds < chosen.seconds and known.megabytes < chosen.megabytes


def test_what_is_no_density_has_a_note_and_no_likelihood():
    _, rows = rows_of({**MIXTURE, "components": 3, "num_data": 3000, "num_shards": 2, "lowest": 12, "highest": 12,
                       "num_levels": 1, "repetitions": 3})  # fmt: skip
    odd = [row for row in rows if np.isnan(row["gap"])]
    assert odd and all(row["note"] and row["combiner"].startswith("control") for row in odd)


FAMILIES = {name: model(4, 3, 2) for name, model in MODELS.items()}
TRUTHS = {name: model.truth(np.random.default_rng(7)) for name, model in FAMILIES.items()}
every_model = pytest.mark.parametrize("name", MODELS)


def same(one, other, **tolerance):
    for a, b in zip(one, other, strict=True):
        np.testing.assert_allclose(a, b, **tolerance)


@every_model
def test_a_family_has_scipys_density_its_moments_scores_and_best_fit(name, rng):
    model, truth = FAMILIES[name], TRUTHS[name]
    points = rng.normal(0, 4, (50, 4))
    parts = [w * multivariate_normal(m, c).pdf(points) for w, m, c in zip(*truth, strict=True)]
    np.testing.assert_allclose(np.exp(model.log_density(points, truth)), np.sum(parts, axis=0), rtol=1e-9)

    points = model.sample(truth, np.random.default_rng(3), 40_000)
    squares = points[:, :, None] * points[:, None, :]
    for found, moment in zip((points, squares), truth.moments, strict=True):
        assert (np.abs(found.mean(axis=0) - moment) < 5 * found.std(axis=0) / 200).all()

    other = model.fit(model.sample(truth, rng, 400), start=truth).params
    at, points = combine.Coordinates(model.covariances, truth), model.sample(truth, rng, 6)
    where = at.vector(other)
    assert len(where) == model.num_params()
    same(at.params(where), other, rtol=1e-9, atol=1e-9)
    value = lambda vector: model.log_density(points, at.params(vector))  # noqa: E731
    slopes = [(value(where + h) - value(where - h)) / 2e-5 for h in 1e-5 * np.eye(len(where))]
    np.testing.assert_allclose(at.score(points, other), np.transpose(slopes), rtol=1e-5, atol=1e-7)

    points, weights = model.sample(truth, np.random.default_rng(5), 800), np.random.default_rng(6).uniform(0.2, 3, 800)
    fit = model.fit(points, np.log(weights) + 700, start=truth)  # whatever they sum up to
    scores = combine.Coordinates(model.covariances, fit.params).score(points, fit.params)
    assert fit.note == "" and np.abs(weights @ scores).max() / weights.sum() < 2e-4


def test_what_degenerates_and_what_is_no_density_is_said(rng):
    gaussian, gmm = FAMILIES["gaussian"], FAMILIES["gmm"]
    flat = rng.normal(size=(3, 4))  # 3 points in 4 dimensions
    fit = gaussian.fit(flat)
    assert fit.note == combine.FLOOR_HIT and fit.params.fault == ""
    assert gmm.fit(np.repeat(flat, 4, axis=0), rng=rng).note == combine.FLOOR_HIT
    points = rng.normal(size=(500, 4))  # one component too many, which EM takes long over
    weights = np.full(len(points), 1 / len(points))
    start = combine.beginning(points, weights, gmm.components, gmm.covariances, rng)
    assert combine.maximise(points, weights, start, gmm.covariances, 1).note == combine.NOT_CONVERGED
    refused("log weights must be numbers", gaussian.fit, points, np.full(500, np.nan))
    refused("one of them finite", gaussian.fit, points, np.full(500, -np.inf))
    truth = TRUTHS["gmm"]
    at = combine.Coordinates(gmm.covariances, truth)
    vector = at.vector(truth)
    assert truth.fault == at.params(vector).fault == ""
    assert at.params(vector - np.eye(len(vector))[0]).fault == "a component's share is negative"
    assert "positive definite" in at.params(np.append(vector[:-1], -1.0)).fault


def test_matching_is_scipys_assignment_of_the_least_symmetric_kl(rng):
    for c in (1, 2, 3, 8, 15) * 10:
        costs = rng.normal(size=(c, c)) * 10
        found, (rows, columns) = combine.assignment(costs), linear_sum_assignment(costs)
        assert sorted(found) == list(range(c))
        assert costs[np.arange(c), found].sum() == pytest.approx(costs[rows, columns].sum()), c
    truth = TRUTHS["gmm"]
    same(combine.matched(truth.ordered(np.array([2, 0, 1])), truth), truth)
    assert combine.distance(truth.ordered(np.array([1, 0, 2])), truth) == 0
    moved = combine.Mixture(truth.shares, truth.means + [1.0, 0, 0, 0], truth.covs)
    assert combine.distance(moved, truth) == pytest.approx(3)
    assert np.isnan(combine.distance(truth, TRUTHS["gaussian"]))
    one, other = TRUTHS["gmm"], TRUTHS["mixture_ppca"]

    def kl(m, S, n, T):
        inside = np.trace(np.linalg.solve(T, S)) + (n - m) @ np.linalg.solve(T, n - m) - len(m)
        return 0.5 * (inside + np.linalg.slogdet(T)[1] - np.linalg.slogdet(S)[1])

    for a in range(3):
        for b in range(3):
            first, second = (one.means[a], one.covs[a]), (other.means[b], other.covs[b])
            assert combine.symmetric_kl(one, other)[a, b] == pytest.approx(kl(*first, *second) + kl(*second, *first))
