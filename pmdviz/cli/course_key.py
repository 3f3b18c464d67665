"""The instructor's key: `pmdviz notebooks DIR --instructor`.

Every notebook runs with an answer after each question. The key has the questions, the right answers, the feedback for
each answer, and the figures of that run.
"""

from __future__ import annotations

import copy
import json
import re
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from pmdviz.errors import InputError
from pmdviz.files import atomic_write

CELL_S = 120  # nothing is timed: a cell that hangs ends the run
KEY = "instructor-key.md"
TOLD = """
import json as _json
_j = {name}.judgement
print(_json.dumps({{"text": {name}.text, "unit": {name}.unit, "choices": {name}.choices, "right": _j.right,
    "tolerance": _j.tolerance, "absolute": _j.absolute, "texts": {{**_j.texts}}}}))
"""
CHECKED = """
import json as _json
_c = Out[max(Out)]
print(_json.dumps({"words": _c.words, "wanted": _said(_c.wanted), "slips": [[_said(v), w] for v, w in _c.slips]}))
"""
SAID = """
def _said(value):
    import numpy as np
    if callable(value):
        return "a function"
    return ", ".join(f"{each:.4g}" for each in np.asarray(value, dtype=float).flat[:8])
"""
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
    """A copy with an answer after each question, and a solution held against its check; both tell what they hold."""
    from nbformat.v4 import new_code_cell  # here: one of its libraries takes seconds to import

    made = copy.deepcopy(notebook)
    made.cells, check = [new_code_cell(SAID)], None
    for cell in copy.deepcopy(notebook.cells):
        made.cells.append(cell)
        kind = next(iter(tags(cell) & {"question", "verdict", "check", "solution"}), "")
        if kind == "question":
            name = name_in(cell)
            _put(made, f"{name}.answer(next(iter({name}.choices), 1.0))", "answer")
        elif kind == "verdict":
            _put(made, TOLD.format(name=name), "told")
        elif kind == "check":
            check = cell
            _put(made, CHECKED, "told-check")
        elif kind == "solution" and check is not None:
            _put(made, f"mine = solved\n{check.source}", "solved")
            check = None
    return made


def _put(notebook: Any, source: str, tag: str) -> None:
    from nbformat.v4 import new_code_cell

    notebook.cells.append(new_code_cell(source, metadata={"tags": [tag]}))


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
    parts, run, exercises = [f"## {title}"], None, 0
    for cell in executed.cells:
        kind = tags(cell)
        if "run" in kind:
            run = cell
        elif "told" in kind:
            parts += [_question(json.loads(printed(cell))), _figures(run)]
        elif "exercise" in kind:
            exercises += 1
            parts.append(_exercise(cell))
        elif "told-check" in kind:
            parts.append(_check(json.loads(printed(cell))))
        elif "solution" in kind:
            parts.append(_figures(cell))
    return "\n\n".join(part for part in parts if part) + "\n"


def _question(told: dict[str, Any]) -> str:
    if not told["choices"]:
        near = f"{told['tolerance']:.0%}" if told["tolerance"] else f"{told['absolute']:g} {told['unit']}"
        lines = [f"- right: **{told['right']:.4g}** {told['unit']}, give or take {near}".rstrip()]
        lines += [f"- {side}: {words}" for side, words in told["texts"].items()]
    else:
        lines = [
            f"- **{letter}** ({'right' if letter == told['right'] else 'wrong'}), {words}: {told['texts'][letter]}"
            for letter, words in told["choices"].items()
        ]
    return "\n".join([f"**Question.** {told['text']}", "", *lines])


def _exercise(cell: Any) -> str:
    words = cell.source.split("<details>")[0].replace("## Exercise", "**Exercise")
    return re.sub(r"^(\*\*Exercise \d+)\s*", r"\1.** ", words).strip()


def _check(told: dict[str, Any]) -> str:
    lines = [f"- `check` wants: {told['wanted']}"]
    return "\n".join([*lines, *(f"- to {value} it says: {words}" for value, words in told["slips"])])


def _figures(cell: Any) -> str:
    return f"```text\n{printed(cell)}\n```" if cell is not None and printed(cell) else ""


def write(notebooks: list[Path], folder: Path) -> Path:
    """Run the notebooks and write their key into a folder. Raises InputError where the extra `notebook` is missing."""
    if find_spec("nbclient") is None:
        raise InputError("the instructor's key needs nbclient: pip install 'pmdviz[notebook,export]'")
    parts = [INTRODUCTION]
    for path in notebooks:
        print(f"running {path.name}", flush=True)
        notebook = read(path)
        with tempfile.TemporaryDirectory() as place:
            parts.append(section(notebook, execute(answered(notebook), Path(place))))
    with atomic_write(folder / KEY) as part:
        part.write_text("\n".join(parts), encoding="utf-8")
    return folder / KEY
