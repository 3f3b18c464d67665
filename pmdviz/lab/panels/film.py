"""What is seen while kernels compile: a stored film of a preset, which `python -m pmdviz.lab.loop.record` makes."""

from __future__ import annotations

import base64
import html
from pathlib import Path

import panel as pn

from pmdviz.lab import css
from pmdviz.lab.panels.card import Card
from pmdviz.presets import PRESETS

FOLDER = Path(__file__).parents[1] / "static"
FILM, STILL, ABOUT = (FOLDER / f"film.{suffix}" for suffix in ("gif", "png", "json"))
PRESET = PRESETS["two_modes"]
CAPTION = f"A recording of “{PRESET.title}”, until the lab itself is ready."


class FilmCard(Card):
    """The film over the pictures; a still for who has asked for less motion. It is let go of when it is hidden."""

    def __init__(self, playing: bool) -> None:
        self.picture = pn.pane.HTML("", sizing_mode="stretch_width", margin=0, stylesheets=[css.static("film.css")])
        super().__init__("pmdviz-film", css.static("film_card.css"), self.picture)
        if playing:
            self.picture.object = _figure()
            self.reveal()

    def hide(self) -> None:
        """Take it away, and the quarter of a megabyte that it weighs."""
        if self.shown:
            super().hide()
            self.picture.object = ""


def _data_url(path: Path) -> str:
    return f"data:image/{path.suffix[1:]};base64,{base64.b64encode(path.read_bytes()).decode()}"


def _figure() -> str:
    moving, still, words = _data_url(FILM), _data_url(STILL), html.escape(CAPTION)
    return (
        f'<figure><picture><source media="(prefers-reduced-motion: reduce)" srcset="{still}">'
        f'<img src="{moving}" alt="{words}"></picture><figcaption>{words}</figcaption></figure>'
    )
