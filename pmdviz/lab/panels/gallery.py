"""The gallery: two chips that name problem and method, and one dialog of presets, targets and methods."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import param

from pmdviz.lab import css
from pmdviz.lab.controls.setup import Setup
from pmdviz.lab.controls.widgets import Component
from pmdviz.methods import METHODS
from pmdviz.presets import PRESETS
from pmdviz.targets import TARGETS

STARTERS = ("two_modes", "worse_with_more_data", "too_bold", "particles_die", "fan_of_lines", "variance_collapses")
TEACHES = {  # what presets teach: the methods that they run
    "Mirror descent: weights, bandwidth, batches": ("pmd", "structured_pmd"),
    "Stein methods: forces between particles": ("svgd", "steinis", "path_integration"),
    "Without a gradient": ("gf_svgd", "discrete_gf_svgd", "black_box_is"),
    "Evidence and importance weights": ("ais", "hais", "stochastic_ais", "gf_ais", "adaptive_is", "importance"),
    "Chains": ("random_walk", "gibbs", "sgld", "hmc"),
    "Variational families": ("svi", "gaussian_vb", "npv", "pmfvb", "pmfvb_nn"),
}
FAMILIES = {  # packages of methods, the first ones first
    "Particle Mirror Descent": ("pmd",),
    "Stein methods": ("stein",),
    "Sequential Monte Carlo": ("smc",),
    "Annealing and importance sampling": ("annealing", "importance"),
    "Markov chains": ("mcmc",),
    "Variational inference": ("vi", "mean_field"),
    "Other methods": ("",),
}
Section = dict[str, Any]


def presets() -> Iterator[Section]:
    """Six starters, then the others by what they teach."""
    order = sorted(PRESETS, key=lambda name: PRESETS[name].position)
    yield _section("Start here", "preset", [name for name in STARTERS if name in PRESETS])
    left = [name for name in order if name not in STARTERS]
    for title, methods in TEACHES.items():
        yield _section(title, "preset", [n for n in left if PRESETS[n].parts.get("method", "pmd") in methods])
    known = {method for methods in TEACHES.values() for method in methods}
    yield _section("More presets", "preset", [n for n in left if PRESETS[n].parts.get("method", "pmd") not in known])


def methods() -> Iterator[Section]:
    """Methods by family, mirror descent first."""
    left = dict(METHODS)
    for title, folders in FAMILIES.items():
        names = [name for name, method in left.items() if _folder(method) in folders or folders == ("",)]
        for name in names:
            del left[name]
        yield _section(title, "method", names)


def _folder(method: Any) -> str:
    return type(method).__module__.removeprefix("pmdviz.methods.").partition(".")[0]


def _section(title: str, kind: str, names: list[str]) -> Section:
    return {"title": title, "kind": kind, "items": [_item(kind, name) for name in names]}


def _item(kind: str, name: str) -> list[str]:
    """Name, title, a sentence, and the sign of a picture."""
    if kind == "preset":
        preset = PRESETS[name]
        return [name, preset.title, preset.question, _sign(preset.parts.get("method", "pmd"))]
    if kind == "method":
        return [name, METHODS[name].title, METHODS[name].what_moves, _sign(name)]
    return [name, TARGETS[name].title, TARGETS[name].about or "", "target"]


def _sign(method: str) -> str:
    """The icon of a method: its family."""
    return _folder(METHODS[method]) if method in METHODS else ""


class Gallery(Component):
    """The chips and the dialog. A choice there sets the menu of the settings."""

    problem = param.String(default="")
    method = param.String(default="")
    fitting = param.List(default=[], doc="Methods that can run on the target.")
    sections = param.List(default=[])

    _esm = css.DIALOG + css.static("page.js", "gallery")
    _stylesheets = [css.static("lab.css", "chips")]

    def __init__(self, setup: Setup, **params: Any) -> None:
        self._setup, self._shown = setup, {}
        targets = _section("Targets", "target", [*TARGETS])
        every = [*presets(), targets, *methods()]
        sections = [section for section in every if section["items"]]
        super().__init__(self._choose, sections=sections, css_classes=["pmdviz-chips"], **params)

    def show(self) -> None:
        """The names of the present problem and method, read from the menus of the settings."""
        titles = {menu: {value: title for title, value in menu.options.items()} for menu in self._menus}
        preset, target, method = (titles[menu].get(menu.value, "") for menu in self._menus)
        problem = preset if self._setup.preset.value else target
        shown = {"problem": problem, "method": method, "fitting": [*self._setup.method.options.values()]}
        if shown != self._shown:  # this is called at every frame
            self._shown = shown
            self.param.update(**shown)

    @property
    def _menus(self) -> tuple[Any, Any, Any]:
        return self._setup.preset, self._setup.target, self._setup.method

    def _choose(self, message: Mapping[str, Any]) -> None:
        """Input from the browser: a kind and a name."""
        menus = dict(zip(("preset", "target", "method"), self._menus, strict=True))
        menu, name = menus.get(message.get("kind")), message.get("name")
        if menu is not None and name in menu.options.values():
            menu.value = name
