"""Modes of exact posteriors and the mass of an approximation in each."""

import numpy as np
import pytest

from pmdviz.densities.density import KernelDensity
from pmdviz.metrics.modes import NOWHERE, modes, watershed
from pmdviz.targets import make_target

APART = {"data_seed": 3, "num_data": 400, "sigma_x": 1.5}


@pytest.mark.parametrize("options", [{}, APART])
def test_masses_of_draws_of_the_posterior_are_those_of_its_basins(options):
    target = make_target("mixture", **options)
    draws = target.exact.sample(np.random.default_rng(0), 20_000)
    density = KernelDensity(draws, np.full(len(draws), -np.log(len(draws))), 0.02 * np.eye(2))
    masses, exact = np.array(modes(target).masses_of(density)), modes(target).masses
    errors = np.sqrt(exact * (1 - exact) / len(draws))
    assert (np.abs(masses - exact) < 4 * errors + 1e-3).all()


def test_narrow_kernels_are_not_lost_and_what_lies_elsewhere_is_missing_from_the_sum():
    found = modes(make_target("mixture", **APART))
    assert len(found.peaks) == 2 and found.peaks[0, 0] < found.peaks[1, 0] and abs(found.masses.sum() - 1) < 1e-3
    needle = KernelDensity(found.peaks[:1] + 0.0123, np.zeros(1), 1e-6 * np.eye(2))
    assert found.masses_of(needle)[0] == pytest.approx(1, abs=1e-3)
    half = KernelDensity(np.array([found.peaks[0], [6.0, 6.0]]), np.log([0.3, 0.7]), 0.05 * np.eye(2))
    assert found.masses_of(half) == pytest.approx([0.3, 0.0], abs=1e-3)


def test_one_dimension_and_one_mode():
    assert modes(make_target("gaussian")).masses == pytest.approx([1], abs=1e-6)
    two = modes(make_target("bimodal1d"))
    assert two.peaks[:, 0] == pytest.approx([-1.28, 1.28], abs=0.02) and two.masses == pytest.approx(
        [0.5, 0.5], abs=1e-6
    )


def test_watershed_by_hand():
    line = np.array([0.0, 3.0, 1.0, 1.5, 1.2, 5.0, 2.0, -9.0])  # 1.5 rises half a nat above its pass
    assert watershed(line, -5.0).tolist() == [1, 1, 1, 1, 0, 0, 0, NOWHERE] or watershed(line, -5.0).tolist() == [
        1, 1, 1, 0, 0, 0, 0, NOWHERE,
    ]  # fmt: skip
    assert watershed(line[::-1], -5.0)[3] == 0 and watershed(line, -5.0).max() == 1


def test_a_ridge_across_the_cells_is_one_mode():
    at = np.linspace(-4, 4, 81)
    x, y = np.meshgrid(at, at)
    log_p = -0.5 * ((x + y) / 3) ** 2 - 0.5 * ((x - y * 0.83) / 0.12) ** 2  # cells are 0.8 of its narrow sd
    peaks = (
        log_p[1:-1, 1:-1] > np.max([log_p[1:-1, :-2], log_p[1:-1, 2:], log_p[:-2, 1:-1], log_p[2:, 1:-1]], 0)
    ).sum()
    assert peaks > 3 and watershed(log_p, log_p.max() - 20).max() == 0
