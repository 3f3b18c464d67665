"""pmdviz: an interactive laboratory for particle inference.

Everything listed in `__all__` is loaded when it is first used: `import pmdviz` costs no
compiled code, no Panel and no Bokeh. Submodules are there by import (`import pmdviz.targets`).
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from pmdviz.version import __version__

if TYPE_CHECKING:
    from pmdviz.api import (
        custom_target,
        experiment,
        list_experiments,
        list_fit_tests,
        list_methods,
        list_targets,
        read_table,
        register_target,
        run,
        sweep,
        target,
        test_fit,
    )
    from pmdviz.engine.frame import Frame
    from pmdviz.engine.recipe import Recipe
    from pmdviz.engine.run import Run
    from pmdviz.engine.session import Session
    from pmdviz.errors import InputError, InputWarning, TargetError
    from pmdviz.experiments.fit_testing import stein_mean
    from pmdviz.experiments.race import RaceRecipe, RaceResult, race
    from pmdviz.experiments.sweep import Sweep
    from pmdviz.lab import Lab, Race
    from pmdviz.lessons.questions import check, points, report
    from pmdviz.question_buttons import Question, sealed
    from pmdviz.targets.space import Discrete

_HOMES = {
    "Discrete": "pmdviz.targets.space",
    "Frame": "pmdviz.engine.frame",
    "InputError": "pmdviz.errors",
    "InputWarning": "pmdviz.errors",
    "Lab": "pmdviz.lab",
    "Question": "pmdviz.question_buttons",
    "Race": "pmdviz.lab",
    "RaceRecipe": "pmdviz.experiments.race",
    "RaceResult": "pmdviz.api",
    "Recipe": "pmdviz.engine.recipe",
    "Run": "pmdviz.api",
    "Session": "pmdviz.api",
    "Sweep": "pmdviz.experiments.sweep",
    "TargetError": "pmdviz.errors",
    "check": "pmdviz.lessons.questions",
    "custom_target": "pmdviz.api",
    "experiment": "pmdviz.api",
    "list_experiments": "pmdviz.api",
    "list_fit_tests": "pmdviz.api",
    "list_methods": "pmdviz.api",
    "list_targets": "pmdviz.api",
    "points": "pmdviz.lessons.questions",
    "race": "pmdviz.api",
    "read_table": "pmdviz.api",
    "register_target": "pmdviz.api",
    "report": "pmdviz.lessons.questions",
    "run": "pmdviz.api",
    "sealed": "pmdviz.question_buttons",
    "stein_mean": "pmdviz.experiments.fit_testing",
    "sweep": "pmdviz.api",
    "target": "pmdviz.api",
    "test_fit": "pmdviz.api",
}

__all__ = [
    "Discrete",
    "Frame",
    "InputError",
    "InputWarning",
    "Lab",
    "Question",
    "Race",
    "RaceRecipe",
    "RaceResult",
    "Recipe",
    "Run",
    "Session",
    "Sweep",
    "TargetError",
    "__version__",
    "check",
    "custom_target",
    "experiment",
    "list_experiments",
    "list_fit_tests",
    "list_methods",
    "list_targets",
    "points",
    "race",
    "read_table",
    "register_target",
    "report",
    "run",
    "sealed",
    "stein_mean",
    "sweep",
    "target",
    "test_fit",
]


def __getattr__(name: str) -> Any:
    """Load the public name `name` from its home, once."""
    if name not in _HOMES:
        raise AttributeError(f"module 'pmdviz' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
