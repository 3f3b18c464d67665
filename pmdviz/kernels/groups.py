"""Which kernels belong together, and which groups a run needs.

Each module with kernels declares its calls: `warm_up_calls()` yields a group, a few words and a function that calls a
kernel on tiny arrays of the real types. Such a call compiles its kernels, or loads them from numba's cache. Chains are
compiled for the type of their model, so theirs are `warm_up_calls_on(model, data, dimension)`.
"""

import pkgutil
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from types import ModuleType
from typing import Any, NamedTuple

from pmdviz import kernels

DEFAULT = "default run"  # the mixture by pmd, its metrics, independent draws; every other run needs most of them too


class Call(NamedTuple):
    """A call that compiles or loads some kernels."""

    group: str
    words: str
    make: Callable[[], object]


def in_dimensions(dim: int) -> str:
    """The group of densities in so many dimensions; from four on they share one kernel."""
    return DEFAULT if dim == 2 else f"densities in {min(dim, 4)} dimensions"


def compiled_modules() -> tuple[ModuleType, ...]:
    """The modules of this folder that hold compiled functions."""
    found = (import_module(info.name) for info in pkgutil.walk_packages(kernels.__path__, "pmdviz.kernels."))
    return tuple(module for module in found if any(hasattr(item, "py_func") for item in vars(module).values()))


def calls() -> Iterator[Call]:
    """Every call, those of the default run first."""
    modules = compiled_modules()
    models = [module.warm_up_model() for module in modules if hasattr(module, "warm_up_model")]
    found = []
    for module in modules:
        found += getattr(module, "warm_up_calls", tuple)()
        for model in models if hasattr(module, "warm_up_calls_on") else ():
            found += module.warm_up_calls_on(*model)
    yield from sorted((Call(*each) for each in found), key=lambda call: call.group != DEFAULT)


def all_groups() -> tuple[str, ...]:
    """Every group, the default run's first."""
    return tuple(dict.fromkeys(call.group for call in calls()))


def groups_of(target: str, method: str, dim: int | None = None, **knobs: Any) -> tuple[str, ...]:
    """The groups of a run: of its target (a custom one has a name without kernels), its dimension, method and knobs.

    Without `dim` the target's usual one counts. Of the knobs only those matter that change which kernels run.
    """
    own, usual = TARGETS.get(target, ((), 2))
    chain = MODELS.get(target, "")
    found = [DEFAULT, in_dimensions(usual if dim is None else dim), *own, *METHODS.get(method, ())]
    found += [f"{kind}, {chain}" for kind in CHAINS.get(method, ()) if chain]
    return tuple(dict.fromkeys([*found, *knob_groups(**knobs)]))


def knob_groups(**knobs: Any) -> tuple[str, ...]:
    """The groups that values of knobs need."""
    return tuple(group for value in knobs.values() if isinstance(value, str) for group in VALUES.get(value, ()))


# Name of the target -> its groups and its usual dimension.
TARGETS: Mapping[str, tuple[tuple[str, ...], int]] = {
    "banana": (("banana",), 2),
    "bernoulli_rbm": (("boltzmann",), 5),
    "bimodal1d": (("bimodal",), 1),
    "binary_net": (("binary_net",), 5),
    "categorical": ((), 1),
    "correlated_gaussian": ((), 2),
    "gaussian": (("gaussian",), 2),
    "gmm": (("gaussian_mixture",), 2),
    "gp_classification": (("gp_classification",), 2),
    "ising": (("ising", "transfer"), 5),
    "linear": (("linear",), 2),
    "logistic": (("logistic", "logistic_blocks"), 2),
    "mixture": (("mixture",), 2),
    "rbm": (("boltzmann",), 5),
    "regression_net": (("regression_net",), 5),
    "song_years": (("linear", "sparse_gp"), 5),
    "sparse_gp": (("linear", "sparse_gp"), 5),
    "stochastic_volatility": (("volatility",), 5),
    "topics": (("topics",), 5),
    "warped_gmm": (("gaussian_mixture",), 2),
}
# Name of the method -> its groups.
METHODS: Mapping[str, tuple[str, ...]] = {
    "adaptive_is": ("components",),
    "black_box_is": ("black_box", "svgd", "distances"),
    "discrete_gf_svgd": ("few_points", "smooth_steps", "svgd", "distances"),
    "gf_ais": ("responsibilities", "svgd", "distances"),
    "gf_svgd": ("responsibilities", "svgd", "distances"),
    "gibbs": ("gibbs",),
    "path_integration": ("steinis", "svgd", "distances"),
    "pmfvb": ("langevin_blocks",),
    "steinis": ("steinis", "svgd", "distances"),
    "svgd": ("svgd", "distances"),
}
# Name of the method -> the chains that it runs on the compiled model of its target.
CHAINS: Mapping[str, tuple[str, ...]] = {
    "hmc": ("trajectories",),
    "mala": ("trajectories",),
    "random_walk": ("random walk",),
    "sgld": ("Langevin steps",),
}
MODELS: Mapping[str, str] = {
    "banana": "BananaModel",
    "bimodal1d": "BimodalModel",
    "gaussian": "GaussianModel",
    "linear": "LinearModel",
    "logistic": "LogisticModel",
    "mixture": "MixtureModel",
}
FIT_GROUPS = "black_box", "distances", "responsibilities", "svgd"  # of tests of goodness of fit
# Value of a knob -> the groups that it needs.
VALUES: Mapping[str, tuple[str, ...]] = {
    "independent": ("resampling",),
    "local": ("neighbourhoods",),
    "median": ("distances",),
    "multinomial": ("resampling",),
    "residual": ("resampling",),
    "stratified": ("resampling",),
}
