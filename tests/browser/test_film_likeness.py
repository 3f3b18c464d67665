"""A film's stage looks like the page's, in the browser that draws the page."""

import io

import numpy as np
import pytest
from PIL import Image

import pmdviz
from pmdviz.export.figure import RunPicture
from pmdviz.export.films import Film
from pmdviz.export.options import Look
from tests.support.likeness import similarity

SIDE = 511  # px of the stage in a film of 960 x 540, where lengths are the page's own
LEGEND = 48  # px at its top: on the page they are the switches of the layers, and no part of the picture


def shot_of_stage(lab):
    """The page's stage at the size that the film's has."""
    for _ in range(20):
        (box,) = lab.boxes(".pmdviz-stage")
        x, y, width, height = (box[name] for name in ("x", "y", "width", "height"))
        if round(width) == SIDE == round(height):
            break
        view = lab.page.viewport_size
        lab.page.set_viewport_size({"width": view["width"], "height": view["height"] + SIDE - round(height)})
    else:
        raise AssertionError(f"the stage does not take a side of {SIDE} px: {width} x {height}")
    shot = lab.page.screenshot(clip={"x": x, "y": y, "width": width, "height": height})
    return np.asarray(Image.open(io.BytesIO(shot)).convert("RGB"))[LEGEND:SIDE, :SIDE]


def film_stage(iteration):
    """The same stage of a film frame."""
    session = pmdviz.Session(pmdviz.Recipe())
    session.advance(iteration)
    film = Film(session.run, Look.checked({}))
    scene = film.last_scene()
    picture = RunPicture(film, scene)
    return picture.draw(scene)[-SIDE:, :SIDE, :3][LEGEND:]


@pytest.mark.nightly
def test_the_stage_of_a_film_is_that_of_the_page(open_lab):
    lab = open_lab(viewport={"width": 1440, "height": 787})
    iteration = lab.paused_at(20)
    lab.wait("Bokeh.documents[0].is_idle")
    lab.at_rest("pmdviz.picture()", looks=10)  # the note of a rejuvenation goes
    page, film = shot_of_stage(lab), film_stage(iteration)
    assert similarity(page, film) >= 0.9
    assert (
        similarity(page, film) > similarity(page, film_stage(iteration + 10)) + 0.01
    )  # three steps are hardly to be seen
