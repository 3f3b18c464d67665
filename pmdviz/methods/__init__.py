"""Methods: the algorithms, in the file or folder of their family; a class put there appears in every menu."""

import importlib
import pkgutil
from functools import cache

from pmdviz.errors import entry
from pmdviz.methods.base import METHODS, REGISTERED, Method
from pmdviz.methods.step import MethodKnobs as MethodKnobs
from pmdviz.methods.step import StepBlock as StepBlock
from pmdviz.methods.step import StepInfo as StepInfo
from pmdviz.targets import TARGETS, Target, make_target

for _module in pkgutil.walk_packages(__path__, f"{__name__}."):
    importlib.import_module(f"{__name__}.{_module.name.removeprefix(f'{__name__}.')}")


FAMILIES = {  # file or folder -> the title under which menus and tables list its methods, in their order
    "pmd": "Particle Mirror Descent",
    "stein": "Stein methods",
    "smc": "Sequential Monte Carlo",
    "importance": "Importance sampling",
    "annealing": "Annealed importance sampling",
    "mcmc": "Markov chain Monte Carlo",
    "nuts": "Markov chain Monte Carlo",
    "mean_field": "Mean fields of particles",
    "vi": "Variational inference",
    "npv": "Variational inference",
    "gp": "Gaussian processes",
    "ensembles": "Ensembles",
}
OTHER = "Other methods"  # of files elsewhere


def find_method(name: str) -> Method:
    """The method of that name. Raises InputError."""
    return entry("method", name, METHODS)


def usual_target(name: str) -> str:
    """The built-in target that method `name` is shown on: the mixture, or else the first one that it fits."""
    return next(each for each in ("mixture", *TARGETS) if not METHODS[name].missing_in(_at_its_defaults(each)))


def usual_method(target: str) -> str:
    """The method that the built-in `target` is shown with: PMD, or else the first one that fits it."""
    return next(each for each in ("pmd", *METHODS) if not METHODS[each].missing_in(_at_its_defaults(target)))


@cache
def _at_its_defaults(target: str) -> Target:
    """A target with its default options, kept: some take a second to make, and lists of methods need each of them."""
    return make_target(target)


def by_family() -> dict[str, list[Method]]:
    """Title -> the methods in its file or folder, the families in the order of FAMILIES."""
    found: dict[str, list[Method]] = {title: [] for title in (*FAMILIES.values(), OTHER)}
    for _, method in sorted(METHODS.items()):
        folders = type(method).__module__.split(".")
        found[next((title for folder, title in FAMILIES.items() if folder in folders), OTHER)].append(method)
    return {title: methods for title, methods in found.items() if methods}


for _method in [method for methods in by_family().values() for method in methods]:  # menus list them so, not by file
    REGISTERED[_method.name] = REGISTERED.pop(_method.name)
