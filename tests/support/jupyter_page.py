"""A fresh Jupyter server and a notebook in a real headless Chromium, for the bench and the tests of the widget."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

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


class Jupyter:
    """A server of its own settings, folders and port; `flavour` is LAB or NOTEBOOK."""

    def __init__(self, folder: Path, flavour: tuple[str, str] = LAB) -> None:
        self.folder, self.port, self._path = folder, free_port(), flavour[1]
        self.url = f"http://127.0.0.1:{self.port}"
        home = folder / "home"
        home.mkdir(parents=True)
        names = "JUPYTER_CONFIG_DIR JUPYTER_DATA_DIR JUPYTER_RUNTIME_DIR IPYTHONDIR JUPYTERLAB_SETTINGS_DIR".split()
        own = {name: str(home / name.lower()) for name in names}
        own["JUPYTERLAB_WORKSPACES_DIR"] = str(home / "workspaces")
        self.log = folder / "jupyter.log"
        self._out = self.log.open("w")
        command = [sys.executable, "-m", "jupyter", flavour[0], "--no-browser", "--allow-root", f"--port={self.port}"]
        command += ["--ServerApp.port_retries=0", "--IdentityProvider.token=", "--expose-app-in-browser"]
        command += [f"--ServerApp.root_dir={folder}", "--LabApp.news_url=None"]
        self.process = subprocess.Popen(
            command, env={**os.environ, **own}, stdout=self._out, stderr=subprocess.STDOUT, cwd=folder
        )
        self._await()

    def _await(self) -> None:
        try:
            await_answer(self.process, f"{self.url}/api", START_S)
        except RuntimeError as error:
            raise RuntimeError(f"{error}: {self.words()}") from error

    def words(self) -> str:
        """The log so far."""
        return self.log.read_text()

    def write(self, cells: Sequence[str]) -> None:
        """Put a notebook with these code cells into the folder."""
        written = [
            {"cell_type": "code", "id": f"c{k}", "metadata": {}, "execution_count": None, "outputs": [], "source": text}
            for k, text in enumerate(cells)
        ]
        kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
        whole = {"cells": written, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
        (self.folder / NAME).write_text(json.dumps(whole))

    def stop(self) -> None:
        """End the server; it ends its kernels."""
        end(self.process)
        self._out.close()

    def open(self, browser: Any, size: tuple[int, int] = (1440, 900)) -> NotebookPage:
        """The notebook in a page of the browser, its kernel ready."""
        return NotebookPage(browser, f"{self.url}/{self._path}/{NAME}", self.url, size)


@contextmanager
def jupyter(folder: Path, cells: Sequence[str], flavour: tuple[str, str] = LAB) -> Iterator[Jupyter]:
    """A fresh server with a notebook of these cells."""
    made = Jupyter(folder, flavour)
    try:
        made.write(cells)
        yield made
    finally:
        made.stop()


class NotebookPage:
    """A notebook in a browser; requests to other hosts end in `foreign`, errors of the page in `problems`."""

    def __init__(self, browser: Any, address: str, own: str, size: tuple[int, int]) -> None:
        self.foreign: list[str] = []
        self.problems: list[str] = []
        self.context = browser.new_context(viewport={"width": size[0], "height": size[1]})
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
        """Run cell k; its outputs."""
        return self.page.evaluate(RUN_JS, k)

    def ask(self, expression: str) -> Any:
        """What the kernel gives for an expression, in JSON; it is asked beside the cells. Raises RuntimeError."""
        said = self.page.evaluate(ASK_JS, f"import json; print(json.dumps({expression}))")
        try:
            return json.loads(said.splitlines()[-1])
        except (IndexError, ValueError) as error:
            raise RuntimeError(f"{expression}: {said}") from error

    def until(self, expression: str, seconds: float = 20.0) -> None:
        """Wait until an expression is true in the kernel."""
        end = time.monotonic() + seconds
        while not self.ask(f"bool({expression})"):
            if time.monotonic() > end:
                raise RuntimeError(f"not within {seconds:.0f} s: {expression}")
            self.page.wait_for_timeout(50)

    def command(self, name: str) -> None:
        """One of the notebook's own commands, such as `docmanager:save`."""
        self.page.evaluate("async (name) => { await window.jupyterapp.commands.execute(name) }", name)

    def close(self) -> None:
        """Close the browser's page."""
        self.context.close()
