"""Returns from files and packages: what is read, and a sentence for what cannot be."""

import numpy as np
import pytest

from pmdviz.errors import InputError
from pmdviz.targets import make_target
from pmdviz.targets.rows import returns
from tests.support.tables import looped

GIVEN = np.array([0.5, -1.0, 2.0, 0.25, -0.75])


def target_of(path, count=5, **options):
    return make_target("stochastic_volatility", data=str(path), num_data=count, **options)


def written(tmp_path, text, name="returns.csv"):
    path = tmp_path / name
    path.write_text(text)
    return path


def test_the_last_returns_of_the_last_column_less_their_mean(tmp_path):
    path = written(tmp_path, "day,close,return\n" + "".join(f"{k + 3},{k * 7.5},{y}\n" for k, y in enumerate(GIVEN)))
    target = target_of(path, 4)
    np.testing.assert_allclose(target.returns, GIVEN[1:] - GIVEN[1:].mean())
    np.testing.assert_array_equal(target.data, np.column_stack([np.arange(4), target.returns]))
    assert target.true_path is None and target.dim == 7


def test_a_first_column_of_other_numbers_numbers_nothing(tmp_path):
    path = written(tmp_path, "close,return\n" + "".join(f"{k * 7.5},{y}\n" for k, y in enumerate(GIVEN)))
    np.testing.assert_allclose(target_of(path).returns, GIVEN - GIVEN.mean())


@looped(
    "text, words",
    [
        ("day,return\n1,0.5\n2,0.1\n4,0.2\n5,0.3\n6,0.1\n", "after 2 comes 4; a series must have no gaps"),
        ("3,0.5\n2,0.1\n1,0.2\n", "after 3 comes 2; a series must have no gaps"),
        ("1,0.5\n2,-1\n3,nan\n4,2\n5,1\n", "nan in row 3, column 2"),
        ("1,0.5\n2,\n3,1\n4,2\n5,1\n", "no table of numbers|nan in row 2"),
        ("1,0.5\n2,-1\n3,2\n4,1\n", "num_data must be at most 4 with data .*; given: 5"),
        ("1,2\n2,2\n3,2\n4,2\n5,2\n", "the last 5 returns of data .* are all equal"),
        ("r\n" + "0.5\n" * 5, "the last 5 returns of data .* are all equal"),
    ],
)
def test_what_cannot_be_a_series_is_said(tmp_path, text, words):
    with pytest.raises(InputError, match=words) as error:
        target_of(written(tmp_path, text))
    assert "\n" not in str(error.value)


@pytest.mark.nightly
def test_returns_of_the_index_are_percents_of_its_closings():
    pytest.importorskip("inference_gym.internal.datasets.sp500_closing_prices", exc_type=ImportError)
    closings = returns.closings()
    target = make_target("stochastic_volatility", data="sp500", num_data=5)
    expected = 100 * np.log(closings[-5:] / closings[-6:-1])
    np.testing.assert_allclose(target.returns, expected - expected.mean(), rtol=1e-10)
    assert len(closings) == 2517
