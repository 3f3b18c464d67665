"""Frames a second of every preset on the page, endless and as fast as it goes, with CPU milliseconds of a frame."""

from __future__ import annotations

import os
from argparse import Namespace
from typing import Any

from benchmarks.live import frames_of
from pmdviz.presets import PRESETS
from tests.support.browser import await_picture, chromium, free_port, hurry, lab_command, open_page, server

MEASURED_S, COLD_S = 10.0, 300.0


def run(options: Namespace) -> dict[str, Any]:
    """One page after the other on one server, so that only the first of them is cold."""
    seconds, port = 3.0 if options.quick else MEASURED_S, free_port()
    with chromium() as browser, server(lab_command(port), port) as process:
        found = {name: _preset(browser, port, process.pid, name, seconds) for name in PRESETS}
    return {"presets": found, "load_after": [round(x, 2) for x in os.getloadavg()]}


def _preset(browser: Any, port: int, server_pid: int, name: str, seconds: float) -> dict[str, Any]:
    page = open_page(browser, port, path=f"/?preset={name}")
    await_picture(page, COLD_S)
    budget = page.get_by_label("Budget", exact=False).first
    budget.select_option("endless")
    page.wait_for_function(r"!/[\d,]+ of [\d,]+ /.test(pmdviz.words())", timeout=60_000)
    hurry(page)
    page.get_by_role("button", name="Play", exact=True).click()
    found = frames_of(page, server_pid, seconds)
    page.close()
    return found
