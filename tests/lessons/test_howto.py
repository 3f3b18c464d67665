"""docs/tutorials/write-a-lesson.md, followed to the letter: after each change the file is a lesson without a fault."""

import re
from pathlib import Path

from pmdviz.cli import main

PAGE = (Path(__file__).parents[2] / "docs" / "tutorials" / "write-a-lesson.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"(?:<!-- after (\S+) -->\n)?````markdown\n(.*?)````", re.S)
STEP_NAME = re.compile(r"^```\{step\} (\S+)$", re.M)


def stages():
    """The file after each change: a step is put in place of the one of its name, or at the end, or after another."""
    head, steps, found = "", {}, []
    for after, block in BLOCK.findall(PAGE):
        name = STEP_NAME.search(block)[1]
        before, step = block[: block.index("```{step}")], block[block.index("```{step}") :]
        head = before or head
        if after:
            place = [*steps].index(after) + 1
            steps = dict([*[*steps.items()][:place], (name, step), *[*steps.items()][place:]])
        else:
            steps[name] = step
        found.append(head + "\n".join(steps.values()))
    return found


def test_each_change_leaves_a_lesson_that_the_check_has_nothing_against(tmp_path, capsys):
    files = []
    for k, text in enumerate(stages()):
        (tmp_path / str(k)).mkdir()
        files.append(tmp_path / str(k) / "few_particles.md")
        files[-1].write_text(text, encoding="utf-8")
    assert files
    assert main.main(["lessons", "check", *map(str, files)]) == 0
    assert capsys.readouterr().out.count("nothing is wrong") == len(files)
