"""A fresh Jupyter server and a notebook in a real headless Chromium, for the bench and the tests of the widget."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from tests.support.browser import HELPERS_JS, await_answer, end, free_port

START_S = 90.0
NAME = "lab.ipynb"
LAB, NOTEBOOK = ("lab", "lab/tree"), ("notebook", "notebooks")  # (command, path of the address)

# Runs in the page: the notebook that is open, once its kernel has answered and the page no longer works on its start:
# anywidget gives up a widget whose code has not been read two seconds after the cell, however busy the page is.
READY_JS = """
async () => {
  const app = window.jupyterapp
  await app.restored
  for (let k = 0; k < 600 && !app.shell.currentWidget?.context; k++) await new Promise((done) => setTimeout(done, 100))
  const panel = app.shell.currentWidget
  await panel.context.ready
  await panel.sessionContext.ready
  await panel.sessionContext.session.kernel.info
  for (let calm = 0; calm < 20; ) {
    const asked = performance.now()
    await new Promise((done) => setTimeout(done, 50))
    calm = performance.now() - asked < 100 ? calm + 1 : 0
  }
}
"""
RUN_JS = """
async (k) => {
  const app = window.jupyterapp, notebook = app.shell.currentWidget.content
  notebook.activeCellIndex = k
  await app.commands.execute("notebook:run-cell")
  return notebook.widgets[k].model.outputs.toJSON()
}
"""
ASK_JS = """
async (code) => {
  const said = []
  const future = window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.requestExecute({code})
  future.onIOPub = (m) => said.push(m.content.text ?? m.content.evalue ?? "")
  await future.done
  return said.join("")
}
"""


class NotebookPage:
    """A notebook in a browser; requests to other hosts end in `foreign`, errors of the page in `problems`."""

    def __init__(self, browser: Any, address: str, own: str) -> None:
        self.foreign: list[str] = []
        self.problems: list[str] = []
        self.context = browser.new_context(viewport={"width": 1440, "height": 900})
        self.page = self.context.new_page()
        self.page.add_init_script(HELPERS_JS)
        self._own = own
        self.page.route("**/*", self._let)
        self.page.on("pageerror", lambda error: self.problems.append(error.stack or str(error)))
        self.page.on("console", lambda m: self.problems.append(m.text) if m.type == "error" else None)
        self.page.goto(address)
        self.page.wait_for_function("window.jupyterapp !== undefined", timeout=60_000)
        self.page.evaluate(READY_JS)
        self.problems.clear()  # what the notebook's own page complains of while it opens

    def _let(self, route: Any) -> None:
        url = route.request.url
        if url.startswith((self._own, "blob:", "data:")):
            route.continue_()
        else:
            self.foreign.append(url)
            route.abort()

    def run(self, k: int) -> list[dict[str, Any]]:
        return self.page.evaluate(RUN_JS, k)

    def ask(self, expression: str) -> Any:
        """What the kernel gives for an expression, in JSON; it is asked beside the cells. Raises RuntimeError."""
        said = self.page.evaluate(ASK_JS, f"import json; print(json.dumps({expression}))")
        try:
            return json.loads(said.splitlines()[-1])
        except (IndexError, ValueError) as error:
            raise RuntimeError(f"{expression}: {said}") from error

    def until(self, expression: str, seconds: float = 20.0) -> None:
        end = time.monotonic() + seconds
        while not self.ask(f"bool({expression})"):
            if time.monotonic() > end:
                raise RuntimeError(f"not within {seconds:.0f} s: {expression}")
            self.page.wait_for_timeout(50)

    def command(self, name: str) -> None:
        self.page.evaluate("async (name) => { await window.jupyterapp.commands.execute(name) }", name)

    def close(self) -> None:
        self.context.close()


class Jupyter(NamedTuple):
    """A server of its own settings, folders and port."""

    folder: Path
    url: str
    path: str

    def open(self, browser: Any) -> NotebookPage:
        return NotebookPage(browser, f"{self.url}/{self.path}/{NAME}", self.url)


@contextmanager
def jupyter(folder: Path, cells: Sequence[str], flavour: tuple[str, str] = LAB) -> Iterator[Jupyter]:
    """A fresh server with a notebook of these cells; `flavour` is LAB or NOTEBOOK."""
    home, port, usual = folder / "home", free_port(), {"metadata": {}, "execution_count": None, "outputs": []}
    home.mkdir(parents=True)
    written = [{"cell_type": "code", "id": f"c{k}", "source": text, **usual} for k, text in enumerate(cells)]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    whole = {"cells": written, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    (folder / NAME).write_text(json.dumps(whole))
    names = "JUPYTER_CONFIG_DIR JUPYTER_DATA_DIR JUPYTER_RUNTIME_DIR IPYTHONDIR JUPYTERLAB_SETTINGS_DIR".split()
    own = {name: str(home / name.lower()) for name in (*names, "JUPYTERLAB_WORKSPACES_DIR")}
    command = [sys.executable, "-m", "jupyter", flavour[0], "--no-browser", "--allow-root", f"--port={port}"]
    command += ["--ServerApp.port_retries=0", "--IdentityProvider.token=", "--expose-app-in-browser"]
    command += [f"--ServerApp.root_dir={folder}", "--LabApp.news_url=None"]
    with (folder / "jupyter.log").open("w") as log:
        pipes = {"stdout": log, "stderr": subprocess.STDOUT}
        process = subprocess.Popen(command, env={**os.environ, **own}, cwd=folder, **pipes)
    try:
        await_answer(process, f"http://127.0.0.1:{port}/api", START_S)
        yield Jupyter(folder, f"http://127.0.0.1:{port}", flavour[1])
    except RuntimeError as error:
        raise RuntimeError(f"{error}: {(folder / 'jupyter.log').read_text()}") from error
    finally:
        end(process)
