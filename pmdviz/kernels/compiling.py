"""Compile kernels in other processes, awaited ones first, and load them into this one.

A compiler in a thread of this process would hold up its event loop. The other processes fill numba's cache on the
disk, one kernel at a time, and a thread here then loads each in some milliseconds.

Each module with kernels declares its calls: `warm_up_calls()` yields a group, a few words, a kernel and tiny arguments
of the real types. Such a call compiles its kernels, or loads them from numba's cache. Chains are compiled for the type
of their model: `warm_up_models()` yields models, and `warm_up_calls_on(model, data, dimension)` the calls for each.
Targets and methods name the groups that they need.
"""

import json
import logging
import os
import pkgutil
import subprocess
import sys
import threading
import time
from collections.abc import Collection, Hashable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from importlib import import_module
from importlib.resources import files
from types import ModuleType
from typing import NamedTuple
from weakref import WeakSet

from numba.core import event

from pmdviz import kernels
from pmdviz.kernels import chains
from pmdviz.kernels.jit import DEFAULT


class Call(NamedTuple):
    """A call that compiles or loads some kernels."""

    group: str
    words: str
    make: partial


def compiled_modules() -> tuple[ModuleType, ...]:
    """The modules of this folder that hold compiled functions."""
    found = (import_module(info.name) for info in pkgutil.walk_packages(kernels.__path__, "pmdviz.kernels."))
    return tuple(module for module in found if any(hasattr(item, "py_func") for item in vars(module).values()))


def calls() -> Iterator[Call]:
    """Every call, first the calls of the default run."""
    modules = compiled_modules()
    models = [model for module in modules for model in getattr(module, "warm_up_models", tuple)()]
    found = [call for module in modules for call in getattr(module, "warm_up_calls", tuple)()]
    found += [call for model in models for call in chains.warm_up_calls_on(*model)]
    made = (Call(group, words, partial(kernel, *given)) for group, words, kernel, *given in found)
    yield from sorted(made, key=lambda call: call.group != DEFAULT)


def all_groups() -> tuple[str, ...]:
    """Every group, the default run's first."""
    return tuple(dict.fromkeys(call.group for call in calls()))


def knob_groups(**knobs: bool | float | str) -> tuple[str, ...]:
    """The groups that values of knobs need."""
    return tuple(group for value in knobs.values() if isinstance(value, str) for group in VALUES.get(value, ()))


FIT_GROUPS = "black_box", "responsibilities", "svgd"  # of tests of goodness of fit
# Value of a knob -> the groups that it needs.
VALUES = dict.fromkeys(("independent", "multinomial", "residual", "stratified"), ("resampling",))
VALUES |= dict.fromkeys(("local", "shaped"), ("neighbourhoods",))


SECONDS: dict[str, float] = json.loads(files("pmdviz.kernels").joinpath("seconds.json").read_text())  # measured
LOAD_S, START_S = 0.02, 1.0  # of one kernel from the cache; of a process that compiles
MAX_FAILURES = 3  # of a lane's processes; then its kernels are compiled in this process
PATIENCE_S = 2.0  # before a line says that kernels are compiled
DONE = "compiled in "  # an answer of such a process: the seconds follow
# Niceness of a process that compiles. A page plays recorded frames meanwhile; no run waits for the last kind.
FOR_A_CALLER, FOR_A_PAGE, LOWEST = 0, 10, 19
_this_thread = threading.local()


class NotCached(Exception):
    """A kernel is not in the cache, in a thread that must not compile."""


class _Refusal(event.Listener):
    """Numba announces each compilation; a thread that may only load stops there."""

    def on_start(self, event: event.Event) -> None:
        if getattr(_this_thread, "only_loads", False):
            raise NotCached

    def on_end(self, event: event.Event) -> None:
        pass


event.register("numba:compile", _Refusal())


@contextmanager
def only_loading() -> Iterator[None]:
    """Within it this thread compiles nothing: a call of a kernel that is not in the cache raises NotCached."""
    _this_thread.only_loads = True
    try:
        yield
    finally:
        _this_thread.only_loads = False


class Process:
    """Another process that compiles the calls whose words it reads from its standard input."""

    def __init__(self) -> None:
        self._niceness, self._failures = FOR_A_CALLER, 0
        self._process: subprocess.Popen[str] | None = None

    def compile(self, call: Call, niceness: int) -> float | None:
        """Compile a call's kernels; wall seconds, or None where the process has failed: the next call starts one."""
        if self._failures == MAX_FAILURES:
            return None
        if niceness != self._niceness:
            self.end()
        last = ""  # line of its standard error
        try:
            if self._process is None:
                self._niceness, pipe, both = niceness, subprocess.PIPE, subprocess.STDOUT  # its outputs as one
                command = [sys.executable, "-m", "pmdviz.kernels.compiling", str(niceness)]
                self._process = subprocess.Popen(command, text=True, stdin=pipe, stdout=pipe, stderr=both)
            with suppress(BrokenPipeError):  # it has died, and its last line says why
                self._process.stdin.write(f"{call.words}\n")
                self._process.stdin.flush()
            for line in self._process.stdout:
                if line.startswith(DONE):
                    return float(line.removeprefix(DONE))
                last = line.strip()
        except (OSError, ValueError) as error:
            last = str(error)
        self._failures += 1
        status = self.end()
        logging.getLogger(__name__).warning("a process that compiles kernels failed (status %s): %s", status, last)
        return None

    def end(self) -> int | None:
        """End it; its status, where there was one."""
        process, self._process = self._process, None
        if process is None:
            return None
        process.kill()
        process.communicate()
        return process.returncode


class Compiler:
    """The background compile of a process: a queue of groups, and one thread and one process for each core."""

    def __init__(self, lanes: int | None = None) -> None:
        self._lanes = lanes or os.cpu_count() or 1
        self._change = threading.Condition()
        self._calls: list[Call] = []
        self._is_listed = False  # `_calls` is complete; with NUMBA_DISABLE_JIT=1 it stays empty
        self._asked: list[str] = []  # groups, the first to be compiled first
        self._ready: set[str] = set()  # words of calls
        self._begun: dict[str, float] = {}  # call under way -> when it began
        self._players: WeakSet[Hashable] = WeakSet()
        self.is_cold = self._has_begun = self._rest = False
        self.seconds: dict[str, float] = {}  # wall seconds of the calls that were compiled on this machine

    def begin(self, rest: bool = True) -> None:
        """Start the background compile once: requested groups, and with `rest` all others while no page plays."""
        with self._change:
            self._rest |= rest
            self._change.notify_all()
            if self._has_begun:
                return
            self._has_begun = True
            self._asked += [DEFAULT] if rest else []
        threading.Thread(target=self._start, name="pmdviz-compile", daemon=True).start()

    def ask(self, groups: Iterable[str]) -> None:
        """Put the groups to the front of the queue."""
        with self._change:
            front = list(dict.fromkeys(groups))
            self._asked = front + [group for group in self._asked if group not in front]
            self._change.notify_all()

    def is_ready(self, groups: Collection[str]) -> bool:
        """Whether all kernels of the groups are compiled and loaded."""
        with self._change:
            return self._is_listed and not self._left(groups)

    def wait(self, groups: Collection[str], seconds: float | None = None) -> bool:
        """Return when the groups are ready, or False after so many seconds. Not for the event loop."""
        self.ask(groups)
        self.begin(rest=False)
        with self._change:
            return self._change.wait_for(lambda: self._is_listed and not self._left(groups), seconds)

    def seconds_left(self, groups: Collection[str]) -> float:
        """About how many seconds remain until the groups are ready, from compile times scaled to this machine."""
        with self._change:
            if not self._is_listed:
                return START_S if groups else 0.0
            if not (left := self._left(groups)):
                return 0.0
            places = [self._asked.index(group) for group in groups if group in self._asked]
            ahead = self._asked[: 1 + max(places, default=0)]
            work = {call.words: self._seconds(call) for call in [*self._left(ahead), *left]}
            return max(max(self._seconds(call) for call in left), sum(work.values()) / self._lanes)

    def somebody_plays(self, page: Hashable, on: bool) -> None:
        """Whether a page plays. Meanwhile only requested kernels are compiled."""
        with self._change:
            (self._players.add if on else self._players.discard)(page)
            self._change.notify_all()

    def _left(self, groups: Collection[str]) -> list[Call]:
        return [call for call in self._calls if call.group in groups and call.words not in self._ready]

    def _seconds(self, call: Call) -> float:
        """Wall seconds until a call is done."""
        if not self.is_cold:
            return LOAD_S
        expected = sum(SECONDS.get(words, 1.0) for words in self.seconds)
        scale = sum(self.seconds.values()) / expected if expected else 1.0
        elapsed = time.monotonic() - self._begun[call.words] if call.words in self._begun else 0.0
        return max(SECONDS.get(call.words, 1.0) * scale - elapsed, LOAD_S)

    def _start(self) -> None:
        found = sorted(calls(), key=lambda call: -SECONDS.get(call.words, 1.0))  # a long one at the end keeps one core
        with self._change:
            self._calls, self._is_listed = found, True
            self._change.notify_all()
        for number in range(self._lanes):
            threading.Thread(target=self._run, name=f"pmdviz-compile-{number}", daemon=True).start()

    def _run(self) -> None:
        """Take one call after the other, until none is left."""
        process = Process()
        while taken := self._take(process):
            call, niceness = taken
            seconds = None
            try:
                if not _is_loaded(call):
                    self.is_cold = True  # some kernel was not in the cache
                    seconds = process.compile(call, niceness)
                    if not _is_loaded(call):
                        call.make()
            except Exception:  # the first run that needs the kernel compiles it
                logging.getLogger(__name__).warning("%s was not compiled ahead", call.words, exc_info=True)
            with self._change:  # `seconds_left` reads all of these in another thread
                if seconds is not None:
                    self.seconds[call.words] = seconds
                self._ready.add(call.words)
                self._begun.pop(call.words, None)
                self._change.notify_all()

    def _take(self, process: Process) -> tuple[Call, int] | None:
        """The next call, once there is one to do, and the niceness for it; None when all are done.

        While there is none the lane's process ends.
        """
        with self._change:
            while len(self._ready) < len(self._calls):
                left = [c for c in self._calls if c.words not in self._ready and c.words not in self._begun]
                asked = [call for group in self._asked for call in left if call.group == group]
                may_go_on = self._rest and not self._players
                for call in asked or (left if may_go_on else []):
                    self._begun[call.words] = time.monotonic()
                    return call, LOWEST if not asked else FOR_A_PAGE if self._rest else FOR_A_CALLER
                process.end()
                self._change.wait()
            process.end()
            return None


def compile_ahead(groups: Collection[str]) -> None:
    """Return when the groups are compiled; where that takes longer than 2 s, a line on standard error counts down."""
    began, said = time.monotonic(), ""
    while not compiler.wait(groups, PATIENCE_S if said == "" else 1.0):
        if not compiler.is_cold:  # kernels are loaded only, on a busy machine
            continue
        words = f"Compiling kernels for this computer, once: about {compiler.seconds_left(groups):.0f} s left"
        if sys.stderr.isatty() or not said:
            sys.stderr.write(f"\r{words} " if sys.stderr.isatty() else f"{words}\n")
            sys.stderr.flush()
        said = words
    if said and sys.stderr.isatty():
        sys.stderr.write(f"\r{' ' * len(said)} \rCompiled in {time.monotonic() - began:.0f} s\n")


def _is_loaded(call: Call) -> bool:
    try:
        with only_loading():
            call.make()
    except NotCached:
        return False
    return True


def _serve(niceness: int) -> None:
    """Compile each call that a line of standard input names, at a niceness raised so much; answer with its seconds."""
    if hasattr(os, "nice"):
        os.nice(niceness)
    by_words = {call.words: call for call in calls()}
    for line in sys.stdin:
        began = time.monotonic()
        by_words[line.rstrip("\n")].make()
        sys.stdout.write(f"{DONE}{time.monotonic() - began}\n")
        sys.stdout.flush()


compiler = Compiler()

if __name__ == "__main__":
    _serve(int(sys.argv[1]))
