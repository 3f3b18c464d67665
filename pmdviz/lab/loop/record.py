"""`python -m pmdviz.lab.loop.record` makes the film that is seen while kernels compile, from the preset itself."""

from __future__ import annotations

import io
import json
from typing import Any

from PIL import Image

from pmdviz.engine.recipe.recipe import Recipe
from pmdviz.engine.run import Run
from pmdviz.engine.session import Session
from pmdviz.lab.panels.film import ABOUT, FILM, PRESET, STILL
from pmdviz.version import __version__

BUDGET, FRAMES, SIZE, FPS = 6_000, 27, "720x405", 8


def recipe() -> Recipe:
    """What the film shows: the beginning of the preset's run."""
    return PRESET.recipe.limited(BUDGET)


def about(made: Run) -> dict[str, Any]:
    """What tells whether the film is still that of the run: its recipe, how it ended, and who made it."""
    plain = json.loads(made.recipe.to_json())
    plain.pop("made_with")  # other versions of NumPy make the same film
    return {"recipe": plain, "tv": round(made.frames[-1].metrics["tv"], 4), "pmdviz": __version__}


def main() -> None:
    """Write film, still and what is known of them."""
    session = Session(recipe())
    while not session.done:
        session.advance(1)
    made = session.run
    made.export(FILM, size=SIZE, frames=FRAMES, fps=FPS)
    still = io.BytesIO()
    with Image.open(FILM) as film:
        film.seek(film.n_frames - 1)
        film.convert("P").save(still, "png", optimize=True)
    STILL.write_bytes(still.getvalue())
    ABOUT.write_text(json.dumps(about(made), indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
