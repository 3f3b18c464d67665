"""Compile every kernel once, on tiny arrays of the real types, so that a start can show its progress.

`python -m pmdviz.kernels.warmup` fills the on-disk cache and writes a line for each kernel, and the line FIRST where
those of the first picture are done; with `K N` it fills the K-th of N parts, from 0.
"""

import os
import pkgutil
import sys
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
from pmdviz.kernels.factors import precision
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
from pmdviz.kernels.random_walk import metropolis
from pmdviz.kernels.resampling import multinomial, residual, stratified, systematic
from pmdviz.kernels.stein.svgd import sampled_median_distance, stein_force
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
FIRST = "first"
GIVES_WAY = 5  # niceness of a process that compiles while somebody already looks at the first picture

Calls = list[tuple[str, Callable[[], object]]]


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
    call_each([*first_calls(), *other_calls()], report)
    report(1.0, "ready")


def call_each(calls: Calls, report: Callable[[float, str], object]) -> None:
    """Make the calls; before each, `report(fraction done, words)`."""
    for number, (words, call) in enumerate(calls):
        report(number / len(calls), words)
        call()


def compile_part(number: int, parts: int, say: Callable[[str], object]) -> None:
    """Every `parts`-th call from `number` on, those of the first picture first; `say` each one's words, and FIRST."""
    call_each(first_calls()[number::parts], lambda share, words: say(words))
    say(FIRST)
    if hasattr(os, "nice"):
        os.nice(GIVES_WAY)
    call_each(other_calls()[number::parts], lambda share, words: say(words))


def first_calls() -> Calls:
    """What the first picture of the usual run needs; every second one together takes half of the time to compile."""
    return list(_first_calls())


def other_calls() -> Calls:
    """What all else needs."""
    return list(_other_calls())


def _density_call(dim: int) -> tuple[str, Callable[[], object]]:
    particles, cholesky, log_weights = np.zeros((2, dim)), np.eye(dim), np.full(2, np.log(0.5))
    far = particles + 1e3  # the second row takes the exact path
    return f"density in {dim} dimensions", lambda: kde_log_density(particles, log_weights, cholesky, far)


def _leave_one_out_call(dim: int, exact: bool) -> tuple[str, Callable[[], object]]:
    points, log_weights, labels = np.zeros((2, dim)), np.full(2, np.log(0.5)), np.zeros(2, np.int64)

    def call() -> object:
        return leave_one_out.leave_one_out(kernels_of(points, log_weights, points, labels), 0.5, exact)

    return f"leave one out in {dim} dimensions", call


def _mixture_calls() -> Iterator[tuple[str, Callable[[], object]]]:
    axis = np.arange(2.0)
    for theta, words in ((np.zeros((mixture.FEW, 2)), ""), (np.zeros((2, 2)), " at few points")):
        yield f"mixture likelihood{words}", lambda a=theta: mixture_log_likelihood(a, axis, 1.0, 0.5)


def _first_calls() -> Iterator[tuple[str, Callable[[], object]]]:
    two, halves, log_weights, axis = np.zeros((2, 2)), np.full(2, 0.5), np.full(2, np.log(0.5)), np.arange(2.0)
    yield "clusters", lambda: clustered(two, halves, np.zeros(1, np.int64), 2, halves)
    yield _density_call(2)
    yield "density on a grid", lambda: kde_on_grid(two, log_weights, np.eye(2), axis, axis)
    yield _leave_one_out_call(2, exact=False)
    at_many, at_few = _mixture_calls()
    yield at_many
    yield "thinning", lambda: thinned(np.zeros((4, 2)), 2, np.zeros(2))
    yield at_few
    yield "resampling", lambda: systematic(halves, 2, 0.5)
    yield "moments", lambda: moments(two, halves)
    yield "factors of small matrices", lambda: precision(np.eye(2))


def _other_calls() -> Iterator[tuple[str, Callable[[], object]]]:
    two, log_weights, axis = np.zeros((2, 2)), np.full(2, np.log(0.5)), np.arange(2.0)
    yield "step limit", lambda: largest_step(np.zeros(2), np.array([0.0, -9.0]), 1.0, 0.9)
    yield _leave_one_out_call(2, exact=True)
    for dim in (1, 3, 5):
        yield _density_call(dim)
    yield "density on a line", lambda: kde_on_line(two[:, :1], log_weights, np.eye(1), axis)
    oblique = np.array([[1.0, 0.0], [1.0, 1e-3]])
    yield "density on a grid, row by row", lambda: kde_on_grid(two, log_weights, oblique, axis, axis)
    for way in (stratified, residual, multinomial):
        yield f"{way.__name__} resampling", lambda way=way: way(np.array([0.4, 0.6]), np.full(2, 0.5))
    yield "clusters of all", lambda: clustered(two, np.full(2, 0.5), np.zeros(1, np.int64), 2, None)
    for dim in (3, 5):
        for exact in (False, True):
            yield _leave_one_out_call(dim, exact)
    yield "neighbourhoods", lambda: pooled_local_covariance(two, axis, np.zeros(1, np.int64), np.ones(2), 2, 0.5)
    yield "median distance", lambda: median_distance(two)
    yield "median of sampled distances", lambda: sampled_median_distance(np.zeros((3, 2)), 1)
    yield "Stein force", lambda: stein_force(two, two, 1.0)
    for theta, words in ((np.zeros((mixture.FEW, 2)), ""), (two, " at few points")):
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
    yield f"random walk, {name}", lambda: metropolis(model, x, theta, 0.0, once, uniforms)


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
    # Several processes write into one pipe: a line must be one write.
    part, of = map(int, sys.argv[1:] or (0, 1))
    compile_part(part, of, lambda words: print(f"{words}\n", end="", flush=True))
