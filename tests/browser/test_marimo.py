"""The lab in a real marimo notebook: `mo.ui.anywidget(lab.widget)` appears and plays, and asks no other server."""

import importlib.util
import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.support.browser import HELPERS_JS, await_answer, end, free_port

pytestmark = pytest.mark.nightly

NOTEBOOK = """
import marimo

app = marimo.App()


@app.cell
def _():
    import marimo as mo

    import pmdviz

    lab = pmdviz.Lab(num_particles=200, budget=None)
    mo.ui.anywidget(lab.widget)
    return
"""
STEPS_JS = """(least) => {
  const found = pmdviz.find(".pmdviz-status")?.textContent.match(/iteration ([\\d,]+)/)
  return Number(found?.[1].replaceAll(",", "") ?? -1) >= least
}"""


@pytest.fixture
def marimo(tmp_path) -> Iterator[str]:
    """The address of a marimo server with the notebook."""
    if importlib.util.find_spec("marimo") is None and not os.environ.get("CI"):
        pytest.skip("marimo is not installed: pip install marimo")
    (tmp_path / "lab.py").write_text(NOTEBOOK)
    port = free_port()
    command = [sys.executable, "-m", "marimo", "run", "lab.py", "--headless", "--no-token", "--port", str(port)]
    folders = {f"XDG_{name}_HOME": str(tmp_path / name) for name in ("CONFIG", "CACHE", "STATE", "DATA")}
    with (tmp_path / "log").open("w") as log:
        process = subprocess.Popen(
            command, cwd=tmp_path, env={**os.environ, **folders}, stdout=log, stderr=subprocess.STDOUT
        )
        try:
            await_answer(process, f"http://127.0.0.1:{port}/health")
            yield f"http://127.0.0.1:{port}"
        finally:
            end(process)


def test_it_appears_and_plays(marimo, browser):
    context = browser.new_context()
    page = context.new_page()
    problems, requests = [], []
    page.add_init_script(HELPERS_JS)
    page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("request", lambda request: requests.append(request.url))
    page.goto(marimo)
    page.wait_for_function(STEPS_JS, arg=0, timeout=120_000)
    page.get_by_role("button", name="Play", exact=True).click()
    page.wait_for_function(STEPS_JS, arg=5, timeout=60_000)
    context.close()
    assert problems == []
    assert [url for url in requests if not url.startswith((marimo, "blob:", "data:"))] == []
