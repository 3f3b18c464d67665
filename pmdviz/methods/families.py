"""The families of the methods: a folder each, with the title under which tables list them."""

from __future__ import annotations

from pmdviz.methods.base import METHODS, Method

FAMILIES = {  # folder -> title, in the order of tables
    "pmd": "Particle Mirror Descent",
    "importance": "Importance sampling",
    "annealing": "Annealed importance sampling",
    "smc": "Sequential Monte Carlo",
    "stein": "Stein methods",
    "mcmc": "Markov chain Monte Carlo",
    "mean_field": "Mean fields of particles",
    "vi": "Variational inference",
    "gp": "Gaussian processes",
    "ensembles": "Ensembles",
}
OTHER = "Other methods"  # of files elsewhere


def family_title(method: Method) -> str:
    """The title of the family whose folder the method's file stands in."""
    folders = type(method).__module__.split(".")
    return next((title for folder, title in FAMILIES.items() if folder in folders), OTHER)


def by_family() -> dict[str, list[Method]]:
    """Title -> its methods, the families in the order of FAMILIES."""
    found: dict[str, list[Method]] = {title: [] for title in (*FAMILIES.values(), OTHER)}
    for method in METHODS.values():
        found[family_title(method)].append(method)
    return {title: methods for title, methods in found.items() if methods}
