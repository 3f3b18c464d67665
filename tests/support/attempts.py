"""Bad inputs tried on our doors: how each ended, and in words what was wrong about that, "" as a rule."""

import contextlib
import io
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import hypothesis
from hypothesis.strategies import SearchStrategy

from pmdviz.engine.recipe import Recipe
from pmdviz.errors import InputError
from pmdviz.experiments.race import RaceRecipe
from pmdviz.experiments.workers import Table
from pmdviz.lab import links
from pmdviz.lab.panels import sharing as experiment_sharing

HANG_S = 2.0  # CPU seconds of whoever looks at the input: on a busy machine the clock on the wall says little
TABLE = {"num_particles": int, "tv": float, "bounded": bool, "failed": str}  # columns of the table that is broken
Ending = tuple[str, str]


class Tally:
    """Attempts one after the other: how they ended, how long they took, and what was wrong."""

    def __init__(
        self, attempt: Callable[[Any], Ending], clock: Callable[[], float] = time.process_time, most: float = HANG_S
    ) -> None:
        self._attempt, self._clock, self._most = attempt, clock, most
        self.ends: Counter[str] = Counter()
        self._wrong: list[str] = []
        self._slowest = 0.0

    def take(self, given: Any) -> str:
        start = self._clock()
        end, words = self._attempt(given)
        took = self._clock() - start
        self._slowest = max(self._slowest, took)
        if took > self._most:
            words = f"{took:.1f} s: {words}"
        self.ends[end] += 1
        self._wrong += [words] if words else []
        return words

    def figures(self) -> dict[str, Any]:
        ends, slowest = dict(self.ends), round(self._slowest, 2)
        return {"tried": self.ends.total(), "ended": ends, "slowest_cpu_s": slowest, "wrong": self._wrong[:20]}


def each(inputs: SearchStrategy, number: int, seed: int, take: Callable[[Any], Any]) -> None:
    """Call `take` with so many inputs, and where it raises with the smallest such one.

    The inputs are the same for the same seed, as long as Hypothesis and the constants in our modules are.
    """

    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=number, deadline=None, database=None, suppress_health_check=[*hypothesis.HealthCheck]
    )
    @hypothesis.given(inputs)
    def one(given: Any) -> None:
        take(given)

    one()


def try_recipe(text: str) -> Ending:
    """A recipe is read, and comes back the same, or is refused in one line; anything else is wrong."""
    return _reading(text, lambda: _comes_back(Recipe, text))


def try_race(text: str) -> Ending:
    return _reading(text, lambda: _comes_back(RaceRecipe, text))


def try_link(query: str) -> Ending:
    """What follows the question mark of an address, an experiment in it too, is read or refused in one line."""

    def read() -> bool:
        link = links.read(parse_qs(query.lstrip("?"), keep_blank_values=True))
        experiment_sharing.read(link.asked)
        return True

    return _reading(query, read)


def try_table(content: bytes) -> Ending:
    with tempfile.TemporaryDirectory(prefix="pmdviz-fuzz-") as folder:
        path = Path(folder) / "table.csv"
        path.write_bytes(content)

        def read() -> bool:
            with Table(path, TABLE) as table:
                return all(type(row[name]) is kind for row in table.rows for name, kind in TABLE.items())

        return _reading(content, read)


def _comes_back(kind: type, text: str) -> bool:
    recipe = kind.from_json(text)
    return kind.from_json(recipe.to_json()) == recipe


def _reading(given: str | bytes, sound: Callable[[], bool]) -> Ending:
    try:
        return "read", "" if sound() else f"it is read as something else: {given[:300]!r}"
    except InputError as error:
        return "refused", f"several lines for {given[:300]!r}" if "\n" in str(error) else ""
    except Exception as error:
        return "wrong", f"{type(error).__name__}: {error} for {given[:300]!r}"


@contextlib.contextmanager
def _deep_folder() -> Iterator[None]:
    with tempfile.TemporaryDirectory(prefix="pmdviz-fuzz-") as folder:
        deep = Path(folder, *"abcdef")
        deep.mkdir(parents=True)
        with contextlib.chdir(deep):
            yield


class _Enough(Exception):
    """Raised in place of the run itself."""


def _no_run(*args: Any, **kwargs: Any) -> Any:
    raise _Enough


def try_arguments(words: list[str]) -> Ending:
    """A command line is carried out or refused in one line with status 2; the runs themselves are left out.

    It is carried out in a folder so deep that what it writes stays there.
    """
    from pmdviz import api
    from pmdviz.cli import main
    from pmdviz.experiments import race

    said, places = io.StringIO(), ((api, "run"), (api, "sweep"), (race, "race"))
    real = [getattr(module, name) for module, name in places]
    for module, name in places:
        setattr(module, name, _no_run)
    try:
        with _deep_folder(), contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
            status = main.main(words)
    except (_Enough, SystemExit):
        return "done", ""
    except Exception as error:
        return "wrong", f"{type(error).__name__}: {error} for {words}"
    finally:
        for (module, name), function in zip(places, real, strict=True):
            setattr(module, name, function)
    lines = said.getvalue().strip().split("\n")
    if status == 2 and len(lines) != 1:
        return "refused", f"{len(lines)} lines for {words}: {lines[:3]}"
    return {0: "done", 2: "refused"}.get(status, "wrong"), "" if status in (0, 2) else f"status {status} for {words}"
