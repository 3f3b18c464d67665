"""The run or the race as text: the Python that repeats it, and its recipe."""

from __future__ import annotations

from pmdviz.export.writer import Job, Writer


def _python(job: Job) -> None:
    job.path.write_text(job.film.python(), encoding="utf-8")


def _recipe(job: Job) -> None:
    job.path.write_text(job.film.recipe() + "\n", encoding="utf-8")


PYTHON = Writer(".py", "the lines of Python that repeat the run or the race as it stands", ("whole",), _python)
RECIPE = Writer(
    ".json", "the recipe: everything needed to replay the run or the race as it stands", ("whole",), _recipe
)
