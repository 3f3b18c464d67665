"""A question of the course in a real JupyterLab: buttons that a mouse and a keyboard reach; the run waits for them."""

from collections.abc import Iterator

import nbformat
import pytest

from pmdviz.cli.notebooks import course
from tests.support.course_key import name_in, tags
from tests.support.jupyter_page import NotebookPage, jupyter

pytestmark = pytest.mark.nightly

CELL_JS = "window.jupyterapp.shell.currentWidget.content.widgets"
NUMBER = 'import pmdviz\ncount = pmdviz.Question("How many?", unit="particles")\ncount.ask()'


def first_cells() -> list:
    """The code of notebook 01 up to its first verdict."""
    cells = [cell for cell in nbformat.read(course()[0], as_version=4).cells if cell.cell_type == "code"]
    return cells[: next(k for k, cell in enumerate(cells) if "verdict" in tags(cell)) + 1]


@pytest.fixture(scope="module")
def notebook(browser: object, tmp_path_factory: pytest.TempPathFactory) -> Iterator[NotebookPage]:
    pytest.importorskip("jupyterlab")
    sources = [*(cell.source for cell in first_cells()), NUMBER]
    with jupyter(tmp_path_factory.mktemp("course"), sources) as server:
        page = server.open(browser)
        yield page
        page.close()
        assert page.foreign == []


def words(notebook: NotebookPage, k: int) -> str:
    return notebook.page.evaluate(f"{CELL_JS}[{k}].outputArea.node.innerText")


def test_a_click_on_an_answer_lets_the_run_go_on(notebook):
    setup, question, run, verdict = range(4)
    name = name_in(first_cells()[question])
    notebook.run(setup)
    notebook.run(question)
    (refused,) = notebook.run(run)
    assert refused["ename"] == "Unanswered" and words(notebook, run).strip().startswith("Not yet: answer the question")
    notebook.page.get_by_role("button", name="b", exact=True).click()
    notebook.until(f"{name}.stored == 'b'")
    notebook.page.get_by_role("status").get_by_text("Stored: b.").wait_for()
    outputs = notebook.run(run)
    assert any("image/png" in output.get("data", {}) for output in outputs)
    notebook.page.get_by_text("Your answer is stored: b").wait_for()  # in place of the buttons
    assert notebook.page.get_by_role("button", name="b", exact=True).count() == 0
    assert notebook.run(verdict)[-1]["data"]["text/markdown"].startswith("You said **b**, and so it is")


def test_a_number_is_given_by_the_keyboard(notebook):
    notebook.run(4)
    field = notebook.page.get_by_label("Your number (particles):")
    field.fill("1,500")
    field.press("Enter")
    notebook.until("count.stored == 1500")
    confidence = notebook.page.get_by_label("How sure? (may be left out)")
    confidence.select_option("a guess")
    notebook.until("count.confidence == 'a guess'")
    notebook.page.get_by_role("status").get_by_text("Stored: 1,500 (a guess).").wait_for()
    notebook.page.get_by_role("button", name="Store", exact=True).focus()
    assert notebook.page.evaluate("document.activeElement.innerText") == "Store"
