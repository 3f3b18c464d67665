"""What every compiled function has in common."""

import pytest
from numba.core.dispatcher import Dispatcher

from pmdviz.kernels.jit import EXP_OPTIONS, OVERLOAD
from pmdviz.kernels.warmup import MODULES

COMPILED = {
    f"{item.__module__}.{name}": item
    for module in MODULES
    for name, item in vars(module).items()
    if isinstance(item, Dispatcher)
}


@pytest.mark.parametrize("name", sorted(COMPILED))
def test_a_compiled_function_is_inlined_where_another_calls_it(name):
    assert COMPILED[name].targetoptions.get("forceinline")


def test_so_are_the_functions_that_numba_picks_by_type():
    assert EXP_OPTIONS.get("forceinline")
    assert OVERLOAD.get("forceinline")
