"""PNG, SVG and PDF of the last frame."""

from __future__ import annotations

from functools import partial

from pmdviz.export.options import PICTURE_OPTIONS
from pmdviz.export.writer import DRAWING, Job, Writer


def _write(form: str, job: Job) -> None:
    scene = job.film.last_scene(lambda: job.progress(0, 1))
    job.film.picture(scene).save(scene, job.path, form)


def _writer(suffix: str, title: str) -> Writer:
    return Writer(suffix, title, (*PICTURE_OPTIONS, "transparent"), partial(_write, suffix[1:]), needs=DRAWING)


STILLS = (
    _writer(".png", "a picture of the last frame, in pixels"),
    _writer(".svg", "a picture of the last frame, in lines, for the web"),
    _writer(".pdf", "a picture of the last frame, in lines, for print"),
)
