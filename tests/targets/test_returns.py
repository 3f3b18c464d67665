"""Returns from files and packages: what is read, and a sentence for what cannot be."""

import numpy as np
import pytest

from pmdviz.targets import make_target
from pmdviz.targets.rows import returns

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


@pytest.mark.nightly
def test_returns_of_the_index_are_percents_of_its_closings():
    pytest.importorskip("inference_gym.internal.datasets.sp500_closing_prices", exc_type=ImportError)
    closings = returns.closings()
    target = make_target("stochastic_volatility", data="sp500", num_data=5)
    expected = 100 * np.log(closings[-5:] / closings[-6:-1])
    np.testing.assert_allclose(target.returns, expected - expected.mean(), rtol=1e-10)
    assert len(closings) == 2517
