"""The posterior of a classifier's hyperparameters: its rows, its reference, files of Glass and SUSY, bad rows."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from pmdviz.errors import InputWarning
from pmdviz.targets import enumeration as metropolis
from pmdviz.targets import make_target
from pmdviz.targets import series as songs
from pmdviz.targets.exact import DrawsReference, GaussianExact
from tests.support.tables import looped, refused

SMALL = {"num_rows": 30}


def test_the_rows_are_scikit_learns_and_keep_the_shares_of_the_classes():
    target, table = make_target("gp_classification", num_rows=90, columns=9), load_breast_cancer()
    assert target.data is None and target.dim == 10 and "gradient" not in target.offers
    assert target.feature_names[:3] == ("radius", "texture", "area")
    np.testing.assert_allclose([target.features.mean(axis=0), target.features.std(axis=0) - 1], 0, atol=1e-9)
    malignant, texture = table.target == 0, (table.data[:, 1] - table.data[:, 1].mean()) / table.data[:, 1].std()
    assert (target.classes == 1).sum() == round(90 * malignant.mean())
    ours = target.features[target.classes == 1, 1].mean()
    assert abs(ours - texture[malignant].mean()) < 0.5, "class 1 is malignant"


def test_the_prior_times_the_marginal_likelihood_is_the_density():
    target = make_target("gp_classification", **SMALL)
    theta = target.sample_prior(np.random.default_rng(0), 5)
    log_prior = -0.5 * (theta**2).sum(axis=1) / 1.5**2 - 3 * np.log(1.5 * np.sqrt(2 * np.pi))
    np.testing.assert_allclose(target.log_prior(theta), log_prior, rtol=1e-12)
    fixed = make_target("gp_classification", free_scale=False, **SMALL)
    at_one = np.column_stack([theta[:, :2], np.zeros(5)])
    expected = target.log_joint(at_one) - target.log_prior(at_one)
    np.testing.assert_allclose(fixed.log_joint(theta[:, :2]) - fixed.log_prior(theta[:, :2]), expected, rtol=1e-12)


class Oblique:
    """A Gaussian of correlation 0.9 as the chains see a target: they must find what is known on paper."""

    dim, scale, data_rows = 2, np.full(2, 3.0), np.empty((1, 0))
    known = GaussianExact(np.array([1.0, -2.0]), np.array([[1.0, 0.45], [0.45, 0.25]]))
    log_joint = known.log_density

    def sample_prior(self, rng, n):
        return 3 * rng.standard_normal((n, 2))

    def log_likelihood(self, theta, batch):
        return self.log_joint(theta) + 0.5 * (theta**2).sum(axis=1) / 9


def test_the_chains_find_a_gaussian():
    chains = metropolis.metropolis_chains(Oblique())
    made, sd = DrawsReference(chains), np.sqrt(np.diag(Oblique.known.cov))
    assert (np.abs(made.mean - Oblique.known.mean) / made.mean_error).max() < 6  # of eight chains: a t distribution
    assert (made.mean_error / sd).max() < 0.04
    np.testing.assert_allclose(made.cov / np.outer(sd, sd), [[1, 0.9], [0.9, 1]], atol=0.1)


def test_two_unknowns_are_known_on_a_grid():
    target = make_target("gp_classification", columns=1, num_rows=12)
    theta = target.sample_prior(np.random.default_rng(0), 20_000)
    weights = np.exp(target.log_likelihood(theta, target.data_rows))
    error = weights.std() / np.sqrt(len(weights)) / weights.mean()
    assert abs(target.exact.log_z - np.log(weights.mean())) < 4.5 * error < 0.1


GLASS_TYPES = np.random.default_rng(3).choice([1, 2, 3, 5, 6, 7], size=60)  # 1 to 3 windows, 5 to 7 others


def glass():
    x = np.random.default_rng(4).standard_normal((60, 9)) + (GLASS_TYPES > 4)[:, None]
    return np.column_stack([np.arange(1, 61), x, GLASS_TYPES])


@pytest.mark.filterwarnings("ignore::pmdviz.errors.InputWarning")
def test_the_file_of_glass(tmp_path):
    table = glass()
    given = {"data": str(written(tmp_path / "glass.data", table)), "columns": 9, "num_rows": 40, "free_scale": False}
    target = make_target("gp_classification", class_above=4, **given)
    assert target.dim == 9 and target.feature_names[0] == "column 2", "the first column numbers the rows"
    assert (target.classes == 1).sum() == round(40 * (table[:, -1] > 4).mean())
    first = table[np.random.default_rng(0).permutation(60)[0], 1:-1]  # the first of its class, which comes first
    kept = make_target("gp_classification", class_above=4, **{**given, "num_rows": 60})
    np.testing.assert_allclose(kept.features[0], ((first - table[:, 1:-1].mean(axis=0)) / table[:, 1:-1].std(axis=0)))
    words = "are of one class: class 1 is above class_above = 0.5, .* between 1 and 7"
    refused(words, make_target, "gp_classification", **given)


def test_the_file_of_susy_has_its_class_in_front(tmp_path):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 50)
    path = str(written(tmp_path / "SUSY.csv.gz", np.column_stack([y, rng.standard_normal((50, 18)) + y[:, None]])))
    target = make_target("gp_classification", free_scale=False, data=path, columns=18, num_rows=50)
    assert target.dim == 18 and (target.classes == 1).sum() == y.sum()
    one, other = (target.features[target.classes == sign].mean(axis=0) for sign in (1, -1))
    assert (one > other).all()


def table(n=50, seed=0):
    rng = np.random.default_rng(seed)
    return np.column_stack([rng.integers(1922, 2012, n), rng.normal(3.0, 5.0, size=(n, 90))])


def written(path, rows):
    np.savetxt(path, rows, delimiter=",", fmt="%.17g")  # packed where the name ends in .gz
    return path


@looped("block", [7, 50, 1000])
def test_a_streamed_file_is_the_table_scaled(tmp_path, monkeypatch, block):
    monkeypatch.setattr(songs, "BLOCK", block)
    rows = table()
    rows[:, 5] = 2.0  # a constant feature
    packed = songs.packed_songs(written(tmp_path / "songs.txt", rows), tmp_path / "songs.npy")
    assert isinstance(packed, np.memmap) and packed.dtype == np.float32 and packed.shape == (50, 91)
    x, year = rows[:, 1:], rows[:, 0]
    sd = np.where(x.std(axis=0) > 1e-9, x.std(axis=0), 1)
    expected = np.column_stack([(x - x.mean(axis=0)) / sd, (year - year.min()) / (year.max() - year.min())])
    np.testing.assert_allclose(packed, expected, atol=1e-5)
    np.testing.assert_allclose(songs.scaled_songs(rows, "t"), expected, atol=1e-12)


def test_a_bad_table_gets_a_sentence(tmp_path):
    holes = table()
    holes[8, 2] = np.nan
    for rows, words in [
        (table()[:, :81], "a year and 90 features, 91 numbers; it holds 81"),
        (holes, "has nan in line 9, column 3"),
        (table()[:, ::-1], "must be a year from 1900 to 2100; line 1 has"),
    ]:
        refused(words, songs.packed_songs, written(tmp_path / "bad.csv", rows), tmp_path / "out.npy")
        assert not (tmp_path / "out.npy").exists()
    given = {"data": str(tmp_path / "bad.csv"), "num_data": 20, "dim": 4}
    refused("", make_target, "song_years", **given)
    written(tmp_path / "bad.csv", holes)
    with pytest.warns(InputWarning, match="1 row with missing values is left out"):
        target = make_target("song_years", **given)
    assert len(target.data) + len(target.test_data) == 49
    written(tmp_path / "bad.csv", table()[:, :81])  # a table of something else than songs, its outcome last
    assert make_target("song_years", **given).data.shape == (20, 81)


def test_a_missing_and_a_large_file_get_a_sentence(tmp_path):
    refused("cannot be read", songs.packed_songs, tmp_path / "none.csv", tmp_path / "out.npy")
    with (tmp_path / "large.csv").open("wb") as file:
        file.truncate(songs.MOST_BYTES + 1)  # sparse: it takes no room
    words = "2,000,000,001 bytes, more than 2,000,000,000"
    refused(words, songs.packed_songs, tmp_path / "large.csv", tmp_path / "out.npy")


def test_a_target_of_a_file_learns_from_some_rows_and_holds_out_the_others(tmp_path):
    path = str(written(tmp_path / "songs.csv", table(60)))
    target = make_target("song_years", data=path, num_data=40, dim=8)
    assert target.data.shape == (40, 91) and target.test_data.shape == (20, 91) and target.dim == 8
    both = np.concatenate([target.data, target.test_data])
    np.testing.assert_allclose(both[:, :-1].mean(axis=0), 0, atol=1e-9)
    assert both[:, -1].min() == 0 and both[:, -1].max() == 1
    refused("num_data must be at most 59", make_target, "song_years", data=path, num_data=60, dim=8)
