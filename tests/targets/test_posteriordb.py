"""Eight schools on the page about your own model: its draws agree with posteriordb's."""

import re
from pathlib import Path

import numpy as np
import pytest

from pmdviz.targets import make_target

PAGE = Path(__file__).parents[2] / "docs" / "tutorials" / "your-own-model.md"


@pytest.fixture(scope="module")
def page():
    """What the blocks of the page bind."""
    scope: dict = {}
    for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.S):
        exec(compile(block, PAGE.name, "exec"), scope)
    return scope


def table(row):
    found = re.search(rf"^\| {row} \|(.*)\|$", PAGE.read_text(encoding="utf-8"), flags=re.M)
    return np.array([float(cell) for cell in found[1].split("|")])


@pytest.mark.nightly
def test_the_blocks_agree_with_the_exact_posterior_and_posteriordb_within_four_standard_errors(page):
    found = np.column_stack([page["effects"], page["mu"], page["tau"]])
    of_chains = found.reshape(60, 300, 10).mean(axis=1)
    mean, error = of_chains.mean(axis=0), of_chains.std(axis=0, ddof=1) / 60**0.5
    draws = make_target("eight_schools").exact.sample(np.random.default_rng(0), 200_000)
    exact = np.column_stack([draws[:, 1:], np.exp(draws[:, 0])])
    assert (np.abs(mean - exact.mean(axis=0)) < 4 * error).all()
    assert (np.abs(mean - table("mean, long chains")) < 4 * 2**0.5 * error).all()
    assert (np.abs(mean - table("mean, posteriordb")) < 4 * 2**0.5 * error).all()
    for row in ("s.e.", "sd"):
        values = error if row == "s.e." else found.std(axis=0)
        np.testing.assert_allclose(values, table(f"{row}, long chains"), rtol=0.5 if row == "s.e." else 0.1)
    assert page["run"].final.metrics["mean_error"] < 0.4


@pytest.mark.nightly
def test_the_chains_of_the_page_have_mixed(page):
    chains = page["eight_draws"]
    within, between = chains.var(axis=1).mean(axis=0), chains.mean(axis=1).var(axis=0, ddof=1)
    assert np.sqrt(1 + between / within).max() < 1.03
