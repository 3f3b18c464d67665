"""`pmdviz notebooks`, `demos` and `answers`: the course, what a lecturer shows, and what students hand in.

The notebooks are in the form of students, without right values, or with the key for instructors.
"""

from __future__ import annotations

import argparse
import base64
import copy
import re
import tempfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from string import Template
from typing import Any

from pmdviz.cli.tools import folder_with
from pmdviz.errors import InputError, shown
from pmdviz.files import check_html_path, made_folder, put_text, write_json, write_text

# `pmdviz notebooks`: copy the course out of the installed package.


def notebooks_arguments(parser: argparse.ArgumentParser) -> None:
    """The command line of `pmdviz notebooks`: a folder."""
    add = parser.add_argument
    add("folder", metavar="DIR", help="folder for the copies, created if missing")
    add("--force", action="store_true", help="overwrite files of the same names")
    add("--colab", metavar="OWNER/NAME", help="begin each with a badge that opens it in Colab")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--student", action="store_true", help="no solutions, right values sealed, a cell that hands in")
    form.add_argument("--instructor", action="store_true", help="run them all and write the key with every answer")


def course() -> list[Path]:
    """The notebooks of the course, in their order. Raises InputError where the installation has none."""
    form = "[0-9][0-9]-*.ipynb"
    return sorted(folder_with("notebooks", form).glob(form))


def notebooks(options: argparse.Namespace) -> None:
    """Copy them all, or none. Raises InputError for a folder that cannot be written, or files that are there."""
    sources, folder = course(), made_folder(options.folder)
    there = [source.name for source in sources if (folder / source.name).exists()]
    if there and not options.force:
        raise InputError(f"{folder / there[0]} is there already; --force writes over it, or name another folder")
    for source in sources:
        put_text(folder / source.name, _form(source, options))
    print(f"{len(sources)} notebooks in {folder}; open them with: jupyter lab {folder}")
    if options.instructor:
        print(f"the key is in {write_key(sources, folder)}")


BADGE = "[![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)]({})\n\n"
COLAB = "https://colab.research.google.com/github/{}/blob/main/{}"
REPOSITORY = re.compile(r"[\w.-]+/[\w.-]+")


def _form(source: Path, options: argparse.Namespace) -> str:
    """The text of a copy. Raises InputError for a repository that is none."""
    if not options.student and options.colab is None:
        return source.read_text("utf-8")
    made = read(source)
    if options.student:
        made = student_form(made, source.stem)
    if options.colab is not None:
        if not REPOSITORY.fullmatch(options.colab):
            raise InputError(f"--colab takes a repository on GitHub, as owner/name, not {shown(options.colab)}")
        made.cells[0].source = BADGE.format(COLAB.format(options.colab, source.name)) + made.cells[0].source
    return written(made)


# The student's form: `pmdviz notebooks DIR --student`.

SEALED = '{}\npmdviz.sealed("{}", "{}")'
POINTS = '# Run this cell: your points\npmdviz.points("{}")'
REPORT = """# Hand in: put your name or number between the quotes, then run this cell
student = ""
pmdviz.report(student, "{}")"""
NBGRADER = {"schema_version": 3, "grade": False, "locked": False, "solution": False, "task": False}


def student_form(notebook: Any, name: str) -> Any:
    """A copy without solutions, its verdicts and checks sealed; cells with points for nbgrader, and one to hand in."""
    made = copy.deepcopy(notebook)
    made.cells, question, exercises = [], "", 0
    for cell in copy.deepcopy(notebook.cells):
        kind = next(iter(tags(cell) & {"question", "verdict", "check", "solution", "helper"}), "")
        exercises += kind == "check"
        task = f"exercise {exercises}" if kind == "check" else question
        if kind == "question":
            question = name_in(cell)
        elif kind in ("verdict", "check", "helper"):
            cell.source = sealed(task, cell.source)
        if kind == "solution":
            continue
        if cell.source.startswith("# your code"):
            cell.metadata["nbgrader"] = {**NBGRADER, "solution": True, "grade_id": f"{name}-mine-{len(made.cells)}"}
        made.cells.append(cell)
        if kind == "check":
            graded = {**NBGRADER, "grade": True, "locked": True, "points": 1, "grade_id": f"{name}-{exercises}"}
            made.cells.append(_cell(made, POINTS.format(task), "points", nbgrader=graded))
    made.cells.append(_cell(made, REPORT.format(name), "report"))
    return made


def _cell(notebook: Any, source: str, tag: str, **metadata: Any) -> Any:
    """A code cell whose id is the same in each copy."""
    from nbformat.v4 import new_code_cell  # here: one of its libraries takes seconds to import

    return new_code_cell(source, id=f"{tag}-{len(notebook.cells)}", metadata={"tags": [tag], **metadata})


def sealed(task: str, source: str) -> str:
    """A cell that runs `source` without showing it; its first line, which says what to do, stays."""
    packed = base64.b64encode(zlib.compress(source.encode(), 9)).decode()
    return SEALED.format(source.split("\n")[0], task, packed)


def written(notebook: Any) -> str:
    """The text of a notebook's file."""
    import nbformat

    return nbformat.writes(notebook) + "\n"


# The instructor's key: `pmdviz notebooks DIR --instructor`.

CELL_S = 120  # nothing is timed: a cell that hangs ends the run
KEY = "instructor-key.md"
TOLD = "from pmdviz.cli import course as _course\nprint(_course.{})"
INTRODUCTION = """# The course: key for instructors

Each question of each notebook, the right answer, and the feedback for each answer, with the figures of a run. Students
see these texts only after they have answered.
"""


def tags(cell: Any) -> set[str]:
    """The tags of a cell."""
    return set(cell.metadata.get("tags", []))


def name_in(question: Any) -> str:
    """The variable that a question's cell makes."""
    (name,) = re.findall(r"^(\w+) = pmdviz\.Question\(", question.source, flags=re.M)
    return name


def read(path: Path) -> Any:
    """A notebook of the course."""
    import nbformat

    return nbformat.read(path, as_version=4)


def answered(notebook: Any) -> Any:
    """A copy with an answer after each question, and a solution held against its check; both print their key."""
    made = copy.deepcopy(notebook)
    made.cells, check = [], None
    cells = copy.deepcopy(notebook.cells)
    for cell, following in zip(cells, [*cells[1:], None], strict=True):
        made.cells.append(cell)
        kind = next(iter(tags(cell) & {"question", "verdict", "check", "solution"}), "")
        if kind == "question":
            name = name_in(cell)
            made.cells.append(_cell(made, f"{name}.answer(next(iter({name}.choices), 1.0))", "answer"))
        elif kind == "verdict":
            made.cells.append(_cell(made, TOLD.format(f"key_of_question({name})"), "told"))
        elif kind == "check":
            check = cell
            made.cells.append(_cell(made, TOLD.format("key_of_check(Out[max(Out)])"), "told-check"))
        elif kind == "solution" and check is not None and not (following and "solution" in tags(following)):
            made.cells.append(_cell(made, f"mine = solved\n{check.source}", "solved"))
            check = None
    return made


def execute(notebook: Any, folder: Path) -> Any:
    """Run a notebook in place, in a folder for what it writes."""
    from nbclient import NotebookClient

    where = {"metadata": {"path": str(folder)}}
    return NotebookClient(notebook, timeout=CELL_S, kernel_name="python3", resources=where).execute()


def printed(cell: Any) -> str:
    """What a cell printed."""
    return "".join(one.text for one in cell.outputs if one.output_type == "stream" and one.name == "stdout").strip()


def section(notebook: Any, executed: Any) -> str:
    """The part of the key about one notebook."""
    title = notebook.cells[0].source.split("\n")[0].removeprefix("# ")
    parts, run = [f"## {title}"], []
    for cell in executed.cells:
        kind = tags(cell)
        if "run" in kind:
            run = [cell]
        elif "figure" in kind:
            run.append(cell)
        elif "told" in kind:
            parts += [printed(cell), _figures(*run)]
        elif "exercise" in kind:
            words = cell.source.split("<details>")[0].replace("## Exercise", "**Exercise")
            parts.append(re.sub(r"^(\*\*Exercise \d+)\s*", r"\1.** ", words).strip())
        elif "told-check" in kind:
            parts.append(printed(cell))
        elif "solution" in kind:
            parts.append(_figures(cell))
    return "\n\n".join(part for part in parts if part) + "\n"


def key_of_question(question: Any) -> str:
    """A question of a notebook whose verdict is given: the right answer, and the text for each answer."""
    judged, choices = question.judgement, question.choices
    if not choices:
        near = f"{judged.tolerance:.0%}" if judged.tolerance else f"{judged.absolute:g} {question.unit}"
        lines = [f"- right: **{judged.right:.4g}** {question.unit}, give or take {near}".rstrip()]
        lines += [f"- {side}: {words}" for side, words in judged.texts.items()]
    else:
        lines = [
            f"- **{letter}** ({'right' if letter == judged.right else 'wrong'}), {words}: {judged.texts[letter]}"
            for letter, words in choices.items()
        ]
    return "\n".join([f"**Question.** {question.text}", "", *lines])


def key_of_check(checked: Any) -> str:
    """What a check wants, and what it says to known slips."""
    lines = [f"- `check` wants: {_value_words(checked.wanted)}"]
    return "\n".join([*lines, *(f"- to {_value_words(value)} it says: {words}" for value, words in checked.slips)])


def _value_words(value: Any) -> str:
    import numpy as np

    return "a function" if callable(value) else ", ".join(f"{one:.4g}" for one in np.asarray(value, float).flat[:8])


def _figures(*cells: Any) -> str:
    """The output of some cells in a block of text."""
    text = "\n".join(filter(None, map(printed, cells)))
    return f"```text\n{text}\n```" if text else ""


def write_key(notebooks: list[Path], folder: Path) -> Path:
    """Run the notebooks and write their key into a folder. Raises InputError where the extra `notebook` is missing."""
    if find_spec("nbclient") is None:
        raise InputError("the instructor's key needs nbclient: pip install 'pmdviz[notebook,export]'")
    parts = [INTRODUCTION]
    for path in notebooks:
        print(f"running {path.name}", flush=True)
        notebook = read(path)
        with tempfile.TemporaryDirectory() as place:
            parts.append(section(notebook, execute(answered(notebook), Path(place))))
    put_text(folder / KEY, "\n".join(parts))
    return folder / KEY


# `pmdviz demos`: the list, or a page with links, QR codes and measured answers.

HERE = "http://localhost:5006"


def demos_arguments(parser: argparse.ArgumentParser) -> None:
    """The command line of `pmdviz demos`."""
    add = parser.add_argument
    add("file", nargs="?", metavar="FILE.html", help="play each demo and write a page with QR codes and answers")
    add("--server", metavar="URL", default=HERE, help="address of your lab, for the links (default: %(default)s)")
    add("--markdown", action="store_true", help="print the page of the docs, without answers")


def demos(options: argparse.Namespace) -> None:
    """List them, or write the page. Raises InputError for a file that cannot be written."""
    if options.markdown:
        return print(demos_markdown())
    if options.file is not None:
        return _write_page(options.file, options.server.rstrip("/"))
    from pmdviz.lessons.reading import DEMOS, demo_link

    for name, demo in DEMOS.items():
        print(f"{demo.position}. {demo.title}: {options.server.rstrip('/')}/{demo_link(name)}")
        print(f"   Say: {demo.text}")
        print(f"   Ask: {_ask(demo).text}")


def _write_page(file: str, server: str) -> None:
    from markdown_it import MarkdownIt

    from pmdviz.lab.links import is_local

    path = check_html_path(file, "demos")
    body = MarkdownIt("commonmark", {"html": False}).render(demos_markdown(server, partial(print, flush=True)))
    template = Path(__file__).with_name("demos.html").read_text(encoding="utf-8")
    put_text(path, Template(template).substitute(body=body))
    print(f"the demos are in {path}; open it in a browser, or print it")
    if is_local(server):
        print("its links and codes open on this computer alone; for a class, give the server's address with --server")


def demos_markdown(server: str = "", tell: Callable[[str], None] = lambda words: None) -> str:
    """Title, link, sentence and question of each demo; with a server QR codes and measured answers too.

    `tell` is called with a line before each demo.
    """
    from pmdviz.lessons.playing import Player
    from pmdviz.lessons.reading import DEMOS

    player, sections = Player(), []
    for demo in DEMOS.values():
        tell(f"demo {demo.position} of {len(DEMOS)}: {demo.title}")
        sections.append(_section(demo, server, player))
    return "\n\n".join(sections)


def _section(demo: Any, server: str, player: Any) -> str:
    import segno

    from pmdviz.lessons.reading import demo_link

    address = f"{server}/{demo_link(demo.name)}"
    parts = [f"## {demo.position}. {demo.title}", f"[{address}]({address})" if server else f"`{address}`"]
    parts += [f"![QR code of the link]({segno.make_qr(address, error='m').png_data_uri(scale=4)})"] if server else []
    parts += [f"**Say:** {demo.text}", f"**Ask:** {_ask(demo).text}"]
    parts += ["\n".join(f"- {letter}) {one.say}" for letter, one in _ask(demo).options.items())]
    if server:
        parts += [f"**Answer:** {measured_answer(demo, player)}", f"**Afterwards:** {demo.steps[0].reveal}"]
    return "\n\n".join(parts)


def _ask(demo: Any) -> Any:
    """The one question of a demo."""
    (ask,) = demo.steps[0].asks.values()
    return ask


def measured_answer(demo: Any, player: Any) -> str:
    """The right option of a demo, and why, with the numbers of its run."""
    from pmdviz.presets import scope_of

    scope = scope_of(player.run(demo.steps[0].recipe))
    (right,) = ((letter, one) for letter, one in _ask(demo).options.items() if one.is_right(scope))
    return f"{right[0]}) {right[1].say}. {right[1].because.words(scope)}"


# `pmdviz answers`: the files of students as one table.


ORDER = "give the answers first, as in: pmdviz answers *.json --csv class.csv"


def answers_arguments(parser: argparse.ArgumentParser) -> None:
    """The command line of `pmdviz answers`."""
    add = parser.add_argument
    add("files", nargs="+", metavar="FILE", help="answers that students saved, as JSON")
    add("--csv", nargs="?", const="-", default="-", metavar="FILE", help="write the table as CSV; - is standard output")
    add("--json", metavar="FILE", help="write the table as JSON instead; - for standard output")
    add("--rows", action="store_true", help="a row for each answer, with confidence and seed, instead of points")
    add("--replay", action="store_true", help="play each lesson here, and judge its answers by that run")


def answers(options: argparse.Namespace) -> None:
    """Write the table. Raises InputError for a file that is none of answers, or to be written over one."""
    from pmdviz.lessons.playing import Player
    from pmdviz.lessons.progress import judged_again, read_sheet, rows_of, table
    from pmdviz.lessons.reading import text_of

    for name in (options.csv, options.json):  # an option takes the first file after it
        if name not in (None, "-") and Path(name).is_file() and '"pmdviz_answers"' in text_of(Path(name)):
            raise InputError(f"{name} is a file of answers, and the table would take its place; {ORDER}")
    if options.csv != "-" and Path(options.csv).suffix.lower() != ".csv":
        raise InputError(f"--csv writes a file that ends in .csv, such as class.csv, not {options.csv!r}; {ORDER}")
    found = [read_sheet(text_of(Path(name)), name) for name in options.files]
    if options.replay:  # of lessons; sheets of notebooks stay as they came
        player = Player()
        found = [judged_again(one, player) if one["lesson"] else one for one in found]
    rows = rows_of(found) if options.rows else table(found)
    if options.json is not None:
        return write_json(options.json, rows)
    return write_text(options.csv, as_csv(rows).rstrip("\n"))


def as_csv(rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows of the same names as CSV. A text that a spreadsheet would take for a formula gets an apostrophe."""
    from pmdviz.experiments.workers import csv_text

    return csv_text(({name: _csv_cell(value) for name, value in row.items()} for row in rows), rows[0] if rows else ())


def _csv_cell(value: Any) -> Any:
    if isinstance(value, float):
        return f"{value:g}"
    return f"'{value}" if isinstance(value, str) and value[:1] in "=+-@\t" and value else value
