"""pmdviz: an interactive laboratory for particle inference.

Everything listed in `__all__` is loaded when it is first used: `import pmdviz` costs no
compiled code, no Panel and no Bokeh. Submodules are there by import (`import pmdviz.targets`).
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from pmdviz.version import __version__ as __version__

if TYPE_CHECKING:
    from pmdviz.api import custom_target as custom_target
    from pmdviz.api import experiment as experiment
    from pmdviz.api import list_experiments as list_experiments
    from pmdviz.api import list_fit_tests as list_fit_tests
    from pmdviz.api import list_methods as list_methods
    from pmdviz.api import list_targets as list_targets
    from pmdviz.api import read_table as read_table
    from pmdviz.api import register_target as register_target
    from pmdviz.api import run as run
    from pmdviz.api import target as target
    from pmdviz.engine.frame import Frame as Frame
    from pmdviz.engine.recipe import Recipe as Recipe
    from pmdviz.engine.run import Run as Run
    from pmdviz.engine.session import Session as Session
    from pmdviz.errors import InputError as InputError
    from pmdviz.errors import InputWarning as InputWarning
    from pmdviz.errors import TargetError as TargetError
    from pmdviz.experiments.fit_testing import stein_mean as stein_mean
    from pmdviz.experiments.fit_testing import test_fit as test_fit
    from pmdviz.experiments.race import RaceRecipe as RaceRecipe
    from pmdviz.experiments.race import RaceResult as RaceResult
    from pmdviz.experiments.race import race as race
    from pmdviz.experiments.sweep import Sweep as Sweep
    from pmdviz.experiments.sweep import sweep as sweep
    from pmdviz.lab import Lab as Lab
    from pmdviz.lab import Race as Race
    from pmdviz.lessons.questions import check as check
    from pmdviz.lessons.questions import points as points
    from pmdviz.lessons.questions import report as report
    from pmdviz.question_buttons import Question as Question
    from pmdviz.question_buttons import sealed as sealed
    from pmdviz.targets.space import Discrete as Discrete

_HOMES = {
    name: home
    for home, names in {
        "pmdviz.api": "RaceResult Run Session custom_target experiment list_experiments list_fit_tests list_methods "
        "list_targets race read_table register_target run target",
        "pmdviz.engine.frame": "Frame",
        "pmdviz.engine.recipe": "Recipe",
        "pmdviz.errors": "InputError InputWarning TargetError",
        "pmdviz.experiments.fit_testing": "stein_mean test_fit",
        "pmdviz.experiments.race": "RaceRecipe",
        "pmdviz.experiments.sweep": "Sweep sweep",
        "pmdviz.lab": "Lab Race",
        "pmdviz.lessons.questions": "check points report",
        "pmdviz.question_buttons": "Question sealed",
        "pmdviz.targets.space": "Discrete",
    }.items()
    for name in names.split()
}
__all__ = sorted([*_HOMES, "__version__"])


def __getattr__(name: str) -> Any:
    """Load the public name `name` from its home, once."""
    if name not in _HOMES:
        raise AttributeError(f"module 'pmdviz' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
