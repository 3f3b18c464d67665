"""The lab in a real JupyterLab: appears, plays, is turned, is read back, ends with its cell, leaves a picture."""

import importlib.util
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import psutil
import pytest
from playwright.sync_api import TimeoutError

from tests.browser.test_tasks import COUNT_JS
from tests.support.browser import HELPERS_JS, await_answer, await_that, end, free_port

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


CELLS = (
    "import os, pmdviz\nlab = pmdviz.Lab(budget=None)\nlab",
    "other = pmdviz.Lab('bimodal1d', budget=None)\nother",
    "from ipywidgets import FloatSlider, VBox, jslink\n"
    "slider = FloatSlider(value=0.5, min=0.1, max=2, step=0.1)\n"
    "linked = pmdviz.Lab(num_particles=200)\n"
    "jslink((slider, 'value'), (linked.widget, 'bandwidth'))\n"
    "VBox([slider, linked.widget])",
    "import panel as pn\nframed = pmdviz.Lab(num_particles=200)\npn.Row(framed, 'beside it')",
)
IDLE = 3  # per cent of a core
ENDS_S = 60.0  # far beyond what a busy browser needs to say that a cell is gone
GIVEN_UP, TRIES = "[anywidget] Failed to initialize model.", 5
CELLS_JS = "window.jupyterapp.shell.currentWidget.content.widgets"


@pytest.fixture
def notebook(browser: object, tmp_path: Path) -> Iterator[NotebookPage]:
    """A notebook of its own in a JupyterLab of its own; its `folder` is where the notebook is saved."""
    if importlib.util.find_spec("jupyterlab") is None and not os.environ.get("CI"):
        pytest.skip("JupyterLab is not installed: pip install 'pmdviz[notebook]'")
    with jupyter(tmp_path, CELLS) as server:
        page = server.open(browser)
        page.folder = server.folder
        yield page
        page.close()
        assert page.foreign == [] and others(page) == []


def others(notebook: NotebookPage) -> list[str]:
    return [words for words in notebook.problems if words != GIVEN_UP]


def shown(notebook: NotebookPage, k: int) -> list[dict[str, Any]]:
    for _ in range(TRIES):
        outputs = notebook.run(k)
        late = time.monotonic() + 60
        while GIVEN_UP not in notebook.problems and time.monotonic() < late:
            if notebook.page.evaluate(f"!!pmdviz.find('.pmdviz-notebook', {CELLS_JS}[{k}].node)"):
                return outputs
            notebook.page.wait_for_timeout(50)
        notebook.problems[:] = others(notebook)
    raise AssertionError(f"cell {k} shows no widget after {TRIES} tries")


def play(notebook: NotebookPage, k: int = 0) -> None:
    notebook.page.get_by_role("button", name="Play", exact=True).nth(k).click()


def reach(notebook: NotebookPage, k: int, iteration: int) -> None:
    words = f"[...document.querySelectorAll('.pmdviz-notebook')][{k}]"
    found = f"pmdviz.find('.pmdviz-status', {words})?.textContent.match(/iteration ([\\d,]+)/)"
    notebook.page.wait_for_function(f"Number({found}?.[1].replaceAll(',', '') ?? -1) >= {iteration}", timeout=60_000)


def turn(notebook: NotebookPage, selector: str, key: str, moved: str) -> None:
    """Press a key on a control until the kernel says that it moved: JupyterLab may take the focus back meanwhile."""
    for _ in range(TRIES):
        notebook.page.locator(selector).first.press(key)
        with suppress(RuntimeError):
            return notebook.until(moved)
    raise AssertionError(f"{key} on {selector} never led to {moved}")


def command(notebook: NotebookPage, name: str, cell: int) -> None:
    notebook.page.evaluate(f"window.jupyterapp.shell.currentWidget.content.activeCellIndex = {cell}")
    notebook.command(name)


def test_a_lab_appears_plays_is_set_and_read_back(notebook):
    outputs = shown(notebook, 0)
    assert "application/vnd.jupyter.widget-view+json" in outputs[0]["data"]
    reach(notebook, 0, 0)
    whole, *parts = (
        notebook.page.evaluate(f"pmdviz.find('.pmdviz-{name}').getBoundingClientRect().toJSON()")
        for name in ("notebook", "stage", "brief", "play", "number")
    )
    assert whole["height"] <= 620
    assert all(whole["top"] <= part["top"] < part["bottom"] <= whole["bottom"] for part in parts)
    before = notebook.page.evaluate("pmdviz.picture()")
    notebook.page.evaluate(COUNT_JS)
    play(notebook)
    reach(notebook, 0, 5)
    assert notebook.page.evaluate("pmdviz.picture()") != before
    turn(notebook, "input[type=range][aria-label^='Bandwidth']", "ArrowLeft", "lab.session.knobs.bandwidth < 1")
    notebook.ask("lab.set(bandwidth=0.5)")
    notebook.page.wait_for_function("pmdviz.find('input#knob-bandwidth').value === '0.5'")
    assert notebook.ask("[lab.widget.bandwidth, len(lab.run.particles), lab.recipe.method]") == [0.5, 1500, "pmd"]
    assert notebook.ask("dict(lab.recipe.changes[-1][1])") == {"bandwidth": 0.5}
    assert notebook.page.evaluate("window.presses") == 1  # picture, Play and slider are in one view


@pytest.mark.nightly
def test_labs_do_not_disturb_each_other_compose_and_end_with_their_cells(notebook):
    for k in (0, 1):
        shown(notebook, k)
        reach(notebook, k, 0)
        play(notebook)  # the first one says Pause then
        reach(notebook, k, 5)
    assert notebook.ask("[lab.widget.playing, other.widget.playing]") == [True, True]
    paused = notebook.page.get_by_role("button", name="Play", exact=True)
    for _ in range(TRIES):  # JupyterLab, which makes the clicked cell the active one, may take the keys once more
        notebook.page.locator(".pmdviz-stage").nth(1).click(position={"x": 150, "y": 150})
        notebook.page.keyboard.press("Space")  # the keys are those of the lab that was clicked
        with suppress(TimeoutError):
            paused.wait_for(timeout=15_000)
            break
    assert notebook.ask("[lab.widget.playing, other.widget.playing]") == [True, False]
    shown(notebook, 2)
    reach(notebook, 2, 0)
    turn(notebook, ".noUi-handle", "ArrowRight", "slider.value == linked.session.knobs.bandwidth >= 0.6")
    shown(notebook, 3)
    notebook.until("framed._last is not None")
    play(notebook, -1)
    notebook.until("framed.widget.iteration >= 3")
    pid = notebook.ask("os.getpid()")
    notebook.ask("[each.live.play(each is lab) for each in (lab, other, linked, framed)]")
    reach(notebook, 0, 25)
    command(notebook, "notebook:delete-cell", 0)
    notebook.until("lab.live._task.done()", ENDS_S)  # idle alone would not do: nor does it compute for a busy page
    kernel = psutil.Process(pid)
    await_that(lambda: kernel.cpu_percent(1.5) < IDLE)
    assert notebook.ask("lab.session.frame.iteration >= 25")
    assert others(notebook) == []
    notebook.page.evaluate("window.jupyterapp.shell.currentWidget.sessionContext.restartKernel()")
    await_that(lambda: not psutil.pid_exists(pid))
    notebook.page.get_by_role("button", name="Play", exact=True).first.click()
    notebook.page.get_by_text("run the cell again").first.wait_for()
    notebook.problems.clear()  # JupyterLab complains of messages that were under way to the old kernel


OTHER_CELLS = (
    "import pmdviz\nlab = pmdviz.Lab(num_particles=200, budget=None)\nlab",
    "race = pmdviz.Race(['pmd:num_particles=50', 'smc:num_particles=50'], budget=1_000)\nrace",
)


@pytest.mark.nightly
def test_notebook_7_without_internet(browser, tmp_path):
    with jupyter(tmp_path, OTHER_CELLS, NOTEBOOK) as served:
        page = served.open(browser)
        shown(page, 0)
        play(page)
        page.until("lab.widget.iteration >= 3", 120)
        page.ask("[lab.set(bandwidth=0.5), setattr(lab.widget, 'playing', False)]")
        page.page.wait_for_function("pmdviz.find('input#knob-bandwidth').value === '0.5'")
        assert page.ask("[lab.widget.bandwidth, lab.recipe.method, len(lab.run.particles)]") == [0.5, "pmd", 200]
        page.run(1)
        page.until("race.widget.iteration >= 0", 120)
        assert page.foreign == []
        page.close()


MARIMO = """
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
STEPS_JS = "(least) => (window.pmdviz?.iteration() ?? -1) >= least"


@pytest.mark.nightly
def test_in_marimo_it_appears_and_plays(browser, tmp_path):
    if importlib.util.find_spec("marimo") is None and not os.environ.get("CI"):
        pytest.skip("marimo is not installed: pip install marimo")
    (tmp_path / "lab.py").write_text(MARIMO)
    port = free_port()
    command = [sys.executable, "-m", "marimo", "run", "lab.py", "--headless", "--no-token", "--port", str(port)]
    folders = {f"XDG_{name}_HOME": str(tmp_path / name) for name in ("CONFIG", "CACHE", "STATE", "DATA")}
    process = subprocess.Popen(command, cwd=tmp_path, env={**os.environ, **folders})
    try:
        await_answer(process, f"http://127.0.0.1:{port}/health")
        page, problems, requests = browser.new_page(), [], []
        page.add_init_script(HELPERS_JS)
        page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("request", lambda request: requests.append(request.url))
        page.goto(f"http://127.0.0.1:{port}")
        page.wait_for_function(STEPS_JS, arg=0, timeout=120_000)
        page.get_by_role("button", name="Play", exact=True).click()
        page.wait_for_function(STEPS_JS, arg=5, timeout=60_000)
        page.close()
        assert problems == []
        assert [url for url in requests if not url.startswith((f"http://127.0.0.1:{port}", "blob:", "data:"))] == []
    finally:
        end(process)
