import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

import pmdviz
from pmdviz.densities.density import normalise
from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.experiments import theory as formulas
from pmdviz.experiments import theory_rates as rates
from pmdviz.experiments.theory import Board, averages_allowed, mean_terms, terms, unrolled
from pmdviz.experiments.theory_rates import excess
from pmdviz.kernels.pool import set_threads
from pmdviz.methods import METHODS
from pmdviz.targets import make_target
from tests.support.own import own_target
from tests.support.tables import refused


def step_of(kl, gamma, gradient, inexactness):
    return dict(kl=kl, gamma=gamma, gradient=gradient, proved_inexactness=inexactness)


def test_theorems_by_hand():
    found = formulas.theorem2(kl=3.0, gamma=0.1, gradient_bound=4.0, inexactness=0.5)
    assert found == pytest.approx(0.5 + 0.9 * 3.0 + 0.01 * 16 / 2)
    steps = [step_of(4.0, 0.5, 2.0, 0.1), step_of(np.nan, 0.25, 4.0, 0.0)]
    np.testing.assert_allclose(unrolled(steps), [4.0, 0.1 + 2.0 + 0.5, 0.75 * 2.6 + 0.5])
    np.testing.assert_allclose(averages_allowed(steps)[1], (16 / 2 * (0.25 + 0.0625) + 0.1 + 4) / 0.75)
    for beta, dim, wanted in [(1, 1, -1 / 3), (2, 2, -1 / 3), (2, 1, -0.4), (1e9, 5, -0.5)]:
        assert formulas.kde_exponent(beta, dim) == pytest.approx(wanted)
    assert [rate.theorem for rate in formulas.rates_for("m", "bounded")] == ["Theorem 3", "Theorem 5"]
    for letters, theorems in {("m",): [], ("m", "T"): ["Theorem 5"] * 2, ("m", "one step"): ["Theorem 3", "Theorem 4"],
                              ("T", "m_t"): ["Theorem 6"]}.items():  # fmt: skip
        assert [rate.theorem for rate in formulas.RATES if rate.holds(letters)] == theorems
    assert [rate.exponent(1, 2) for rate in formulas.rates_for("T", "kl_forward")] == [-1.0]
    assert [rate.exponent(1, 2) for rate in formulas.rates_for("m", "tv")] == [-0.25]
    assert formulas.rates_for("N", "tv") == []


GAUSSIAN = Recipe("gaussian", target_options={"dim": 1}, num_particles=400, batch_size=5, budget=100)


def test_the_run_is_that_of_the_session_and_its_terms_add_up_and_join():
    rows = terms(GAUSSIAN, 6)
    session = Session(GAUSSIAN)
    for row in rows:
        before = session.frame.metrics["kl_forward"]
        frame = session.advance()
        assert (row["t"], row["gamma"]) == (frame.iteration, frame.info.step_size)
        assert row["kl"] == pytest.approx(before, abs=2e-3)
        assert row["measured"] == pytest.approx(frame.metrics["kl_forward"], abs=2e-3)
    rows = terms(GAUSSIAN, 5)
    for row, after in zip(rows, rows[1:], strict=False):
        assert row["bound"] == pytest.approx(row["kept"] + row["noise"] + row["inexactness"])
        assert row["proved"] == pytest.approx(row["kept"] + row["noise"] + row["proved_inexactness"])
        assert row["kept"] == pytest.approx((1 - row["gamma"]) * row["kl"])
        assert row["noise"] == pytest.approx(row["gamma"] ** 2 * row["gradient"] ** 2 / 2)
        assert after["kl"] == row["measured"]
    assert all(row["inexactness"] >= 0 for row in rows)


def test_the_gradient_of_a_gaussian_is_known_and_the_printed_inexactness_leaves_out_a_term():
    """Before the first step q = prior, so g = -(N/B) sum log p(x|theta): a parabola whose range is 2 ||g||."""
    recipe = GAUSSIAN.replaced(knobs={"num_particles": 50_000, "batch_size": 20, "bandwidth": 0.05})
    target = recipe.make_target()
    row = terms(recipe, 1)[0]
    theta = np.linspace(*target.view_box[0], 4001)[:, None]
    values = target.log_likelihood(theta, target.data)
    assert row["gradient"] == pytest.approx((values.max() - values.min()) / 2, rel=0.1)
    # All data, gamma = 1: the exact step is p, so what is printed is KL(q || p) and what is proved adds KL(p || q).
    knobs = {"schedule": "constant", "step_size": 1.0, "batch_size": 20, "num_particles": 100, "step_limit": 0.0}
    for row in [terms(GAUSSIAN.replaced(seed=seed, knobs=knobs), 1)[0] for seed in range(3)]:
        assert row["measured"] > 1e-6
        assert row["proved_inexactness"] == pytest.approx(row["inexactness"] + row["measured"], rel=1e-6)


def test_the_recurrence_holds_in_the_mean_whose_gradient_is_the_root_of_the_mean_square():
    rows = mean_terms([row for seed in range(4) for row in terms(GAUSSIAN.replaced(seed=seed), 6)])
    assert all(row["measured"] <= row["proved"] for row in rows)
    assert (unrolled(rows)[1:] >= [row["measured"] for row in rows]).all()
    assert unrolled(rows)[0] == rows[0]["kl"]
    one, other = terms(GAUSSIAN, 2), terms(GAUSSIAN.replaced(seed=1), 2)
    mean = mean_terms([*one, *other])[1]
    assert mean["gradient"] == pytest.approx(np.sqrt((one[1]["gradient"] ** 2 + other[1]["gradient"] ** 2) / 2))
    assert mean["noise"] == pytest.approx(mean["gamma"] ** 2 * mean["gradient"] ** 2 / 2)
    assert mean["bound"] == pytest.approx((one[1]["bound"] + other[1]["bound"]) / 2)


def test_the_averaged_iterate_of_exact_steps_is_a_mixture_of_gaussians():
    """Full batches from the prior: q_t is Gaussian, with natural parameters (1-gamma) eta_t + gamma eta_p."""
    target = GAUSSIAN.make_target()
    board, sd = Board(target), np.sqrt(target.exact.cov[0, 0])
    posterior = norm(target.exact.mean[0], sd)
    before, natural, parts, rows = normalise(board.log_prior), np.array([0.0, 1.0]), [], []
    ((low, high),) = board.grid.box
    for t, gamma in enumerate((0.5, 0.3, 0.2), start=1):
        q = norm(natural[0] / natural[1], natural[1] ** -0.5)
        parts.append((gamma, q, q.cdf(high) - q.cdf(low)))
        after = normalise((1 - gamma) * before + gamma * board.log_p)
        rows.append(board.terms(t, gamma, before, after, target.data_rows))

        def excess(x, parts=tuple(parts)):
            density = sum(g * q.pdf(x) / mass for g, q, mass in parts) / sum(g for g, _, _ in parts)
            return density * (np.log(density) - posterior.logpdf(x))

        assert rows[-1]["averaged"] == pytest.approx(quad(excess, low, high, limit=200)[0], rel=1e-4)
        before, natural = after, (1 - gamma) * natural + gamma * np.array([posterior.mean(), 1.0]) / sd**2
    assert all(row["proved_inexactness"] == pytest.approx(0, abs=1e-9) for row in rows)
    assert all(row["averaged"] <= allowed for row, allowed in zip(rows, averages_allowed(rows), strict=True))


def test_what_theorem_2_is_not_about():
    refused("about 'pmd'", terms, Recipe("gaussian", "smc"), 1)
    refused("without warm_start", terms, Recipe("gaussian", warm_start=True), 1)
    refused("an exact posterior", terms, Recipe(own_target(dim=3)), 1)


def kl(p, q):
    return float((p * np.log(p / q)).sum())


def test_p1_theorem_2_as_printed_is_false_and_the_proved_one_is_the_first_order_condition():
    """q_t = p and g = 0: the exact step stays at p, and eps_t as printed is KL(q || p)."""
    p, q = np.array([0.01, 0.99]), np.array([0.01 * np.exp(-10), 1 - 0.01 * np.exp(-10)])
    printed = kl(q, p)
    for gamma in (0.0, 0.3, 1.0):
        assert kl(p, q) > formulas.theorem2(0.0, gamma, 0.0, printed)
        proved = formulas.proved_inexactness(printed, kl(p, q), 0.0)
        assert kl(p, q) <= formulas.theorem2(0.0, gamma, 0.0, proved)
    assert (round(printed, 4), round(kl(p, q), 4)) == (0.0100, 0.0901)
    # <gamma g + log q_{t+1} - log q_t, q_{t+1} - p>, summed directly.
    rng = np.random.default_rng(0)
    p, before, after = rng.dirichlet(np.ones(6), 3)
    g, gamma = rng.normal(size=6), 0.4
    exact = before * np.exp(-gamma * g)
    exact /= exact.sum()
    direct = float(((gamma * g + np.log(after / before)) * (after - p)).sum())
    assert formulas.proved_inexactness(kl(after, exact), kl(p, after), kl(p, exact)) == pytest.approx(direct, rel=1e-12)


def test_p2_the_recurrence_of_lemma_8_falls_slower_than_the_lemma_says():
    """M = 1, KL_1 = 1; T^-eta below 1, log T / T at 1 (slope -1 + 1/log T), 1/T above."""
    for eta, at_1e5, lemma, slope in [
        (0.6, 1.04e-3, 1.8e-5, -0.6), (1.0, 6.05e-5, 1.0e-5, -0.9), (2.0, 2.00e-5, 1.33e-5, -1.0),
    ]:  # fmt: skip
        gammas = np.minimum(1.0, eta / np.arange(1, 10**5))
        values = unrolled([step_of(1.0, gamma, 1.0, 0.0) for gamma in gammas])
        early, late, printed = values[10**3 - 1], values[-1], eta**2 / (2 * eta - 1) / 10**5
        assert (late, printed) == (pytest.approx(at_1e5, rel=5e-3), pytest.approx(lemma, rel=5e-3)) and late > printed
        assert np.log(late / early) / np.log(100) == pytest.approx(slope, abs=0.01)


def test_p6_the_growth_of_the_appendix_is_too_slow_for_its_rate():
    """d = 2, beta = 1: m_t = t^(2 + d/(2 beta)) = t^3 makes Theorem 6's bound fall like T^-1/2, and t^4 like 1/T."""

    def slope(power):
        rate, values = 2 * formulas.kde_exponent(1.0, 2), []
        for n in (10**4, 10**6):
            t = np.arange(1.0, n + 1)
            values.append((t**2 * (t**power) ** rate).sum() / n**2)
        return np.log(values[1] / values[0]) / np.log(100)

    assert slope(3.0) == pytest.approx(-0.5, abs=0.01)
    assert slope(4.0) == pytest.approx(-1.0, abs=0.01)


def test_full_batches_of_pmd_contract_the_forward_kl_on_their_particles():
    """On particles that stay a full batch is an exact step: p there is the weights of posterior over prior."""
    knobs = {"policy": "never", "schedule": "constant", "step_size": 0.3, "step_limit": 0.0, "num_particles": 200}
    session = Session(Recipe("gaussian", batch_size=20, budget=100, **knobs))
    target, frame = session.target, session.frame
    p = np.exp(normalise(target.log_likelihood(frame.particles, target.data_rows)))
    for _ in range(4):
        before, frame = frame.weights, session.advance()
        log_z = np.log((before**0.7 * p**0.3).sum())
        assert log_z < 0 and kl(p, frame.weights) == pytest.approx(0.7 * kl(p, before) + log_z, rel=1e-9, abs=1e-12)


def test_every_method_has_a_line_measured_at_several_sizes_and_exponents_are_its_slopes():
    found = rates.plan()
    assert len({(line.name, size) for line, size in found}) == len(found)
    for line in rates.LINES:
        mine = [size for each, size in found if each is line]
        assert len({size.num_data for size in mine}) == len({size.dim for size in mine}) == 3
        assert len({size.m for size in mine}) == (3 if line.size else 1)
    target = make_target(rates.TARGET)
    assert {line.method for line in rates.LINES} == {name for name in METHODS if not METHODS[name].missing_in(target)}
    assert len({line.name for line in rates.LINES}) == len(rates.LINES)
    costs = [(m, 1000, 2, 0.1 * m**2, 3.0 * m) for m in (10, 20, 40)]
    costs += [(10, n, 2, 10.0 * (n / 1000) ** 0.5, 30.0) for n in (4000, 16_000)]
    costs += [(10, 1000, d, 10.0 * (d / 2) ** 3, 30.0 * (d / 2)) for d in (4, 16)]
    without_m = [(0, n, 2, 1e-3 * n**0.5, 1.0) for n in (1000, 4000)]
    columns = [*rates.Costs().columns(rates.CostsKnobs())][1:]
    tables = ([dict(zip(columns, cost, strict=True)) for cost in each] for each in (costs, without_m))
    found, of_two = map(rates.exponents, tables)
    powers = {"time_m": 2, "memory_m": 1, "time_N": 0.5, "memory_N": 0, "time_d": 3, "memory_d": 1}
    assert found == pytest.approx(powers)
    assert of_two == pytest.approx(dict.fromkeys(found) | {"time_N": 0.5, "memory_N": 0.0})
    assert all(len({size.dim for each, size in rates.plan("short") if each is line}) == 2 for line in rates.PAPERS)


@pytest.fixture
def one_thread():
    """Each helper holds a block of its own, and whether one comes to help is chance."""
    set_threads(1)
    yield
    set_threads(None)


@pytest.mark.usefixtures("one_thread")
@pytest.mark.parametrize(
    "line", [pytest.param(x, marks=() if x is rates.LINES[0] else pytest.mark.nightly, id=x.name) for x in rates.LINES]
)
def test_memory_grows_with_m_as_measured_in_bytes(line):
    few, squared = line.size == "num_components", line.method == "black_box_is"  # of all pairs, of 500 points at most
    sizes = (10, 20, 40) if few else (125, 250, 500) if squared else (200, 400, 800)
    costs = [rates.measure(line, rates.Size(m), 1) for m in (sizes if line.size else (0,))]
    assert all(cost["step_ms"] > 0 and cost["memory_kb"] > 0 for cost in costs)
    # Pairs whose distances are sampled, and leaders, have a constant part.
    if line.size and not few and line.method not in ("steinis", "path_integration", "gf_ais"):
        assert rates.exponents(costs)["memory_m"] == pytest.approx(2 if squared else 1, abs=0.25)


RNG = np.random.default_rng(5)
ROOT = RNG.standard_normal((3, 3))
A = ROOT @ ROOT.T + np.eye(3)
A /= np.linalg.eigvalsh(A)[-1]
BLOCKS = ((0, 2), (1,))


def kl_to(precision, mean, cov):
    """KL(N(mean, cov) || N(0, precision^-1))."""
    volume = np.linalg.slogdet(precision @ cov)[1]
    return 0.5 * (np.trace(precision @ cov) - len(mean) - volume + mean @ precision @ mean)


def one_step(precision, blocks, h, mean, cov):
    """Algorithm 1 on the moments of a product of Gaussians, block by block."""
    mean, cov = mean.copy(), cov.copy()
    for block in map(list, blocks):
        own = precision[np.ix_(block, block)]
        mean[block] -= 0.5 * h * precision[block] @ mean
        keep = np.eye(len(block)) - 0.5 * h * own
        cov[np.ix_(block, block)] = keep @ cov[np.ix_(block, block)] @ keep.T + h * np.eye(len(block))
    return mean, cov


def best_cov(blocks):
    """Of the product of Gaussians nearest to the target."""
    best = np.zeros((3, 3))
    for block in map(list, blocks):
        best[np.ix_(block, block)] = np.linalg.inv(A[np.ix_(block, block)])
    return best


@pytest.mark.parametrize(("blocks", "h"), [(BLOCKS, 0.1), (((0,), (1,), (2,)), 1.0), (((0, 1, 2),), 1.0)])
def test_the_exact_decrease_is_that_of_the_moments(blocks, h):
    known, mean, cov = rates.Theory(A, blocks, h), np.array([3.0, -2.0, 5.0]), 4.0 * np.eye(3)
    least = kl_to(A, np.zeros(3), best_cov(blocks))
    for value, _ in known.exact(mean, 4.0, 400 if h == 1.0 else 40):
        found = kl_to(A, mean, cov) - least
        assert value == pytest.approx(found, rel=1e-9, abs=1e-12)
        mean, cov = one_step(A, blocks, h, mean, cov)
    if h == 1.0:
        assert found == pytest.approx(known.floor, rel=1e-6)


@pytest.mark.parametrize(("blocks", "h"), [(BLOCKS, 1.5), (((0,), (1,), (2,)), 0.5), (((0, 1, 2),), 0.05)])
def test_the_bound_holds_from_everywhere_and_that_of_the_constants_is_above(blocks, h):
    known = rates.Theory(A, blocks, h)
    assert known.rate <= known.rate_of_constants < 1
    t = np.arange(61)
    for seed in range(20):
        rng = np.random.default_rng(seed)
        exact = known.exact(rng.normal(0, 5, 3), float(rng.uniform(0.1, 20)), 60)[:, 0]
        assert (exact <= known.floor + known.rate**t * (exact[0] - known.floor) + 1e-9 * exact[0]).all()


def test_the_rate_is_reached_and_the_floor_falls_like_the_square_of_h():
    """Of one block, along the flattest direction, the mean's share falls by (1 - h c/2)^2 a step: no less will do."""
    known, (c, top) = rates.Theory(A, ((0, 1, 2),), 0.3), np.linalg.eigvalsh(A)[[0, -1]]
    assert known.rate == pytest.approx((1 - 0.15 * c) ** 2) and top == pytest.approx(1.0)
    start = 1e4 * np.linalg.eigh(A)[1][:, 0]
    exact = known.exact(start, 1.0, 10)[:, 0]
    assert exact[10] / exact[0] == pytest.approx(known.rate**10, rel=1e-4)
    # h^2 sum a^2 / 64, though the variance is off by O(h).
    eigenvalues = np.concatenate([np.linalg.eigvalsh(A[np.ix_(b, b)]) for b in map(list, BLOCKS)])
    assert rates.Theory(A, BLOCKS, 0.01).floor == pytest.approx(1e-4 * (eigenvalues**2).sum() / 64, rel=0.01)
    assert excess(np.array([1.0]))[0] == 0.0
    rows = [{"t": t, "time": 0.5 * t, "measured": 100 * 0.6 ** (0.5 * t), "floor": 1e-4} for t in range(30)]
    assert rates.fall(rows, 0.5) == pytest.approx(0.6)
    assert np.isnan(rates.fall(rows[:1], 0.5))
    knobs = rates.DescentKnobs.checked({"correlation": 0.99})
    refused("step_size must be below 0.0398", rates.Descent().cases, knobs)
    assert np.isnan(rates.Theory(A, BLOCKS, 3.0).rate_of_constants)


def test_what_is_measured_of_particles_is_the_kl_of_their_moments():
    known, mean = rates.Theory(A, BLOCKS, 0.1), np.array([0.5, -1.0, 0.2])
    factor = np.diag([1.0, 2.0, 0.5])
    factor[2, 0] = 0.3
    particles = RNG.standard_normal((50_000, 3)) @ factor.T + mean
    expected = kl_to(A, mean, factor @ factor.T) - kl_to(A, np.zeros(3), best_cov(BLOCKS))
    assert known.measured(particles) == pytest.approx(expected, rel=0.02)


SHORT = {"runs": 2, "num_particles": 1500, "num_steps": 3, "looks": 30}


@pytest.mark.ci
def test_runs_fall_as_the_theory_says_and_stop_at_its_floor():
    found = pmdviz.experiment("descent", **SHORT, workers=1)
    off = np.array([(row["measured"] - row["exact"]) / row["sd"] for row in found.rows if row["t"]])
    assert len(off) == 2 * 3 * 30 and np.abs(off).max() < 6 and abs(off.mean()) < 1.5
    for entry, h in zip(found.summary, (0.8, 0.4, 0.2), strict=True):
        assert entry["h"] == h and entry["above the bound"] == 0
        floor = entry["floor"] + entry["of which m is finite"]
        assert entry["floor measured"] == pytest.approx(floor, rel=0.15, abs=2e-3)
        assert entry["measured"] < 1.05 * entry["rate per unit of time"] < 1.05 * entry["by constants"] < 1.05
    assert found.summary[0]["floor measured"] > 3 * found.summary[1]["floor measured"]
    (chart,) = found.pictures
    assert len(chart.series[0].x) == 3 and chart.slopes[0][1] == 2.0
