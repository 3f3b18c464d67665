"""The way of a knob from its slider to the picture: through how many functions it goes, and how often it is checked.

A lab runs in this process, paused, without a browser. Its form is sent what the browser sends when the slider
`bandwidth` is moved, and at each moment at which the value, or what has become of it, changes hands, the call stack is
read (`HANDS`): slider -> queue of jobs -> worker -> frame -> density -> its values on a grid -> columns -> packet.

A STOP is a function of pmdviz on one of these stacks, in whatever thread, each counted once. Three kinds are no stops:
those of `COMPUTING`, which turn numbers into numbers; those of `CARRIERS`, which take any function to the right thread
and know neither knobs nor frames (both are listed apart); and, where a frame computes a part at the first look, whoever
happened to look first: there the stack is read up to that part of the frame (`looked_at`). What happens beside the way
is not on it: the metrics, the words, the controls that show the new value. The two scripts of the browser at both ends,
which send the value and unpack the packet, are not counted either.

A CHECK is a call of `Knobs.checked` or `Knobs.replaced` (values from outside become knobs) or of `KnobSpec.parse` (one
of them is held against its declaration); a call within another is the same check. All are counted, on the way or beside
it and of whatever knobs, from the message until the packet has left and the lab rests. How often it is asked whether
the knobs fit one another (`Knobs.check`), which no single value can tell, is counted apart.
"""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from argparse import Namespace
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import CodeType, FrameType
from typing import Any
from unittest.mock import patch

import pmdviz
from pmdviz.densities import density, shaped
from pmdviz.engine.frame import Frame
from pmdviz.knobs import Knobs, KnobSpec
from pmdviz.lab import Lab
from pmdviz.lab.loop.task import DaemonPool
from pmdviz.scenes.stage import posterior

HOME = Path(pmdviz.__file__).parent
COMPUTING = ("kernels/", "densities/", "metrics/")
CARRIERS = ("lab/loop/locked.py", "lab/loop/pool.py")
COMPREHENSIONS = ("<listcomp>", "<dictcomp>", "<setcomp>", "<genexpr>")  # parts of the function around them
HANDS = ("queue", "worker", "frame", "density", "grid", "columns", "parcel", "packet")
VALUE = 0.731
SCENES = {"at_the_start": 0, "paused": 4, "paused_at_a_measured_frame": 5}  # iterations before the move


def run(options: Namespace) -> dict[str, Any]:
    """Stops and checks of a move at the start of a run, and paused in it."""
    with ThreadPoolExecutor(1) as pool:  # where no command line is on the stack
        figures = {scene: pool.submit(moved, iterations).result() for scene, iterations in SCENES.items()}
    for stop in figures["paused"]["stops"]:
        print(stop, file=sys.stderr)
    return figures


def moved(iterations: int) -> dict[str, Any]:
    """Move the slider of a lab that has done so many iterations; what was met on the way."""
    return asyncio.run(_moved(iterations))


async def _moved(iterations: int) -> dict[str, Any]:
    lab = Lab(num_particles=100, budget=None)
    ack = lab.screen.ack
    ack.on_change("sent", lambda attr, old, new: setattr(ack, "drawn", new))
    lab.start()
    lab.ready()
    try:
        await _rests(lab)
        for _ in range(iterations):
            lab._act("step")
        await _rests(lab)
        before, way = ack.parcel, Way(lab)
        with way.watched():
            lab.setup.knobs._handle_msg({"name": "bandwidth", "value": str(VALUE)})
            await _rests(lab)
        assert lab.session.frame.iteration == iterations and lab.session.knobs.bandwidth == VALUE
        assert ack.parcel == before + 1, "the picture did not leave in one packet"
        return way.figures()
    finally:
        lab.stop()
        await asyncio.wait_for(lab.live._task, 60)


async def _rests(lab: Lab) -> None:
    """Wait until nothing is under way, nor the floor, which would have the picture drawn again."""
    end, quiet = time.monotonic() + 120, 0  # the first step of a machine compiles
    while quiet < 10:
        assert time.monotonic() < end, "waited in vain"
        quiet = 0 if lab._last is None or lab.live.at_work or lab.floor.running else quiet + 1
        await asyncio.sleep(0.02)


class Way:
    """What is met between the message and the packet."""

    def __init__(self, lab: Lab) -> None:
        self._lab = lab
        self._met: dict[str, list[CodeType]] = {}
        self._inside, self.checks, self.fits = threading.local(), 0, 0

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Read the stack wherever the value changes hands, and count the checks."""
        live, sender = self._lab.live, self._lab.screen.sender
        live._jobs = _Told(live._jobs, lambda job: self._meet("queue"))
        sender._parcel = _ToldList(lambda part: self._meet("parcel"))
        self._lab.screen.ack.on_change("packed", lambda attr, old, new: self._meet("packet"))
        with ExitStack() as stack:
            for owner, name, hand, looked_at in (
                (DaemonPool, "submit", "worker", ""),
                (Frame, "__init__", "frame", ""),
                (shaped.ShapedDensity, "__init__", "density", "densities"),
                (density, "kde_on_grid", "grid", "grids"),
                (posterior, "StageColumns", "columns", ""),
            ):
                stack.enter_context(patch.object(owner, name, self._before(getattr(owner, name), hand, looked_at)))
            stack.enter_context(patch.object(KnobSpec, "parse", self._counted(KnobSpec.parse)))
            stack.enter_context(patch.object(Knobs, "replaced", self._counted(Knobs.replaced)))
            checked = classmethod(self._counted(Knobs.checked.__func__))
            stack.enter_context(patch.object(Knobs, "checked", checked))
            kind = type(self._lab.session.knobs)
            stack.enter_context(patch.object(kind, "check", self._fitting(kind.check)))
            yield

    def _before(self, act: Callable[..., Any], hand: str, looked_at: str) -> Callable[..., Any]:
        def met(*args: Any, **kwargs: Any) -> Any:
            made = act(*args, **kwargs)
            if hand != "frame" or args[0].knobs.bandwidth == VALUE:  # other frames are copies to be kept
                self._meet(hand, looked_at)
            return made

        return met

    def _counted(self, check: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*args: Any, **kwargs: Any) -> Any:
            outer = not getattr(self._inside, "check", False)
            self.checks += outer
            self._inside.check = True
            try:
                return check(*args, **kwargs)
            finally:
                self._inside.check = not outer

        return counted

    def _fitting(self, check: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*args: Any) -> Any:
            self.fits += 1
            return check(*args)

        return counted

    def _meet(self, hand: str, looked_at: str = "") -> None:
        """Keep the stack of the first time; the rest draws the same again."""
        if hand not in self._met:
            self._met[hand] = list(_stack(sys._getframe(1), looked_at))[::-1]

    def figures(self) -> dict[str, Any]:
        """Numbers, and the functions by file and line in the order in which they are met."""
        assert set(self._met) == set(HANDS), f"not seen: {set(HANDS) - set(self._met)}"
        met = dict.fromkeys(code for hand in HANDS for code in self._met[hand])
        carriers = [code for code in met if _place(code).startswith(CARRIERS)]
        computing = [code for code in met if _place(code).startswith(COMPUTING)]
        stops = [code for code in met if code not in (*carriers, *computing)]
        return {
            "num_stops": len(stops),
            "num_with_carriers_and_computing": len(met),
            "num_files": len({code.co_filename for code in stops}),
            "num_checks": self.checks,
            "num_fits_one_another": self.fits,
            "stops": [_words(code) for code in stops],
            "carriers": [_words(code) for code in carriers],
            "computing": [_words(code) for code in computing],
        }


def _stack(frame: FrameType | None, looked_at: str) -> Iterator[CodeType]:
    """The functions of pmdviz on the stack, innermost first, up to the part of a frame that was looked at."""
    while frame is not None:
        code = frame.f_code
        if Path(code.co_filename).is_relative_to(HOME):
            if code.co_name not in COMPREHENSIONS:
                yield code
            if looked_at and code.co_name == looked_at and _place(code) == "engine/frame.py":
                return
        frame = frame.f_back


def _place(code: CodeType) -> str:
    return Path(code.co_filename).relative_to(HOME).as_posix()


def _words(code: CodeType) -> str:
    return f"pmdviz/{_place(code)}:{code.co_firstlineno} {getattr(code, 'co_qualname', code.co_name)}"


class _Told(deque):
    """A queue that says what is put in."""

    def __init__(self, jobs: deque, told: Callable[[Any], None]) -> None:
        super().__init__(jobs)
        self._told = told

    def append(self, job: Any) -> None:
        super().append(job)
        self._told(job)


class _ToldList(list):
    """A list that says what is put in."""

    def __init__(self, told: Callable[[Any], None]) -> None:
        super().__init__()
        self._told = told

    def append(self, part: Any) -> None:
        super().append(part)
        self._told(part)
