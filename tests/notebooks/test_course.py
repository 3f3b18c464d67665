"""The course: every notebook is well formed and stripped, asks before it runs, and runs from top to bottom."""

import difflib
import re
from collections import Counter
from pathlib import Path

import nbclient
import nbformat
import pytest

from pmdviz.cli.notebooks import course
from tests.support import course_key
from tests.support.course_key import answered, execute, name_in, printed, tags

PAGE = Path(__file__).parents[2] / "docs" / "course.md"
COURSE = course()
NAMES = [path.stem for path in COURSE]
FOLDED = {
    "question": "# Run this cell: it asks a question",
    "verdict": "# Run this cell: the verdict on your answer",
    "check": "# Run this cell: it checks `mine`",
    "solution": "# A solution: click to read it, run it to check it",
}
STEPS = ["question", "run", "verdict"]
FEWEST_WORDS = 400
# Symbol in the prose -> words of which one stands there too: nobody has to know what a letter means.
SYMBOLS = {
    r"\\gamma|γ": r"step size",
    r"\\eta|η": r"\beta\b.*(step|rate)|step size",
    r"\\theta|θ": r"parameter",
    r"\\chi|χ": r"chi-square",
    r"\$m\$|\bm\b": r"particles",
    r"\$h\$|h²|h\^2": r"bandwidth|kernel",
    r"N/B": r"batch",
    r"\bESS\b": r"effective sample size",
    r"\bTV\b": r"total variation",
    r"\bKL\b": r"Kullback-Leibler|divergence",
}


@pytest.fixture(params=COURSE, ids=NAMES)
def notebook(request):
    return nbformat.read(request.param, as_version=4)


def tagged(notebook, tag):
    return [cell for cell in notebook.cells if tag in tags(cell)]


def code_of(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def prose(notebook):
    """What a reader with folded code reads before any cell is run: no formulas on lines of their own, no code."""
    text = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    return re.sub(r"\$\$.*?\$\$|```.*?```|<details>.*?</details>", " ", text, flags=re.S)


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


def test_a_question_stands_before_each_run_and_nothing_answers_it(notebook):
    steps = [cell for cell in notebook.cells if {*STEPS} & tags(cell)]
    assert len(steps) >= 6 and [*map(tags, steps)] == [{tag} for tag in STEPS] * (len(steps) // 3)
    for question, run, verdict in zip(*(steps[k::3] for k in range(3)), strict=True):
        name = name_in(question)
        assert question.source.endswith(f"\n{name}.ask()")
        assert run.source.startswith(f"{name}.reveal()\n")
        assert f"\n{name}.verdict(" in verdict.source
    assert ".answer(" not in "".join(cell.source for cell in code_of(notebook))


def test_the_first_words_say_how_to_answer(notebook):
    assert re.search(r"[Cc]lick an answer", notebook.cells[0].source)


def test_at_least_one_question_is_for_a_number(notebook):
    assert any(re.search(r"\n    unit=", cell.source) for cell in tagged(notebook, "question"))


def test_what_gives_an_answer_away_is_folded_behind_a_line_that_does_not(notebook):
    # JupyterLab shows the first line of folded code.
    folded = [cell for cell in notebook.cells if cell.metadata.get("jupyter", {}).get("source_hidden")]
    given_away = [cell for tag in FOLDED for cell in tagged(notebook, tag)]
    assert {cell.id for cell in folded} == {cell.id for cell in given_away}
    for tag, line in FOLDED.items():
        assert {cell.source.splitlines()[0] for cell in tagged(notebook, tag)} <= {line}


def test_no_letter_is_right_far_more_often_than_the_others():
    verdicts = [cell.source for path in COURSE for cell in tagged(nbformat.read(path, as_version=4), "verdict")]
    right = Counter(match[1] for source in verdicts if (match := re.search(r'\.verdict\(\s*"(\w)"', source)))
    assert right.total() >= 20 and max(right.values()) <= 0.5 * right.total() and len(right) >= 3, right


def test_figures_are_asserted_in_the_text_and_in_both_folded_solutions(notebook):
    assert sum(cell.source.count("\nassert ") for cell in tagged(notebook, "run")) >= 2
    solutions = tagged(notebook, "solution")
    assert len(solutions) == len(tagged(notebook, "exercise")) == 2
    for exercise, solution in zip(tagged(notebook, "exercise"), solutions, strict=True):
        assert "<details><summary>Hint</summary>" in exercise.source
        assert "\nassert " in solution.source or "\n    assert " in solution.source


def test_a_check_judges_what_the_cell_before_it_leaves_open(notebook):
    cells = notebook.cells
    checks = [k for k, cell in enumerate(cells) if "check" in tags(cell)]
    assert checks
    for k in checks:
        assert cells[k - 1].source.startswith("# your code\n") and re.search(r"^mine = \.\.\.", cells[k - 1].source, re.M)
        assert "\npmdviz.check(" in cells[k].source
        assert "solution" in tags(cells[k + 1]) and re.search(r"^ *(def )?solved\b", cells[k + 1].source, re.M)


def test_the_prose_alone_says_enough_and_says_every_symbol_in_words(notebook):
    words = prose(notebook)
    assert len(re.findall(r"[A-Za-z]{2,}", re.sub(r"\$[^$]*\$|`[^`]*`", "", words))) >= FEWEST_WORDS
    unsaid = [sign for sign, said in SYMBOLS.items() if re.search(sign, words) and not re.search(said, words, re.I | re.S)]
    assert unsaid == []


def test_a_question_announces_each_figure_and_words_say_what_it_shows(notebook):
    for k, cell in enumerate(notebook.cells):
        if "run" in tags(cell) and re.search(r"plt\.subplots|^Image\(", cell.source, flags=re.M):
            before = [one.source for one in notebook.cells[:k] if one.cell_type == "markdown"][-1]
            after = next(one.source for one in notebook.cells[k:] if one.cell_type == "markdown")
            assert "?" in before, cell.id
            assert re.match(r"\*\*What the (figures?|film) shows?\.\*\*", after), cell.id


def test_the_lab_is_the_last_line_of_a_cell(notebook):
    (cell,) = tagged(notebook, "lab")
    assert re.fullmatch(r"pmdviz\.(Lab|Race)\(.+\)", cell.source)


def test_the_page_of_the_course_lists_them_and_its_lines_run():
    page = PAGE.read_text(encoding="utf-8")
    listed = re.findall(r"\]\(\.\./notebooks/(.+)\.ipynb\)", page)  # in the order in which to read them
    assert sorted(listed) == NAMES and listed[0] == NAMES[0]
    asking, checking = re.findall(r"```python\n(.*?)```", page, flags=re.S)
    scope = {}
    exec("import pmdviz\n" + asking + checking, scope)
    assert repr(scope["guess"]).startswith("You said a (sure); it is b") and "too high" in repr(scope["count"])


def test_the_key_is_of_these_notebooks(notebook, request):
    name = request.node.callspec.id
    part = course_key.sections().get(name, "")
    assert f"<!-- {name}: {course_key.digest(notebook)} -->" in part, "python -m tests.support.course_key " + name[:2]


def differences(one, other, share=0.05, most=0.3, few=0.05):
    """How two texts differ: in a word, in a figure by more than `most`, or in more than `few` of them by a `share`.

    A chain of resamplings takes another way on another machine, and a player is as large as its release of Bokeh.
    """
    number = r"\d[\d,]*\.?\d*(?:e-?\d+)?"
    words = [re.sub(number, "#", text).split() for text in (one, other)]
    if words[0] != words[1]:
        return [*difflib.unified_diff(*words, lineterm="", n=2)]
    pairs = [*zip(*([float(each.replace(",", "")) for each in re.findall(number, text)] for text in (one, other)))]
    far = [(a, b) for a, b in pairs if a != pytest.approx(b, rel=share, abs=0.02)]
    too_far = [(a, b) for a, b in far if a != pytest.approx(b, rel=most)]
    return far if too_far or len(far) > few * len(pairs) else []


def test_few_figures_may_differ_and_none_by_much_and_no_word():
    figures = "TV 0.512 of " + " and ".join(map(str, range(20)))
    assert not differences(figures, figures.replace("0.512", "0.514"))
    assert not differences(figures, figures.replace("0.512", "0.62"))
    for other in (figures.replace("0.512", "1.9"), figures.replace("TV", "KL"), figures.replace("1", "2"), figures + " or so"):
        assert differences(figures, other)


@pytest.mark.slow
def test_a_notebook_runs_from_top_to_bottom_as_its_key_says(notebook, request, tmp_path):
    executed = execute(answered(notebook), tmp_path)
    assert all(cell.execution_count for cell in code_of(executed))
    outputs = [output for cell in code_of(executed) for output in cell.outputs]
    assert [output for output in outputs if output.output_type == "error"] == []
    assert any({"image/png", "image/gif"} & {*output.get("data", {})} for output in outputs)
    for cell in tagged(executed, "verdict"):
        assert cell.outputs[-1].data["text/markdown"].startswith("You said **")
    for cell in tagged(executed, "check"):
        assert cell.outputs[-1].data["text/markdown"].startswith("Nothing to check yet")
    for cell in tagged(executed, "solved"):
        assert cell.outputs[-1].data["text/markdown"].startswith("**Right**")
    assert len(tagged(executed, "solved")) == len(tagged(notebook, "check"))
    name = request.node.callspec.id
    assert differences(course_key.section(name, notebook, executed), course_key.sections()[name]) == []


@pytest.mark.slow
def test_a_run_is_closed_until_an_answer_is_stored(tmp_path):
    notebook = nbformat.read(COURSE[0], as_version=4)
    first = next(k for k, cell in enumerate(notebook.cells) if "run" in tags(cell))
    notebook.cells = notebook.cells[: first + 1]
    client = nbclient.NotebookClient(notebook, allow_errors=True, kernel_name="python3")
    client.execute()
    (refused,) = notebook.cells[-1].outputs
    assert refused.output_type == "error" and refused.ename == "Unanswered"
    name = name_in(tagged(notebook, "question")[0])
    words = f'Not yet: answer the question above first, by its buttons or with {name}.answer("a")'
    assert refused.traceback == [words]
