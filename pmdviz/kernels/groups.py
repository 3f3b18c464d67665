"""Which kernels belong together: groups that are compiled at once.

Each module with kernels declares its calls: `warm_up_calls()` yields a group, a few words and a function that calls a
kernel on tiny arrays of the real types. Such a call compiles its kernels, or loads them from numba's cache. Chains are
compiled for the type of their model, so theirs are `warm_up_calls_on(model, data, dimension)`. Targets and methods name
their groups.
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


def knob_groups(**knobs: Any) -> tuple[str, ...]:
    """The groups that values of knobs need."""
    return tuple(group for value in knobs.values() if isinstance(value, str) for group in VALUES.get(value, ()))


FIT_GROUPS = "black_box", "responsibilities", "svgd"  # of tests of goodness of fit
# Value of a knob -> the groups that it needs.
VALUES: Mapping[str, tuple[str, ...]] = {
    "independent": ("resampling",),
    "local": ("neighbourhoods",),
    "multinomial": ("resampling",),
    "residual": ("resampling",),
    "shaped": ("neighbourhoods",),
    "stratified": ("resampling",),
}
