"""Tables looped inside one test, with the failing entry in its message; and what is refused in a sentence."""

import functools
import inspect
import re
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from pmdviz.errors import InputError


def looped(names: str, entries: Iterable[Any] | Callable[[], Iterable[Any]]) -> Callable[[Callable], Callable]:
    """Call a test for each entry of a table: `pytest.mark.parametrize` with one item in place of many.

    Stacked decorators multiply their tables. A function in place of the table is called when the test runs, so that
    collecting the tests makes no targets. Fixtures are the same for all entries.
    """
    parts = [name.strip() for name in names.split(",")]

    def decorate(test: Callable) -> Callable:
        signature = inspect.signature(test)

        @functools.wraps(test)
        def run(**fixtures: Any) -> None:
            for entry in entries() if callable(entries) else entries:
                values = entry if len(parts) > 1 else (entry,)
                try:
                    test(**dict(zip(parts, values, strict=True)), **fixtures)
                except BaseException as error:
                    error.add_note(f"{names} = {entry!r}")
                    raise

        others = [one for one in signature.parameters.values() if one.name not in parts]
        run.__signature__ = signature.replace(parameters=others)
        return run

    return decorate


def refused(words: str, call: Callable, *given: Any, **named: Any) -> InputError:
    """Check that a call is refused in one line with these words, or with what this pattern matches; the error."""
    with pytest.raises(InputError) as error:
        call(*given, **named)
    said = str(error.value)
    assert "\n" not in said and (words in said or re.search(words, said)), said
    return error.value
