"""What `bench fit-and-aggregation` runs: experiments at settings, by the words under which they are quoted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

SEED = 800
Settings = Mapping[str, Any]


def fit(scenario: str, **knobs: Any) -> tuple[str, Settings]:
    """Rejection rates over 200 samples at each point."""
    return "goodness_of_fit", {"scenario": scenario, "draws": 500, "seed": SEED, **knobs}


def machines(model: str, **knobs: Any) -> tuple[str, Settings]:
    """Models of ten machines made into one."""
    return "aggregation", {"model": model, "repetitions": 20, **knobs}


CONFIGURATIONS: dict[str, tuple[str, Settings]] = {
    "Ising 3 x 3, T = 10": fit("ising_3x3"),
    "Ising 3 x 3, T = 20": fit("ising_3x3", temperature=20.0),
    "Ising 4 x 4, T = 10": fit("ising_4x4"),
    "Ising 10 x 10, T = 20": fit("ising_10x10", temperature=20.0),
    "Ising 10 x 10, T = 20, n varied": fit("ising_10x10", temperature=20.0, varied="num_points", num_points=800),
    "Ising 3 x 3, T = 10, n varied": fit("ising_3x3", varied="num_points", num_points=800),
    "Ising, random field": fit("ising_field", num_points=150),
    "Bernoulli RBM": fit("rbm"),
    "Bernoulli RBM, n varied": fit("rbm", varied="num_points", num_points=800),
    "Three values": fit("categorical", num_points=100),
    "Three values, n varied": fit("categorical", varied="num_points", num_points=800),
    "Gaussian, mean": fit("gaussian_mean"),
    "Gaussian, width": fit("gaussian_scale"),
    "Gaussian, width, several bandwidths": fit("gaussian_scale", bandwidth="aggregated"),
    "Ising 3 x 3, T = 10, several bandwidths": fit("ising_3x3", bandwidth="aggregated"),
    "Ising 4 x 4, T = 10, several bandwidths": fit("ising_4x4", bandwidth="aggregated"),
    "Gaussian": machines("gaussian"),
    "PPCA": machines("ppca", dim=5, latent=4, lowest=100),
    "Mixture of PPCA": machines("mixture_ppca", dim=5, latent=2, lowest=100),
    "Gaussian mixture": machines("gmm", lowest=50),
    "Gaussian mixture, counted by BIC": machines("gmm", num_data=20_000, components=5, count="bic", lowest=150),
    "Gaussian, K varied": machines("gaussian", varied="K"),
    "Gaussian, K varied at one n K": machines("gaussian", varied="K_total"),
    "Gaussian mixture, K varied": machines("gmm", varied="K", num_draws=500),
    "Gaussian, d varied": machines("gaussian", varied="dim"),
    "Gaussian mixture, d varied": machines("gmm", varied="dim", num_draws=500),
    "Gaussian mixture, N varied": machines("gmm", varied="N", lowest=5000, highest=60_000, num_draws=500),
    "PPCA, α varied": machines(
        "ppca", dim=5, latent=4, num_shards=20, varied="alpha", lowest=45, against="mle", combiners="kl"
    ),
    "Gaussian mixture of 80 coordinates, counted by BIC": machines(
        "gmm",
        dim=80,
        num_data=30_000,
        components=2,
        count="bic",
        num_shards=4,
        lowest=600,
        highest=3000,
        num_levels=2,
        combiners="kl",
        repetitions=2,
    ),
    "Gaussian mixture counted by BIC, d varied": machines(
        "gmm",
        num_data=100_000,
        count="bic",
        varied="dim",
        lowest=3,
        highest=40,
        num_draws=600,
        combiners="kl",
        repetitions=3,
    ),
    "Digits, mixture of two": machines("gmm", data="digits", components=2, num_shards=5, lowest=200, dim=5),
    "Breast cancer, mixture of two": machines(
        "gmm", data="breast_cancer", components=2, num_shards=4, lowest=200, dim=5
    ),
    "Visits to doctors, PPCA": machines("ppca", data="randhie", dim=5, latent=2, lowest=100),
    "Posterior of two modes, on shards": ("sharded_posterior", {"target": "mixture"}),
    "Linear regression, on shards": ("sharded_posterior", {"target": "linear"}),
    "Linear regression, d varied": ("dimension", {"methods": "settings", "largest_dim": 20}),
    "Two regressions, d varied": ("dimension", {"family": "two_regressions", "largest_dim": 20}),
}

QUICK: dict[str, Settings] = {
    "goodness_of_fit": {"repetitions": 20, "num_points": 100},
    "aggregation": {"repetitions": 2},
    "sharded_posterior": {"seeds": 1},
    "dimension": {"seeds": 1, "largest_dim": 3, "methods": "few"},
}
