"""The course: every notebook is well formed and stripped, asks before it runs, and runs from top to bottom."""

import re
from pathlib import Path

import pytest

from pmdviz.cli import main, tools
from pmdviz.cli.tools import answered, course, execute, name_in, read, tags
from pmdviz.lessons.reading import LESSONS
from pmdviz.methods import METHODS
from pmdviz.presets import PRESETS
from pmdviz.targets import TARGETS

DOCS = Path(__file__).parents[2] / "docs"
COURSE = course()
NAMES = [path.stem for path in COURSE]
TIERS = {NAMES[0]: pytest.mark.ci}  # all others at night
FOLDED = {"question", "verdict", "check", "solution"}
STEPS = ["question", "run", "verdict"]


def tagged(notebook, tag):
    return [cell for cell in notebook.cells if tag in tags(cell)]


def code_of(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def test_notebooks_are_well_formed_and_stripped_and_ask_before_they_run():
    import nbformat

    assert [name[:2] for name in NAMES] == [f"{k + 1:02d}" for k in range(len(NAMES))]
    for path in COURSE:
        notebook = read(path)
        nbformat.validate(notebook)
        left = [cell.id for cell in code_of(notebook) if cell.outputs or cell.execution_count is not None]
        assert left == [], f"strip it: jupyter nbconvert --clear-output --inplace {path.name}"
        steps = [cell for cell in notebook.cells if {*STEPS} & tags(cell)]
        assert steps and [*map(tags, steps)] == [{tag} for tag in STEPS] * (len(steps) // 3), path.name
        for question, run, verdict in zip(*(steps[k::3] for k in range(3)), strict=True):
            name = name_in(question)
            assert question.source.endswith(f"\n{name}.ask()"), (path.name, name)
            assert run.source.startswith(f"{name}.reveal()\n") and f"\n{name}.verdict(" in verdict.source, name
        assert ".answer(" not in "".join(cell.source for cell in code_of(notebook)), path.name
        folded = {cell.id for cell in notebook.cells if cell.metadata.get("jupyter", {}).get("source_hidden")}
        assert folded == {cell.id for tag in FOLDED for cell in tagged(notebook, tag)}, path.name
        cells = notebook.cells
        checks = [k for k, cell in enumerate(cells) if "check" in tags(cell)]
        assert checks, path.name
        for k in checks:
            assert re.search(r"^mine = \.\.\.", cells[k - 1].source, re.M), (path.name, k)
            assert "\npmdviz.check(" in cells[k].source and "solution" in tags(cells[k + 1]), (path.name, k)


def test_the_pages_of_the_course_name_what_there_is_and_their_lines_run():
    page = (DOCS / "tutorials" / "course-notebooks.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"\]\(\.\./\.\./notebooks/(.+)\.ipynb\)", page)) == NAMES
    scope = {}
    exec("import pmdviz\n" + "".join(re.findall(r"```python\n(.*?)```", page, flags=re.S)), scope)
    assert repr(scope["guess"]).startswith("You said a (sure); it is b") and "too high" in repr(scope["count"])
    plan = (DOCS / "teach" / "course-plan.md").read_text(encoding="utf-8")
    assert set(re.findall(r"\.\./notebooks/([\w-]+)\.ipynb", plan)) == {*NAMES}
    for kinds, there in (("lesson|challenge", LESSONS), ("preset", PRESETS)):
        named = set(re.findall(rf"(?:{kinds}) `(\w+)`", plan, flags=re.I))
        assert named and named <= {*there}, named - {*there}
    misconceptions = (DOCS / "teach" / "misconceptions.md").read_text(encoding="utf-8")
    played = set(re.findall(r"`(\w+)`[^|`]*\|$", misconceptions, flags=re.M))
    there = {*LESSONS, *PRESETS, *METHODS, *TARGETS}
    assert played and played <= there, played - there


@pytest.mark.parametrize(
    "path", [pytest.param(path, id=path.stem, marks=TIERS.get(path.stem, pytest.mark.nightly)) for path in COURSE]
)
def test_a_notebook_runs_from_top_to_bottom_and_has_a_key(path, tmp_path):
    notebook = read(path)
    executed = execute(answered(notebook), tmp_path)
    assert all(cell.execution_count for cell in code_of(executed))
    outputs = [output for cell in code_of(executed) for output in cell.outputs]
    assert [output for output in outputs if output.output_type == "error"] == []
    assert any({"image/png", "image/gif"} & {*output.get("data", {})} for output in outputs)
    for tag, words in (("verdict", "You said **"), ("check", "Nothing to check yet"), ("solved", "**Right**")):
        assert all(cell.outputs[-1].data["text/markdown"].startswith(words) for cell in tagged(executed, tag)), tag
    assert len(tagged(executed, "solved")) == len(tagged(notebook, "check"))
    key = tools.section(notebook, executed)
    assert key.count("**Question.**") == len(tagged(notebook, "question"))
    assert key.count("- `check` wants:") == len(tagged(notebook, "check"))


@pytest.mark.ci
def test_the_instructors_key_has_every_question_and_its_answers(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("pmdviz.cli.tools.course", lambda: COURSE[:1])
    assert main.main(["notebooks", str(tmp_path), "--instructor"]) == 0
    key = (tmp_path / tools.KEY).read_text(encoding="utf-8")
    assert capsys.readouterr().out.rstrip().endswith(str(tmp_path / tools.KEY))
    assert key.count("**Question.**") == len(tagged(read(COURSE[0]), "question")) and "(right)" in key
