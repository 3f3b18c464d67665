"""A server to be attacked: this package's, or that of another checkout; with a good session that plays meanwhile."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.support.browser import await_answer, end, free_port
from tests.support.crowd import PROBED, Crowd, Served
from tests.support.raw_client import ask

HERE = Path(__file__).parents[2]


class Target(Served):
    """A running server.

    Attributes
    ----------
    folder : Path
        Where it was started: an empty folder that is deleted afterwards.
    popen : subprocess.Popen
        Its process (with `--num-procs` the parent).
    checkout : Path
        Whose server it is.
    """

    def __init__(self, popen: subprocess.Popen, port: int, log: Any, folder: Path, checkout: Path) -> None:
        super().__init__(popen, port, log)
        self.popen, self.folder, self.checkout = popen, folder, checkout

    @property
    def alive(self) -> bool:
        """Whether its process is there and answers within 5 s."""
        return self.popen.poll() is None and ask(self.port, "/liveness", timeout=5).status == 200

    def another(self, *flags: str, files: int = 0) -> Any:
        """A server of the same checkout with other flags, as a context; `files` is its limit of open files."""
        return target(self.checkout, *flags, files=files)

    def beside(self, act: Callable[[], dict[str, Any]], seconds: float = 0.0) -> dict[str, Any]:
        """What `act()` says, and how a good session fared: frames a second before and meanwhile, and the longest gap.

        It is watched for `seconds` more, for what goes on after `act` has returned.
        """
        crowd = Crowd(self.url)
        good = crowd.join(1)[0]
        crowd.do(good.until(lambda: good.iteration >= 10))
        began = time.monotonic()
        time.sleep(3)
        start = time.monotonic()
        figures = act()
        time.sleep(seconds)
        stop = time.monotonic()
        moments = [start, *[at for at in good.frames if start < at < stop], stop]
        gap = max(b - a for a, b in zip(moments, moments[1:], strict=False))
        crowd.leave()
        return {
            **figures,
            "good_session_fps_before": round(good.rate(began, start), 1),
            "good_session_fps_meanwhile": round(good.rate(start, stop), 1),
            "good_session_stood_still_s": round(gap, 1),
        }


@contextmanager
def target(checkout: Path = HERE, *flags: str, files: int = 0) -> Iterator[Target]:
    """A server of the package in `checkout`, started as a person would in a folder of their own."""
    port = free_port()
    command = [*PROBED, "serve", "--port", str(port), *flags]
    if files:
        command = ["sh", "-c", f'ulimit -n {files}; exec "$0" "$@"', *command]
    places = {"PYTHONPATH": str(checkout)}
    with tempfile.TemporaryDirectory(prefix="pmdviz-attack-") as folder, tempfile.NamedTemporaryFile("w") as log:
        process = subprocess.Popen(command, cwd=folder, env={**os.environ, **places}, stdout=log, stderr=log)
        try:
            await_answer(process, f"http://127.0.0.1:{port}/liveness", 120)
            yield Target(process, port, log, Path(folder), checkout)
        finally:
            end(process)
