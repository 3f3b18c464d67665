"""The essay's prose: every figure comes from a picture's rows, and what it says of the pictures is so."""

import re

import numpy as np
import pytest

from pmdviz.essay.build import HERE, NUMBER, SPECIAL, number, told
from pmdviz.essay.pictures import PICTURES, kept

SOURCE = (HERE / "essay.md").read_text(encoding="utf-8")
PROSE, REFERENCES = SOURCE.split("## References")
ROWS = {name: {row: np.array(values, float) for row, values in one["rows"].items()} for name, one in kept().items()}


def test_no_figure_is_written_by_hand():
    assert re.findall(r"\d+", SPECIAL.sub("", PROSE)) == []


def test_every_picture_is_shown_once_and_says_what_its_slider_changes():
    assert re.findall(r"^\[\[(\w+)\]\]$", PROSE, re.M) == [*PICTURES]
    for name, picture in PICTURES.items():
        caption = PROSE.split(f"[[{name}]]\n")[1].split("\n\n")[0]
        used = {found[2] for found in NUMBER.finditer(caption) if found[1] == name}
        assert len([row for row in used if len({*ROWS[name][row]}) > 1]) >= 2, name
        assert NUMBER.search(picture.said)


def test_every_number_has_a_text_for_every_value():
    for found in NUMBER.finditer(SOURCE):
        texts = number(*found.groups()).texts
        assert len(texts) == len(PICTURES[found[1]].values) and all(texts)
    for picture in PICTURES.values():
        assert len({*told(picture)}) == len(picture.values)


def test_the_cost_is_least_at_the_posterior_and_above_it_by_the_divergence():
    rows = ROWS["bayes"]
    np.testing.assert_allclose(rows["total"], rows["data"] + rows["prior"], rtol=2e-4)
    np.testing.assert_allclose(rows["gap"], rows["total"] - rows["least"], atol=2e-3)
    assert (rows["gap"] > 0).all() and rows["gap"].min() < 0.005
    assert rows["best_prior"][0] < rows["best_mean"][0] < rows["best_data"][0]


def test_a_step_does_better_than_its_bound():
    rows = ROWS["step"]
    assert (np.diff(rows["kl"]) < 0).all() and (rows["kl"] <= rows["bound"] + 1e-12).all() and rows["kl"][-1] == 0
    np.testing.assert_allclose(rows["bound"], rows["start"] * rows["kept"] / 100, rtol=1e-3)


def test_batches_wander_as_the_formula_says():
    rows = ROWS["steps"]
    np.testing.assert_allclose(rows["wander"], rows["predicted"], rtol=0.15)
    assert (rows["off"] < 3 * rows["predicted_off"]).all() and rows["wander"][-1] > 0.1


def test_weights_end_where_the_chi_squared_divergence_says():
    rows = ROWS["weights"]
    assert rows["ess"][0] == rows["m"][0] and (np.diff(rows["ess"]) < 0).all()
    assert rows["ess"][-1] == pytest.approx(rows["predicted"][0], rel=0.1)


def test_the_best_width_is_between_spikes_and_blur():
    rows = ROWS["width"]
    best = int(rows["tv"].argmin())
    assert (np.diff(rows["tv"][: best + 1]) < 0).all() and (np.diff(rows["tv"][best:]) > 0).all()
    assert 0 < best < len(rows["tv"]) - 1 and rows["best"][0] == rows["h"][best]


def test_smaller_steps_cost_more_and_one_kernel_costs_its_square():
    rows = ROWS["price"]
    assert (np.diff(rows["variance"]) < 0).all()
    np.testing.assert_allclose(rows["variance"], rows["formula"], rtol=0.02)
    np.testing.assert_allclose(rows["added"], rows["h"] ** 2)
    assert rows["once"][0] == pytest.approx(rows["exact"][0] + rows["added"][0], rel=0.02)


def test_runs_that_lost_a_mode_look_as_healthy_as_the_others():
    rows = ROWS["lost"]
    gone = rows["mass"] < rows["threshold"]
    assert gone.sum() == rows["lost"][0] and 1 <= gone.sum() < len(gone)
    assert (rows["share"] > 70).all() and (rows["forward"][gone] > 20).all()
    np.testing.assert_allclose(rows["tv"][gone], rows["exact"][gone], atol=0.05)
    np.testing.assert_allclose(rows["reverse"][gone], -np.log(1 - rows["exact"][gone]), atol=0.2)


def test_weights_alone_fail_in_more_dimensions_and_new_particles_later():
    rows = ROWS["dimension"]
    assert (np.diff(rows["weights"]) > 0).all() and rows["ess"][-1] < 1.5
    assert (rows["pmd"][1:] < rows["weights"][1:] / 10).all() and rows["pmd"][-1] > 2 * rows["exact"][-1]
    assert rows["pmd"][0] < rows["exact"][0]  # spread evenly
