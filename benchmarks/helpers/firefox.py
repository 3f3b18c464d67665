"""Firefox by WebDriver BiDi: open a live page from its file, press Play, and count frames."""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

NAMES, LISTENING = ("firefox-esr", "firefox"), "WebDriver BiDi listening on "
READY = """() => new Promise((done) => {{
  const look = () => {}.test(document.getElementById("status").textContent) ? done() : setTimeout(look, 5)
  look()
}})"""


def firefox_frames(file: Path, frames: str, seconds: float) -> Any:
    """Frames a second of a live page, and its status; a sentence where there is no Firefox."""
    path = next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        return "not measured: no Firefox is installed"
    with tempfile.TemporaryDirectory() as profile:
        command = [path, "--headless", "--profile", profile, "--remote-debugging-port", "0"]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
            try:
                return asyncio.run(_measured(_address(process), file, frames, seconds))
            finally:
                process.terminate()


def _address(process: subprocess.Popen[str]) -> str:
    for line in process.stderr:
        if LISTENING in line:
            return f"{line.partition(LISTENING)[2].strip()}/session"
    raise RuntimeError("Firefox ended before it listened")


async def _measured(address: str, file: Path, frames: str, seconds: float) -> dict[str, Any]:
    from tornado.websocket import websocket_connect

    socket = await websocket_connect(address)
    count = 0

    async def ask(method: str, **params: Any) -> Any:
        nonlocal count
        count += 1
        await socket.write_message(json.dumps({"id": count, "method": method, "params": params}))
        while answer := json.loads(await socket.read_message() or "{}"):
            if answer.get("id") == count:
                return answer["result"]
        raise RuntimeError(f"Firefox ended at {method}")

    session = await ask("session.new", capabilities={})
    context = (await ask("browsingContext.getTree"))["contexts"][0]["context"]

    async def value(function: str) -> Any:
        asked = {"expression": f"({function})()", "awaitPromise": True, "target": {"context": context}}
        return (await ask("script.evaluate", **asked))["result"].get("value")

    await ask("browsingContext.navigate", context=context, url=f"file://{file}", wait="complete")
    await value(READY.format("/iteration 0/"))
    await value("() => document.getElementById('play').click()")
    await value(READY.format("/iteration [1-9]/"))
    fps = await value(f"async () => (await ({frames})({seconds}))[0]")
    status = await value("() => document.getElementById('status').textContent")
    socket.close()
    return {"version": session["capabilities"]["browserVersion"], "fps": round(fps, 1), "status": status}
