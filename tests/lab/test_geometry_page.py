"""The Geometry page without a browser: settings, steps, a dragged start, Play."""

import numpy as np
import pytest

from pmdviz.lab.pages.geometry import GeometryPage
from pmdviz.scenes.geometry import place


@pytest.fixture
def page():
    return GeometryPage()


def test_a_dragged_start_is_taken_and_nonsense_is_not(page):
    q = np.array([0.2, 0.5, 0.3])
    at = place(q)
    page._drag({"x": [float(at["x"][0])], "y": [float(at["y"][0])]})
    np.testing.assert_allclose(page.geometry.start, q)
    assert page.form.controls["start"].value == "moved"
    for nonsense in ({}, {"x": [], "y": []}, {"x": ["a"], "y": [0.1]}, {"x": [float("nan")], "y": [0.1]}):
        page._drag(nonsense)
    np.testing.assert_allclose(page.geometry.start, q)
    page.form.controls["start"].receive({"value": "equal"})
    np.testing.assert_allclose(page.geometry.start, 1 / 3)
    page.form.controls["start"].receive({"value": "moved"})
    np.testing.assert_allclose(page.geometry.start, q)
