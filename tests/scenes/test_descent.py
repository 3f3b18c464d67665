"""Lines of descent: from the first particles that still have descendants to these."""

import numpy as np

from pmdviz import Recipe, Session
from pmdviz.methods import METHODS
from pmdviz.scenes.stage import SCENES
from pmdviz.scenes.stage.descent import FAINTEST, line_opacity
from pmdviz.targets import make_target

SCENE = SCENES["descent"]


def test_lines_lead_from_ancestors_to_particles():
    frame = Session(Recipe("mixture", "pmd", seed=0, num_particles=200)).advance(12)
    drawn = SCENE.columns(frame, (0, 1))
    starts = np.stack([drawn.paths["x0"], drawn.paths["y0"]], axis=1)
    ends = np.stack([drawn.paths["x1"], drawn.paths["y1"]], axis=1)
    np.testing.assert_array_equal(ends, frame.particles.astype(np.float32))
    np.testing.assert_array_equal(starts, frame.ancestry.first[frame.ancestry.rows].astype(np.float32))
    assert len(drawn.others["x"]) == frame.metrics["ancestors"] < 200
    assert not len(drawn.approximate["x"]) and len(drawn.exact["x"])


def test_a_line_is_darker_the_heavier_the_family():
    opacity = line_opacity(np.array([0, 0, 2]), np.array([0.4, 0.4, 0.2]), 3)
    np.testing.assert_allclose(opacity, [1.0, FAINTEST, FAINTEST + (1 - FAINTEST) * 0.5])


def test_where_it_applies():
    plane, line = make_target("mixture"), make_target("bimodal1d")
    assert {name for name, method in METHODS.items() if SCENE.applies(plane, method)} >= {"pmd", "smc", "smc_mcmc"}
    assert not SCENE.applies(plane, METHODS["svgd"]) and not SCENE.applies(line, METHODS["pmd"])
    assert not SCENE.applies(make_target("topics"), METHODS["particle_lda"])
