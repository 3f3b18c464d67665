"""Targets: the posteriors to be found; a file put here appears in every menu by itself."""

import importlib
import pkgutil
from collections.abc import Mapping
from functools import lru_cache

from pmdviz.data.tables import tables_in
from pmdviz.errors import InputError, entry, shown
from pmdviz.knobs import Knobs, Value
from pmdviz.targets.base import REGISTERED, TARGETS, Target
from pmdviz.targets.custom import CustomTarget
from pmdviz.targets.custom import offered as offered_targets

# The order of the menus: targets with data, then densities, then all others.
_ORDER = (
    "banana bimodal1d binary_net gaussian linear logistic mixture regression_net ppca softmax sparse_gp song_years "
    "stochastic_volatility topics bernoulli_rbm categorical correlated_gaussian decoder eight_schools formula funnel "
    "gmm warped_gmm gp_classification ising rbm"
).split()

for _module in pkgutil.iter_modules(__path__, f"{__name__}."):
    importlib.import_module(_module.name)
for _name in sorted(REGISTERED, key=lambda name: _ORDER.index(name) if name in _ORDER else len(_ORDER)):
    REGISTERED[_name] = REGISTERED.pop(_name)

LARGE_TABLES = 500_000  # bytes of a person's own numbers


def find_target(name: str) -> type[Target]:
    """The class of the built-in target `name`. Raises InputError."""
    return entry("target", name, TARGETS)


def make_target(name: str, /, **options: Value) -> Target:
    """The built-in target `name` with `options`. Raises InputError for an unknown name or a bad option."""
    return find_target(name)(**options)


def get_target(target: str | Target, options: Mapping[str, Value] | None = None) -> Target:
    """The target that a name with options, or a target that is made, means. Raises InputError."""
    if isinstance(target, str):
        target = offered_targets().get(target, target)
    if isinstance(target, CustomTarget) and not options:
        return target
    if isinstance(target, str):
        return shared_target(target, find_target(target).checked_options(options or {}))
    if not isinstance(target, Target):
        raise InputError(f"target must be a name or a target; got {shown(target)}")
    if options:
        raise InputError("target_options go with the name of a built-in target; a target that is made has its own")
    return shared_target(target.name, target.options)


def shared_target(name: str, options: Knobs) -> Target:
    """The built-in target with these options: one for all recipes, because it never changes."""
    large = sum(table.rows.nbytes for table in tables_in(options.as_dict().values())) > LARGE_TABLES
    return (large_targets if large else small_targets)(name, options)


def _made(name: str, options: Knobs) -> Target:
    return make_target(name, **options.as_dict())


# A cached target keeps the table that it was made of: of visitors' large ones few are kept without a recipe.
small_targets, large_targets = lru_cache(maxsize=32)(_made), lru_cache(maxsize=4)(_made)

__all__ = ["TARGETS", "Target", "find_target", "get_target", "make_target", "shared_target"]
