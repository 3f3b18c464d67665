"""Eight schools on the page about your own model: its draws agree with posteriordb's."""

import re
from pathlib import Path

import numpy as np
import pytest

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
def test_the_blocks_agree_with_posteriordb(page):
    found = np.column_stack([page["effects"], page["mu"], page["tau"]])
    for row, own, values in [("mean", 0.3, found.mean(axis=0)), ("sd", 0.3, found.std(axis=0))]:
        np.testing.assert_allclose(values, table(f"{row}, posteriordb"), atol=own)
        np.testing.assert_allclose(values, table(f"{row}, long chains"), atol=own)
    assert page["run"].final.metrics["mean_error"] < 0.4


@pytest.mark.nightly
def test_the_chains_of_the_page_have_mixed(page):
    chains = page["eight_draws"]
    within, between = chains.var(axis=1).mean(axis=0), chains.mean(axis=1).var(axis=0, ddof=1)
    assert np.sqrt(1 + between / within).max() < 1.03
