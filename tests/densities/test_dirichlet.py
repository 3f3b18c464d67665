"""The density of topics, against SciPy's Dirichlet."""

import numpy as np
from scipy.stats import dirichlet

from pmdviz.densities.dirichlet import DirichletMixture


def mixture(m=3, words=4, topics=2):
    rng = np.random.default_rng(0)
    weights = rng.dirichlet(np.ones(m))
    return DirichletMixture(rng.uniform(0.3, 5, (m, words, topics)), np.log(weights))


def test_the_log_density_is_that_of_a_mixture_of_products():
    q = mixture()
    points = q.sample(np.random.default_rng(1), 20)
    found = [
        np.log(
            sum(
                w * np.prod([dirichlet.pdf(row, one[:, k]) for k, row in enumerate(point.reshape(2, 4))])
                for w, one in zip(q.weights, q.natural, strict=True)
            )
        )
        for point in points
    ]
    np.testing.assert_allclose(q.log_density(points), found, rtol=1e-10)


def test_draws_have_the_mean():
    q = mixture()
    draws = q.sample(np.random.default_rng(2), 40_000)
    z = (draws.mean(axis=0) - q.mean) / (draws.std(axis=0) / np.sqrt(len(draws)))
    assert np.abs(z).max() < 4.5
