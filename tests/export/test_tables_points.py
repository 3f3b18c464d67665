"""Approximations that are points: spins and topics have no density to write down."""

import pytest

import pmdviz


@pytest.fixture(scope="module")
def spins():
    return pmdviz.run(target="ising", method="gibbs", budget=20, budget_unit="evaluations", floor=False)


def test_their_table_has_no_density(spins, tmp_path):
    header = spins.export(tmp_path / "spins.csv", table="particles").read_text().splitlines()
    names = next(line for line in header if not line.startswith("#")).split(",")
    assert names[-1] == "weight" and names[0] == "theta1"
