"""The course: every notebook is well formed and stripped, asks before it runs, and runs from top to bottom."""

import re
from pathlib import Path

import nbclient
import nbformat
import pytest

from pmdviz.cli.notebooks import course

PAGE = Path(__file__).parents[2] / "docs" / "course.md"
COURSE = course()
NAMES = [path.stem for path in COURSE]
FOLDED = {
    "question": "# Run this cell: it asks a question",
    "verdict": "# Run this cell: the verdict on your answer",
    "solution": "# A solution: click to read it, run it to check it",
}
CELL_S = 120  # nothing is timed: a cell that hangs ends the test


@pytest.fixture(params=COURSE, ids=NAMES)
def notebook(request):
    return nbformat.read(request.param, as_version=4)


def tagged(notebook, tag):
    return [cell for cell in notebook.cells if tag in cell.metadata.get("tags", [])]


def code_of(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def test_they_are_numbered_in_order():
    assert len(NAMES) >= 10 and [name[:2] for name in NAMES] == [f"{k + 1:02d}" for k in range(len(NAMES))]


def test_a_notebook_is_well_formed_and_stripped(notebook):
    nbformat.validate(notebook)
    assert notebook.metadata.kernelspec.name == "python3"
    left = [cell.id for cell in code_of(notebook) if cell.outputs or cell.execution_count is not None]
    assert left == [], "strip it: jupyter nbconvert --clear-output --inplace notebooks/*.ipynb"


def test_the_ids_of_cells_count(notebook, request):
    start = request.node.callspec.id[:2]
    assert [cell.id for cell in notebook.cells] == [f"{start}-{k + 1:02d}" for k in range(len(notebook.cells))]


def test_a_question_stands_before_each_run_and_is_answered(notebook):
    steps = [
        cell for cell in notebook.cells if {"question", "answer", "run", "verdict"} & {*cell.metadata.get("tags", [])}
    ]
    assert len(steps) >= 8 and len(steps) % 4 == 0
    for question, answer, run, verdict in zip(*(steps[k::4] for k in range(4)), strict=True):
        (name,) = re.findall(r"^(\w+) = pmdviz\.Question\(", question.source, flags=re.M)
        assert question.source.endswith(f"\n{name}")
        assert re.match(rf'{name}\.answer\("[abc]"\)', answer.source)
        assert run.source.startswith(f"{name}.reveal()\n")
        assert f"\n{name}.verdict(" in verdict.source
    order = [tag for cell in steps for tag in cell.metadata.tags]
    assert order == ["question", "answer", "run", "verdict"] * (len(steps) // 4)


def test_what_gives_an_answer_away_is_folded_behind_a_line_that_does_not(notebook):
    # JupyterLab shows the first line of folded code.
    folded = [cell for cell in notebook.cells if cell.metadata.get("jupyter", {}).get("source_hidden")]
    given_away = [cell for tag in FOLDED for cell in tagged(notebook, tag)]
    assert {cell.id for cell in folded} == {cell.id for cell in given_away}
    for tag, line in FOLDED.items():
        assert {cell.source.splitlines()[0] for cell in tagged(notebook, tag)} == {line}


def test_the_letters_of_the_answers_do_not_give_the_right_one_away(notebook):
    def letters(tag, call):
        found = (re.search(rf'\.{call}\("([abc])"', cell.source) for cell in tagged(notebook, tag))
        return [match[1] for match in found]

    assert letters("answer", "answer") != letters("verdict", "verdict")


def test_figures_are_asserted_in_the_text_and_in_both_folded_solutions(notebook):
    assert sum(cell.source.count("\nassert ") for cell in tagged(notebook, "run")) >= 2
    solutions = tagged(notebook, "solution")
    assert len(solutions) == len(tagged(notebook, "exercise")) == 2
    for exercise, solution in zip(tagged(notebook, "exercise"), solutions, strict=True):
        assert "<details><summary>Hint</summary>" in exercise.source
        assert "\nassert " in solution.source or "\n    assert " in solution.source


def test_a_question_announces_each_figure_and_words_say_what_it_shows(notebook):
    for k, cell in enumerate(notebook.cells):
        if "run" in cell.metadata.get("tags", []) and re.search(r"plt\.subplots|^Image\(", cell.source, flags=re.M):
            before = [one.source for one in notebook.cells[:k] if one.cell_type == "markdown"][-1]
            after = next(one.source for one in notebook.cells[k:] if one.cell_type == "markdown")
            assert "?" in before, cell.id
            assert re.match(r"\*\*What the (figures?|film) shows?\.\*\*", after), cell.id


def test_the_lab_is_the_last_line_of_a_cell(notebook):
    (cell,) = tagged(notebook, "lab")
    assert re.fullmatch(r"pmdviz\.(Lab|Race)\(.+\)", cell.source)


def test_the_page_of_the_course_lists_them_and_its_lines_run():
    page = PAGE.read_text(encoding="utf-8")
    assert re.findall(r"\]\(\.\./notebooks/(.+)\.ipynb\)", page) == NAMES
    (block,) = re.findall(r"```python\n(.*?)```", page, flags=re.S)
    scope = {}
    exec("import pmdviz\n" + block, scope)
    assert repr(scope["guess"]).startswith("You said a; it is b")


@pytest.mark.slow
def test_a_notebook_runs_from_top_to_bottom(notebook, tmp_path):
    nbclient.NotebookClient(
        notebook, timeout=CELL_S, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    ).execute()
    assert all(cell.execution_count for cell in code_of(notebook))
    outputs = [output for cell in code_of(notebook) for output in cell.outputs]
    assert [output for output in outputs if output.output_type == "error"] == []
    assert (
        sum("image/png" in output.get("data", {}) or "image/gif" in output.get("data", {}) for output in outputs) >= 1
    )
    for cell in tagged(notebook, "verdict"):
        assert cell.outputs[-1].data["text/markdown"].startswith("You said **")


@pytest.mark.slow
def test_a_run_is_closed_until_an_answer_is_stored(tmp_path):
    notebook = nbformat.read(COURSE[0], as_version=4)
    notebook.cells = [cell for cell in notebook.cells[:6] if "answer" not in cell.metadata.get("tags", [])]
    client = nbclient.NotebookClient(
        notebook,
        timeout=CELL_S,
        kernel_name="python3",
        allow_errors=True,
        resources={"metadata": {"path": str(tmp_path)}},
    )
    client.execute()
    (refused,) = notebook.cells[-1].outputs
    assert refused.output_type == "error" and refused.ename == "Unanswered"
    assert refused.traceback == ["Not yet: store your answer first: .answer('a') or .answer('b') or .answer('c')"]
