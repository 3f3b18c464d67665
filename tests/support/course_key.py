"""The instructor's key, made by running the course: `python -m tests.support.course_key [NUMBER ...]`.

Every notebook is executed with an answer put in after each question, and tells what its verdicts and checks hold.
"""

from __future__ import annotations

import copy
import hashlib
import json
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

from pmdviz.cli.tools import course

PAGE = Path(__file__).parents[2] / "docs" / "course-key.md"
CELL_S = 120  # nothing is timed: a cell that hangs ends the run
MADE_FROM = {"question", "verdict", "exercise", "check"}
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

What each notebook of the [course](course.md) asks, what is right, and what each answer is told, with the figures of
a run. Students see these texts only after they have answered. Made by `python -m tests.support.course_key`.
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


def digest(notebook: Any) -> str:
    """Of the cells that the key quotes."""
    quoted = "\0".join(cell.source for cell in notebook.cells if tags(cell) & MADE_FROM)
    return hashlib.sha256(quoted.encode()).hexdigest()[:12]


def printed(cell: Any) -> str:
    """What a cell printed."""
    return "".join(one.text for one in cell.outputs if one.output_type == "stream" and one.name == "stdout").strip()


def section(name: str, notebook: Any, executed: Any) -> str:
    """The part of the key about one notebook."""
    title = notebook.cells[0].source.split("\n")[0].removeprefix("# ")
    parts, run, exercises = [f"## {title}", f"<!-- {name}: {digest(notebook)} -->"], None, 0
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


def sections() -> dict[str, str]:
    """Name of a notebook -> its part of the page as it is."""
    text = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    parts = re.split(r"^(?=## \d)", text, flags=re.M)[1:]
    return {re.search(r"<!-- (\S+):", part)[1]: part.rstrip() + "\n" for part in parts}


def main(numbers: list[str]) -> None:
    """Write the parts of these notebooks, or all, anew."""
    kept = sections()
    for path in course():
        if not numbers or path.stem[:2] in numbers:
            notebook = read(path)
            with tempfile.TemporaryDirectory() as folder:
                kept[path.stem] = section(path.stem, notebook, execute(answered(notebook), Path(folder)))
            print(path.stem, flush=True)
            order = [each.stem for each in course() if each.stem in kept]
            PAGE.write_text("\n".join([INTRODUCTION, *(kept[name] for name in order)]), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
