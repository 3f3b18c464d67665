"""The bounds of Dai, He, Dai, Song 2016 as formulas; logarithms are natural, divergences in nats.

Their constants depend on suprema over an unbounded space (M, C, rho), which a run cannot estimate. So a run is compared
with how a bound falls: `RATES`. Where the paper prints one thing and its proof gives another, both stand here
(docs/replication/errata.md).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from pmdviz.engine.recipe import Recipe
from pmdviz.errors import InputError
from pmdviz.experiments.base import WITH_GRID
from pmdviz.knobs import Value


def theorem2(kl: float, gamma: float, gradient_bound: float, inexactness: float = 0.0) -> float:
    """E KL(p || q_{t+1}) <= eps_t + (1 - gamma_t) E KL(p || q_t) + gamma_t^2 / 2 E ||g_t||^2.

    `kl` is KL(p || q_t), `gradient_bound` the root of the mean of ||g_t||^2 (largest absolute value, nats).
    As printed `inexactness` is eps_t of Eq. 3, KL(q_{t+1} || exact prox-mapping), and the bound is false; as proved it
    is <gradient of the prox objective at q_{t+1}, q_{t+1} - p>, see `proved_inexactness`. Source: Theorem 2.
    """
    return inexactness + (1 - gamma) * kl + 0.5 * gamma**2 * gradient_bound**2


def proved_inexactness(printed: float, kl_after: float, kl_exact: float) -> float:
    """The eps_t with which Theorem 2 holds: KL(q_{t+1} || q^) + KL(p || q_{t+1}) - KL(p || q^), q^ the exact step.

    `printed` is the first term, eps_t of Eq. 3; all in nats. The first-order condition that the proof starts from,
    <gamma g + log q_{t+1} - log q_t, q_{t+1} - q> <= eps_t, at q = p. Source: appendix B of the paper; this form ours.
    """
    return printed + kl_after - kl_exact


def theorem2_unrolled(
    first: float, gammas: Sequence[float], gradient_bounds: Sequence[float], inexactness: Sequence[float]
) -> np.ndarray:
    """Theorem 2 put into itself from KL(p || q_1) = `first`: bounds on KL(p || q_t) for t = 1 .. T + 1."""
    bounds = [first]
    for gamma, bound, eps in zip(gammas, gradient_bounds, inexactness, strict=True):
        bounds.append(theorem2(bounds[-1], gamma, bound, eps))
    return np.array(bounds)


def theorem2_averaged(
    first: float, gammas: Sequence[float], gradient_bounds: Sequence[float], inexactness: Sequence[float]
) -> float:
    """E KL(q-bar_T || p) <= (M^2/2 sum gamma_t^2 + sum eps_t + D1) / sum gamma_t.

    q-bar_T = sum gamma_t q_t / sum gamma_t; `first` is D1 = KL(p || q_1);
    M^2 is the largest E ||g_t||^2; eps_t as proved (`proved_inexactness`), nats.
    Source: Theorem 2(b), appendix B of the paper.
    """
    noise = 0.5 * max(gradient_bounds) ** 2 * float(np.square(gammas).sum())
    return float((noise + sum(inexactness) + first) / sum(gammas))


def theorem3(m: float, ratio_bound: float, largest: float = 1.0) -> float:
    """E |E_q~ f - E_q f| <= 2 sqrt(C) ||f|| / sqrt(m): m weighted prior draws, C the largest of posterior/prior.

    Source: Theorem 3 as Lemma 7 of the appendix proves it.
    """
    return 2 * np.sqrt(ratio_bound) * largest / np.sqrt(m)


def lemma8(first_kl: float, gradient_bound: float, steps: int, eta: float = 1.0) -> float:
    """Lemma 8 as printed: KL(p || q_T) <= max(KL(p || q_1), eta^2 M^2 / (2 eta - 1)) / T, eta > 1/2.

    It solves a recurrence with (1 - 2 gamma); the lemma's own has (1 - gamma): `lemma8_proved`. Source: Lemma 8.
    """
    _check_eta(eta)
    return max(first_kl, eta**2 * gradient_bound**2 / (2 * eta - 1)) / steps


def lemma8_proved(first_kl: float, gradient_bound: float, steps: int, eta: float = 1.0) -> float:
    """The value of Lemma 8's recurrence at T: KL_{t+1} = (1 - gamma) KL_t + gamma^2 M^2 / 2, gamma = min(1, eta/t).

    At most max(KL_1, eta^2 M^2 / (2 eta - 2)) / T for eta > 1; of the order log T / T at eta = 1 and T^-eta below.
    """
    gammas = np.minimum(1.0, eta / np.arange(1, steps))
    noise = np.full(len(gammas), float(gradient_bound))
    return float(theorem2_unrolled(first_kl, gammas, noise, np.zeros(len(gammas)))[-1])


def theorem5(
    m: float,
    steps: float,
    ratio_bound: float,
    likelihood_bound: float,
    gradient_bound: float,
    first_kl: float,
    eta: float = 1.0,
    largest: float = 1.0,
) -> float:
    """E |E_q~T f - E_p f| <= 2 sqrt(max(C, rho e^M)) ||f|| / sqrt(m) + max(sqrt KL(p||prior), eta M / sqrt(2 eta - 1)) ||f|| / sqrt(T).

    For gamma_t = eta / t, eta > 1/2, as printed; the second term rests on Lemma 8 and on Pinsker's inequality without
    its factor 2: `theorem5_proved`. Raises InputError for another eta. Source: Theorem 5.
    """  # noqa: E501
    _check_eta(eta)
    sampling = _sampling(m, ratio_bound, likelihood_bound, gradient_bound, largest)
    optimisation = max(np.sqrt(first_kl), eta * gradient_bound / np.sqrt(2 * eta - 1))
    return sampling + optimisation * largest / np.sqrt(steps)


def theorem5_proved(
    m: float,
    steps: int,
    ratio_bound: float,
    likelihood_bound: float,
    gradient_bound: float,
    first_kl: float,
    eta: float = 1.0,
    largest: float = 1.0,
) -> float:
    """The bound that the proof of Theorem 5 gives: 2 sqrt(max(C, rho e^M)) ||f|| / sqrt(m) + sqrt(2 KL_T) ||f||.

    KL_T is `lemma8_proved`; Pinsker: ||p - q||_1 <= sqrt(2 KL(p || q)).
    """
    sampling = _sampling(m, ratio_bound, likelihood_bound, gradient_bound, largest)
    return sampling + np.sqrt(2 * lemma8_proved(first_kl, gradient_bound, steps, eta)) * largest


def _sampling(m: float, ratio_bound: float, likelihood_bound: float, gradient_bound: float, largest: float) -> float:
    """The first term of Theorem 5, of finitely many particles."""
    return theorem3(m, max(ratio_bound, likelihood_bound * np.exp(gradient_bound)), largest)


def _check_eta(eta: float) -> None:
    if not eta > 0.5:
        raise InputError(f"Theorem 5 needs eta above 0.5; got {eta!r}")


def kde_exponent(smoothness: float, dim: int) -> float:
    """-beta / (d + 2 beta): how the L1 error of a weighted KDE falls with m at the best bandwidth (Theorem 4)."""
    return -smoothness / (dim + 2 * smoothness)


def theorem6(
    particles: Iterable[float],
    dim: int,
    smoothness: float,
    first_kl: float,
    gradient_bound: float,
    c1: float,
    c2: float,
) -> float:
    """E KL(p || q_T) <= 2 max(D1, M^2)/T + C1 sum_t t^2 m_t^(-2b/(d+2b)) / T^2 + C2 m_T^(-b/(d+2b)), b = beta.

    `particles` are m_1 .. m_T. Source: Theorem 6, as printed; its constants C1 and C2 are not given there. It rests on
    Theorem 2: with that theorem's eps_t as proved the exponent in the sum is -b/(d+2b).
    """
    m = np.array(list(particles), float)
    t, rate = np.arange(1, len(m) + 1), kde_exponent(smoothness, dim)
    stochastic = 2 * max(first_kl, gradient_bound**2) / len(m)
    return float(stochastic + c1 * (t**2 * m ** (2 * rate)).sum() / len(m) ** 2 + c2 * m[-1] ** rate)


class Rate(NamedTuple):
    """How one bound, or a term of it, falls: error ~ x^exponent(beta, d), with a constant that is not known.

    `whole` are the letters that must grow together for the whole bound to fall so; () where no choice of the page makes
    it do that, and the slope belongs to one term.
    """

    theorem: str
    x: str  # "m" particles, "T" steps
    errors: tuple[str, ...]  # which errors it is about, by their names in a sweep
    exponent: Callable[[float, int], float]
    words: str
    whole: tuple[str, ...] = ()

    def holds(self, letters: Iterable[str]) -> bool:
        """Whether the whole bound falls so while these letters grow together."""
        return bool(self.whole) and {*self.whole} <= {*letters}


ONE_STEP = "one step, against the exact q of that step"
THEOREM5 = "as printed, m and T in step; its proof gives √(log T / T) for the second term at η = 1"
RATES = (
    Rate("Theorem 3", "m", ("bounded",), lambda beta, d: -0.5, ONE_STEP, ("m", "one step")),
    Rate("Theorem 4", "m", ("tv",), kde_exponent, ONE_STEP, ("m", "one step")),
    Rate("Theorem 5", "m", ("bounded",), lambda beta, d: -0.5, THEOREM5, ("m", "T")),
    Rate("Theorem 5", "T", ("bounded",), lambda beta, d: -0.5, THEOREM5, ("m", "T")),
    Rate("Theorem 6", "m", ("kl_forward",), kde_exponent, "the part of the KDE, which T does not take away"),
    Rate("Theorem 6", "T", ("kl_forward",), lambda beta, d: -1.0, "needs m_t growing like t^(2+d/β) in each run",
         ("T", "m_t")),
)  # fmt: skip


def rates_for(x: str, error: str) -> list[Rate]:
    """The bounds that say how `error` falls with `x` ("m" or "T")."""
    return [rate for rate in RATES if rate.x == x and error in rate.errors]


# The quantities that the Theory page can vary: recipes whose error a theorem bounds, with the values to try.

SIZES = (64, 128, 256, 512, 1024, 2048)
STEPS = (16, 32, 64, 128, 256, 512)
DATA = (40, 80, 160, 320, 640, 1280)
GROWN_FROM, GROWN_STEPS = 10, {1: (2, 3, 4, 6, 8, 12), 2: (2, 3, 4, 5, 6, 7)}  # m_1, and T by dimension d
# beta: what the paper counts a Gaussian kernel as; the bounds' slopes and the KDE's bandwidth go by it
SMOOTHNESS = 1.0
FIXED_SIZE, FIXED_STEPS, PARTS = 512, 200, 20  # m and T where they are not varied; batches in a pass


class Strategy(NamedTuple):
    """A way to carry q, and the theorems of the paper that cover it as it is run here."""

    title: str
    knobs: dict[str, Value]
    theorems: tuple[str, ...] = ()


STRATEGIES: dict[str, Strategy] = {
    "particles": Strategy(
        "weighted particles, γ = 1/t (Theorem 5)",
        {"policy": "never", "eta": 1.0, "n0": 0.0, "kappa": 1.0, "step_limit": 0.0, "bandwidth_rule": "local",
         "draws": "independent", "batches": "replacement"},
        ("Theorem 2", "Theorem 3", "Theorem 5"),
    ),
    "kde": Strategy(
        "weighted KDE, γ = 2/(t+1) (Theorem 6)",
        {"policy": "always", "eta": 2.0, "n0": 1.0, "kappa": 1.0, "step_limit": 0.0, "bandwidth_rule": "covariance",
         "smoothness": SMOOTHNESS, "draws": "independent", "resampler": "multinomial", "batches": "replacement"},
        ("Theorem 2", "Theorem 4", "Theorem 6"),
    ),
    # Balanced draws are not independent, an epoch's batches neither, and a limited step size depends on its batch
    "ours": Strategy("our default: new particles when the ESS falls", {}),
}  # fmt: skip


class Varied(NamedTuple):
    """One thing to vary. `over` gives the lists that go side by side, for a batch of B, N data and d dimensions."""

    title: str
    letters: tuple[str, ...]  # which of m, T, N change, and what else a bound needs
    column: str  # of the sweep's rows, for the x axis
    axis: str
    over: Callable[[int, int, int], dict[str, list[Value]]]


def _all(**values: Value) -> dict[str, list[Value]]:
    """The same values in every run."""
    return {name: [value] * len(SIZES) for name, value in values.items()}


VARIED: dict[str, Varied] = {
    "m": Varied(
        "particles m", ("m",), "num_particles", "particles m",
        lambda batch, n, d: {"num_particles": [*SIZES], "budget": [FIXED_STEPS * batch] * len(SIZES)},
    ),
    "one_step": Varied(
        "particles m, one step on all data", ("m", "one step"), "num_particles", "particles m",
        lambda batch, n, d: {"num_particles": [*SIZES],
                             **_all(budget=n, batch_size=n, batches="epochs", schedule="constant", step_size=1.0)},
    ),
    "T": Varied(
        "steps T", ("T",), "iterations", "steps T",
        lambda batch, n, d: {"budget": [t * batch for t in STEPS], **_all(num_particles=FIXED_SIZE)},
    ),
    "grown": Varied(
        "steps T, particles growing like t^(2+d)", ("T", "m_t"), "iterations", "steps T",
        lambda batch, n, d: {"budget": [t * batch for t in GROWN_STEPS[d]],
                             **_all(num_particles=GROWN_FROM, growth="power", growth_exponent=2.0 + d,
                                    most_particles=GROWN_FROM * GROWN_STEPS[d][-1] ** (2 + d))},
    ),
    "mT": Varied(
        "m and T = m together", ("m", "T"), "num_particles", "particles m = steps T",
        lambda batch, n, d: {"num_particles": [*SIZES], "budget": [m * batch for m in SIZES]},
    ),
    "N": Varied(
        "data N", ("N",), "num_data", "data N",
        lambda batch, n, d: {"num_data": [*DATA], "batch_size": [size // PARTS for size in DATA],
                          "budget": [FIXED_STEPS * size // PARTS for size in DATA]},
    ),
}  # fmt: skip


def planned_runs(target: str, strategy: str, varied: str) -> tuple[Recipe, dict[str, list[int]]]:
    """The recipe and the settings varied together. Each batch holds a twentieth of all data rows.

    Raises InputError for a target without an exact posterior on a grid.
    """
    options = {"dim": 1} if target == "gaussian" else {}
    made = Recipe(target, target_options=options).make_target()
    if made.planar is None:
        raise InputError(f"target {target!r} has no exact posterior on a grid; {WITH_GRID}", "target")
    batch = max(1, made.num_data // PARTS)
    knobs = {**STRATEGIES[strategy].knobs, "batch_size": batch, "num_particles": FIXED_SIZE}
    recipe = Recipe(target, "pmd", target_options=options, **knobs)
    return recipe, VARIED[varied].over(batch, made.num_data, made.dim)
