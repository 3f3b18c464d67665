"""A few values: the tables, the reader's own weights, and every method that can draw from them."""

import numpy as np
import pytest

from pmdviz.errors import InputError
from pmdviz.targets import make_target
from pmdviz.targets.without_data.categorical import TABLES


@pytest.mark.parametrize("table", TABLES)
def test_the_probabilities_are_those_of_the_table(table):
    target = make_target("categorical", table=table)
    values, probabilities = TABLES[table]
    np.testing.assert_allclose(np.exp(target.log_joint(np.array(values)[:, None])), probabilities, rtol=1e-12)
    assert sum(probabilities) == pytest.approx(1) and target.exact.log_z == pytest.approx(0, abs=1e-12)
    assert target.exact.mean[0] == pytest.approx(np.dot(values, probabilities))


def test_weights_of_one_s_own_are_divided_by_their_sum():
    target = make_target("categorical", table="own", weight_2=0, weight_4=6)
    assert target.space.values == (1.0, 3.0, 4.0, 5.0)
    np.testing.assert_allclose(target.probabilities, np.array([1, 1, 6, 1]) / 9)
    with pytest.raises(InputError, match="above 0 for at least two"):
        make_target("categorical", table="own", weight_1=0, weight_2=0, weight_3=0, weight_4=0)


def test_a_sweep_is_a_draw():
    target, rng = make_target("categorical"), np.random.default_rng(0)
    draws = np.array([target.gibbs_sweep(rng, np.zeros(1), target.data_rows)[0] for _ in range(5_000)])
    counts = np.array([(draws == value).sum() for value in target.space.values])
    expected = 5_000 * target.probabilities
    assert ((counts - expected) ** 2 / expected).sum() < 20  # 4 degrees of freedom
