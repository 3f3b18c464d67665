"""Compile every kernel once, on tiny arrays of the real types, so that a start can show its progress.

`python -m pmdviz.kernels.warmup` fills the on-disk cache and writes a line "SHARE WORDS" for each kernel.
"""

import pkgutil
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

import numpy as np

from pmdviz import kernels
from pmdviz.kernels import leave_one_out
from pmdviz.kernels.chains import hamiltonian, langevin, uniforms_of
from pmdviz.kernels.clusters import clustered, moments
from pmdviz.kernels.distances import median_distance
from pmdviz.kernels.gibbs import mixture_sweep
from pmdviz.kernels.grid import kde_on_grid, kde_on_line
from pmdviz.kernels.kde import kde_log_density
from pmdviz.kernels.leave_one_out import kernels_of
from pmdviz.kernels.likelihoods import mixture
from pmdviz.kernels.likelihoods.banana import BananaModel, banana_grad_log_likelihood, banana_log_likelihood
from pmdviz.kernels.likelihoods.bimodal import BimodalModel, bimodal_grad_log_likelihood, bimodal_log_likelihood
from pmdviz.kernels.likelihoods.gaussian import GaussianModel, gaussian_grad_log_likelihood, gaussian_log_likelihood
from pmdviz.kernels.likelihoods.mixture import mixture_grad_log_likelihood, mixture_log_likelihood, mixture_model
from pmdviz.kernels.limiting import largest_step
from pmdviz.kernels.neighbourhoods import pooled_local_covariance
from pmdviz.kernels.resampling import multinomial, residual, stratified, systematic
from pmdviz.kernels.svgd import sampled_median_distance, stein_force
from pmdviz.kernels.thinning import thinned


def _compiled_modules() -> Iterator[ModuleType]:
    """The modules of this folder that hold compiled functions."""
    for info in pkgutil.walk_packages(kernels.__path__, "pmdviz.kernels."):
        name = info.name.removeprefix("pmdviz.kernels.")
        if name == "warmup":
            continue
        module = import_module(f"pmdviz.kernels.{name}")
        if any(hasattr(item, "py_func") for item in vars(module).values()):
            yield module


MODULES = tuple(_compiled_modules())


def is_cached() -> bool:
    """Whether the on-disk cache seems to hold every kernel: an index younger than its source for each module."""
    return all(map(_has_fresh_index, MODULES))


def _has_fresh_index(module) -> bool:
    written = Path(module.__file__).stat().st_mtime
    folders = {item.stats.cache_path for item in vars(module).values() if hasattr(item, "py_func")}
    pattern = f"{module.__name__.rsplit('.', 1)[-1]}.*.nbi"
    found = (index for folder in folders if folder for index in Path(folder).glob(pattern))
    return any(index.stat().st_mtime >= written for index in found)


def warm_up(report: Callable[[float, str], object]) -> None:
    """Call every kernel once; before each, `report(fraction done, words)`, and `report(1.0, "ready")` at the end."""
    calls = list(_calls())
    for number, (words, call) in enumerate(calls):
        report(number / len(calls), words)
        call()
    report(1.0, "ready")


def _calls():
    two, log_weights, axis = np.zeros((2, 2)), np.full(2, np.log(0.5)), np.arange(2.0)
    for dim in (1, 2, 3, 5):
        particles, cholesky = np.zeros((2, dim)), np.eye(dim)
        far = particles + 1e3  # the second row takes the exact path
        yield f"density in {dim} dimensions", lambda a=(particles, log_weights, cholesky, far): kde_log_density(*a)
    yield "density on a line", lambda: kde_on_line(two[:, :1], log_weights, np.eye(1), axis)
    yield "density on a grid", lambda: kde_on_grid(two, log_weights, np.eye(2), axis, axis)
    oblique = np.array([[1.0, 0.0], [1.0, 1e-3]])
    yield "density on a grid, row by row", lambda: kde_on_grid(two, log_weights, oblique, axis, axis)
    yield "resampling", lambda: systematic(np.full(2, 0.5), 2, 0.5)
    for way in (stratified, residual, multinomial):
        yield f"{way.__name__} resampling", lambda way=way: way(np.array([0.4, 0.6]), np.full(2, 0.5))
    yield "step limit", lambda: largest_step(np.zeros(2), np.array([0.0, -9.0]), 1.0, 0.9)
    yield "moments", lambda: moments(two, np.full(2, 0.5))
    for learned in (None, np.array([0.5, 0.5])):
        yield "clusters", lambda a=learned: clustered(two, np.full(2, 0.5), np.zeros(1, np.int64), 2, a)
    for dim in (2, 3, 5):
        for exact in (False, True):
            given = kernels_of(np.zeros((2, dim)), log_weights, np.zeros((2, dim)), np.zeros(2, np.int64))
            yield (
                f"leave one out in {dim} dimensions",
                lambda a=given, way=exact: leave_one_out.leave_one_out(a, 0.5, way),
            )
    yield "thinning", lambda: thinned(np.zeros((4, 2)), 2, np.zeros(2))
    yield "neighbourhoods", lambda: pooled_local_covariance(two, axis, np.zeros(1, np.int64), np.ones(2), 2, 0.5)
    yield "median distance", lambda: median_distance(two)
    yield "median of sampled distances", lambda: sampled_median_distance(np.zeros((3, 2)), 1)
    yield "Stein force", lambda: stein_force(two, two, 1.0)
    for theta, words in ((np.zeros((mixture.FEW, 2)), ""), (two, " at few points")):
        yield f"mixture likelihood{words}", lambda a=theta: mixture_log_likelihood(a, axis, 1.0, 0.5)
        yield f"mixture gradient{words}", lambda a=theta: mixture_grad_log_likelihood(a, axis, 1.0, 0.5)
    yield "mixture sweep", lambda: mixture_sweep(axis, axis, 1.0, 0.5, 1.0, axis, axis)
    yield "Gaussian likelihood", lambda: gaussian_log_likelihood(two, two, 1.0)
    yield "Gaussian gradient", lambda: gaussian_grad_log_likelihood(two, two, 1.0)
    yield "banana likelihood", lambda: banana_log_likelihood(two, axis, 1.0, 1.0)
    yield "banana gradient", lambda: banana_grad_log_likelihood(two, axis, 1.0, 1.0)
    yield "bimodal likelihood", lambda: bimodal_log_likelihood(two[:, :1], axis, 1.0)
    yield "bimodal gradient", lambda: bimodal_grad_log_likelihood(two[:, :1], axis, 1.0)
    yield "uniforms", lambda: uniforms_of(axis)
    for module in MODULES:
        yield from getattr(module, "warm_up_calls", tuple)()
    for model, x, dim in _models():
        yield from _chain_calls(model, x, dim)
    yield "density in float32", lambda: kde_log_density(two, log_weights, np.eye(2), two, single=True)


def _chain_calls(model: tuple, x: np.ndarray, dim: int) -> Iterator[tuple[str, Callable[[], object]]]:
    name = type(model).__name__
    theta, once, ones = np.zeros(dim), np.zeros((1, dim)), np.ones(dim)
    lengths, uniforms, schedule = np.ones(1, np.int64), np.ones(1), (1, 1.0, 1.0, 0.5)
    yield f"Langevin steps, {name}", lambda: langevin(model, theta, x[None], schedule, once, ones)
    start = theta, 0.0, theta
    yield f"trajectories, {name}", lambda: hamiltonian(model, x, start, once, lengths, uniforms, 1.0, ones, ones, 1)


def _models() -> Iterator[tuple[tuple, np.ndarray, int]]:
    """A model of each type, data for it, and how long theta is."""
    x, ones = np.zeros(2), (1.0, 2.0, 1.0)
    yield mixture_model(1.0, 2, 1.0, 0.5), x, 2
    yield BananaModel(*ones, 1.0), x, 2
    yield BimodalModel(*ones), x, 1
    yield GaussianModel(*ones), np.zeros((2, 2)), 2
    for module in MODULES:
        if hasattr(module, "warm_up_model"):
            yield module.warm_up_model()


if __name__ == "__main__":
    warm_up(lambda share, words: print(f"{share:.4f} {words}", flush=True))
