"""The course: every notebook is well formed and stripped, asks before it runs, and runs from top to bottom."""

import copy
import re
import tomllib
from pathlib import Path

import pytest

from pmdviz.cli import course as forms
from pmdviz.cli.course import answered, course, execute, name_in, read, tags
from pmdviz.lessons.progress import points, read_sheet
from pmdviz.lessons.reading import LESSONS
from pmdviz.methods import METHODS
from pmdviz.presets import PRESETS
from pmdviz.targets import TARGETS
from tests.cli.test_cli import called

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
COURSE = course()
NAMES = [path.stem for path in COURSE]
TIERS = {NAMES[0]: pytest.mark.ci}  # all others at night
FOLDED = {"question", "verdict", "check", "solution", "helper"}
CLAIMS = Path(__file__).parent / "claims"  # what a notebook's figures show, held against its own variables
LONGEST = 15  # lines of a cell
STEPS = ["question", "run", "verdict"]


def tagged(notebook, tag):
    return [cell for cell in notebook.cells if tag in tags(cell)]


def code_of(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def with_claims(notebook, name):
    """A copy with the assertions of `claims/` after the cells that they are about."""
    from nbformat.v4 import new_code_cell

    made, path = copy.deepcopy(notebook), CLAIMS / f"{name}.txt"
    parts = re.split(r"^# after (\S+)\n", path.read_text(encoding="utf-8"), flags=re.M)[1:] if path.exists() else []
    for cell_id, source in zip(parts[::2], parts[1::2], strict=True):
        (at,) = (k for k, cell in enumerate(made.cells) if cell.id == cell_id)
        made.cells.insert(at + 1, new_code_cell(source))
    return made


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
        long = {cell.id: len(cell.source.splitlines()) for cell in code_of(notebook)}
        assert {cell_id: lines for cell_id, lines in long.items() if lines > LONGEST} == {}, path.name
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
    executed = execute(answered(with_claims(notebook, path.stem)), tmp_path)
    assert all(cell.execution_count for cell in code_of(executed))
    outputs = [output for cell in code_of(executed) for output in cell.outputs]
    assert [output for output in outputs if output.output_type == "error"] == []
    assert any({"image/png", "image/gif"} & {*output.get("data", {})} for output in outputs)
    for tag, words in (("verdict", "You said **"), ("check", "Nothing to check yet"), ("solved", "**Right**")):
        assert all(cell.outputs[-1].data["text/markdown"].startswith(words) for cell in tagged(executed, tag)), tag
    assert len(tagged(executed, "solved")) == len(tagged(notebook, "check"))
    in_view = "\n".join(cell.source for cell in of_students(path).cells)
    for cell in (*tagged(executed, "told"), *tagged(executed, "told-check")):
        of_number = re.search(r"^- (?:right: \*\*|`check` wants: )([^*\n]*)", forms.printed(cell), flags=re.M)
        right = of_number[1] if of_number else ""
        assert of_number or "(right)" in forms.printed(cell)
        assert not re.fullmatch(r"-?\d*\.\d{3,}", right) or right not in in_view, right
    key = forms.section(notebook, executed)
    assert key.count("**Question.**") == len(tagged(notebook, "question"))
    assert key.count("- `check` wants:") == len(tagged(notebook, "check"))


def of_students(path):
    return forms.student_form(read(path), path.stem)


def test_the_form_of_students_has_no_solution_and_no_right_value_in_view():
    for path in COURSE:
        notebook, student = read(path), of_students(path)
        in_view = "\n".join(cell.source for cell in student.cells)
        shown = {line.strip() for line in in_view.splitlines()}
        assert not tagged(student, "solution") and "verdict(" not in in_view and "pmdviz.check(" not in in_view
        for cell in [each for tag in ("verdict", "check", "solution", "helper") for each in tagged(notebook, tag)]:
            lines = {line.strip() for line in cell.source.splitlines()[1:] if len(line.strip()) > 25}
            others = {
                line.strip() for each in notebook.cells if not tags(each) & FOLDED for line in each.source.splitlines()
            }
            assert [line for line in lines - others if line in shown] == [], (path.name, cell.id)
        graded = [cell.metadata["nbgrader"] for cell in student.cells if "nbgrader" in cell.metadata]
        ids = [one["grade_id"] for one in graded]
        assert len({*ids}) == len(ids) and sum(one["grade"] for one in graded) == len(tagged(notebook, "check"))


def taken(path, folder, solved):
    """The student's form, executed: the first option of each question, and with `solved` each solution."""
    solutions = iter([cell.source for cell in tagged(read(path), "solution")])
    student, cells = of_students(path), []
    for cell in student.cells:
        if "check" in tags(cell) and solved:
            cells.append(forms._cell(student, f"{next(solutions)}\nmine = solved", f"put-{len(cells)}"))
        cell.source = cell.source.replace('student = ""', 'student = "ada"')
        cells.append(cell)
        if "question" in tags(cell):
            name = name_in(cell)
            answer = f'{name}.answer(next(iter({name}.choices), 1.0), "sure")'
            cells.append(forms._cell(student, answer, f"put-{len(cells)}"))
    student.cells = cells
    return execute(student, folder)


@pytest.mark.ci
@pytest.mark.parametrize("solved", [True, False])
def test_a_student_hands_in_points_that_nbgrader_can_read(solved, tmp_path):
    (path,) = (path for path in COURSE if path.stem == "24-write-the-step")
    executed = taken(path, tmp_path, solved)
    shown = [float(cell.outputs[-1].data["text/plain"]) for cell in tagged(executed, "points")]
    assert shown == [float(solved)] * 4
    found = read_sheet((tmp_path / f"{path.stem}-ada.json").read_text(encoding="utf-8"), "it")
    assert not solved or "halved" in [row["task"] for row in found["answers"] if row["grade"]]
    assert points(found) == (4.0 * solved, 5.0) and found["student"] == "ada"


@pytest.mark.ci
def test_copies_with_a_badge_open_in_colab_and_the_instructors_key_has_every_question(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr("pmdviz.cli.course.course", lambda: COURSE[:1])
    assert called(capsys, "notebooks", tmp_path, "--student", "--colab", "ada/course")[0] == 0
    first = read(tmp_path / COURSE[0].name).cells[0].source
    assert f"(https://colab.research.google.com/github/ada/course/blob/main/{COURSE[0].name})" in first
    status, _, err = called(capsys, "notebooks", tmp_path, "--force", "--colab", "ada")
    assert status == 2 and "owner/name" in err
    assert called(capsys, "notebooks", tmp_path, "--student", "--instructor")[0] == 2
    status, out, _ = called(capsys, "notebooks", tmp_path, "--instructor", "--force")
    key = (tmp_path / forms.KEY).read_text(encoding="utf-8")
    assert status == 0 and out.rstrip().endswith(str(tmp_path / forms.KEY))
    assert key.count("**Question.**") == len(tagged(read(COURSE[0]), "question")) and "(right)" in key


def test_binder_installs_extras_that_there_are():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    (line,) = (ROOT / ".binder" / "requirements.txt").read_text().splitlines()
    assert {*line.removeprefix(".[").removesuffix("]").split(",")} <= {*extras}
    assert (ROOT / ".binder" / "postBuild").stat().st_mode & 0o111
