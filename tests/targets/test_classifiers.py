"""Logistic, softmax and Gaussian-process classifiers: densities by formula, digits, images, songs, a person's files."""

import bz2
import gzip
import struct

import numpy as np
import pytest
from scipy import stats
from sklearn.datasets import dump_svmlight_file, load_breast_cancer, load_digits
from sklearn.decomposition import PCA

import pmdviz
from pmdviz.data import files as data_files
from pmdviz.engine.recipe import Recipe
from pmdviz.errors import InputWarning
from pmdviz.targets import enumeration as metropolis
from pmdviz.targets import make_target
from pmdviz.targets import rows as songs
from pmdviz.targets.exact import DrawsReference, GaussianExact
from tests.support.tables import looped, refused


@pytest.fixture
def table():
    rng = np.random.default_rng(5)
    x = rng.standard_normal((40, 2))
    return np.column_stack([x, x[:, 0] + 0.3 * rng.standard_normal(40) > 0])


@pytest.fixture
def path(tmp_path, table):
    np.savetxt(tmp_path / "trial.csv", table, delimiter=",", header="dose,age,well", comments="")
    return str(tmp_path / "trial.csv")


def test_digits_are_the_components_that_scikit_learn_finds():
    target = make_target("logistic", data="digits", dim=6, num_data=200, data_seed=4)
    images, labels = load_digits(return_X_y=True)
    kept = np.isin(labels, (6, 8))
    x, y = images[kept] / 16, labels[kept] == 8
    order = np.random.default_rng(4).permutation(len(x))
    found = PCA(5, svd_solver="full").fit(x[order[:200]])
    scores = found.transform(x[order])
    scores /= scores[:200, 0].std()
    ours = np.concatenate([target.data, target.test_data])
    assert len(target.data) == 200 and len(target.test_data) == 155
    np.testing.assert_array_equal(ours[:, -1], y[order])
    np.testing.assert_allclose(np.abs(ours[:, 1:-1]), np.abs(scores), atol=1e-7)


def test_a_file_is_read_and_its_recipe_runs_again_unless_the_file_has_changed(path, table):
    run = pmdviz.run(target="logistic", target_options={"data": path, "num_data": 30}, budget=600, num_particles=100)
    everything, text = np.concatenate([run.target.data, run.target.test_data]), run.recipe.to_json()
    np.testing.assert_array_equal(np.sort(everything[:, 1]), np.sort(table[:, 0]))
    np.testing.assert_array_equal(pmdviz.run(Recipe.from_json(text)).particles, run.particles)
    data_files._read.clear()  # as in another process
    np.savetxt(path, table[:-1], delimiter=",")
    refused("has changed since the recipe was made", Recipe.from_json, text)


def test_a_served_page_reads_no_file_but_one_read_before(path, tmp_path, table, monkeypatch):
    known = make_target("logistic", data=path, num_data=30).options.data
    np.save(tmp_path / "other.npy", table)
    monkeypatch.setattr(data_files, "_forbidden", True)
    assert make_target("logistic", data=known, num_data=30).num_data == 30
    for asked in (str(tmp_path / "other.npy"), str(tmp_path / "none.csv"), path):
        refused("a served page cannot read files", Recipe, "logistic", target_options={"data": asked})


def idx(array, kind):
    return struct.pack(f">{1 + array.ndim}I", kind, *array.shape) + array.astype(np.uint8).tobytes()


@pytest.fixture
def images(tmp_path):
    pixels, digits = np.random.default_rng(1).integers(0, 256, (60, 3, 4)), np.arange(60) % 10
    path, labels = tmp_path / "train-images-idx3-ubyte", tmp_path / "train-labels-idx1-ubyte"
    path.write_bytes(idx(pixels, 0x803))
    labels.write_bytes(idx(digits, 0x801))
    return path, labels, pixels.reshape(60, 12), digits


@looped("suffix, pack", [("", bytes), (".gz", gzip.compress), (".bz2", bz2.compress)])
def test_images_in_the_format_of_mnist(images, suffix, pack, tmp_path):
    *files, pixels, digits = images
    folder = tmp_path / f"packed{suffix}"
    folder.mkdir()
    for file in files:
        (folder / f"{file.name}{suffix}").write_bytes(pack(file.read_bytes()))
    target = make_target("logistic", data=str(folder / f"{files[0].name}{suffix}"), pair="7-3", num_data=8, dim=13)
    rows = np.concatenate([target.data, target.test_data])
    assert len(rows) == 12
    for digit, label in ((7, 1), (3, 0)):
        expected = {tuple(row) for row in pixels[digits == digit] / 255}
        assert {tuple(row) for row in rows[rows[:, -1] == label][:, 1:-1]} == expected


HUGE = struct.pack(">4I", 0x803, 10**9, 28, 28)
BROKEN = [
    (lambda path, labels: labels.unlink(), "cannot be read: No such file.*labels-idx1"),
    (lambda path, labels: path.write_bytes(path.read_bytes()[:-1]), "should hold 720 bytes of data"),
    (lambda path, labels: path.write_bytes(b"\0\0\x0d\x03" * 9), "not an IDX file of bytes in 3 dim"),
    (lambda path, labels: labels.write_bytes(idx(np.arange(9), 0x801)), "60 images, but 9 labels"),
    (lambda path, labels: path.write_bytes(HUGE), "says that it holds more than 2,000,000,000 bytes"),
]


@pytest.mark.parametrize("spoil, words", BROKEN)
def test_broken_images_get_a_sentence(images, spoil, words):
    spoil(*images[:2])
    refused(words, make_target, "logistic", data=str(images[0]), num_data=8)


@looped("suffix, opened", [(".svm", open), (".libsvm.bz2", bz2.open), (".libsvm.gz", gzip.open)])
def test_libsvm_lines_are_the_same_table(path, table, tmp_path, suffix, opened):
    with opened(tmp_path / f"trial{suffix}", "wb") as file:
        dump_svmlight_file(table[:, :-1], 2 * table[:, -1] - 1, file)
    one, other = (make_target("logistic", data=str(tmp_path / name), num_data=30) for name in (path, f"trial{suffix}"))
    np.testing.assert_allclose(one.data, other.data, rtol=1e-14)


def test_a_pickle_and_what_is_too_large_packed_or_unpacked_are_refused(tmp_path, monkeypatch):
    np.save(tmp_path / "odd.npy", np.array([["a", {}]], dtype=object), allow_pickle=True)
    refused("holds no table of numbers", make_target, "logistic", data=str(tmp_path / "odd.npy"))
    with (tmp_path / "large.npy").open("wb") as file:
        file.truncate(3 * 10**9)  # a hole: it takes no place
    words = "has more than 2,000,000,000 bytes; give its rows to a custom target"
    refused(words, make_target, "logistic", data=str(tmp_path / "large.npy"))
    monkeypatch.setattr(data_files, "MOST_BYTES", 1000)
    (tmp_path / "small.csv.gz").write_bytes(gzip.compress(b"1,2,0\n3,4,1\n" * 1000))
    words, small = "unpacks to more than 1,000 bytes", str(tmp_path / "small.csv.gz")
    refused(words, make_target, "logistic", data=small, num_data=1)


def test_softmax_has_the_density_and_the_classes_of_its_formula():
    rng = np.random.default_rng(0)
    target = make_target("softmax", num_data=30, num_classes=4, num_inputs=3)
    theta, rows = target.sample_prior(rng, 5), target.data
    x = np.column_stack([np.ones(30), rows[:, :-1]])
    scores = np.einsum("mkf,nf->mnk", theta.reshape(5, 4, 4), x)
    each = scores[:, np.arange(30), rows[:, -1].astype(int)] - np.log(np.exp(scores).sum(axis=2))
    np.testing.assert_allclose(target.row_log_likelihood(theta, rows), each, rtol=1e-10)
    np.testing.assert_allclose(target.log_likelihood(theta, rows), each.sum(axis=1), rtol=1e-10)
    np.testing.assert_allclose(target.class_probabilities(theta, rows).sum(axis=2), 1.0)
    far = np.full((1, 16), 1e4)
    far[0, :4] = -1e4
    assert np.isfinite(target.class_probabilities(far, rows)).all()
    target = make_target("softmax", num_data=1)
    theta = np.array([0.0, 0, 0, 1, 0, 0, -1, 0, 0])
    rows = target.simulate(np.random.default_rng(2), theta, 40_000)
    share = np.bincount(rows[:, -1].astype(int), minlength=3) / 40_000
    chances = np.exp([0.0, 1, -1]) / np.exp([0.0, 1, -1]).sum()
    assert (np.abs(share - chances) < 4 * np.sqrt(chances * (1 - chances) / 40_000)).all()


SMALL = {"num_rows": 30}


def test_the_rows_are_scikit_learns_and_keep_the_shares_of_the_classes():
    target, cancer = make_target("gp_classification", num_rows=90, columns=9), load_breast_cancer()
    assert target.data is None and target.dim == 10 and "gradient" not in target.offers
    assert target.feature_names[:3] == ("radius", "texture", "area")
    np.testing.assert_allclose([target.features.mean(axis=0), target.features.std(axis=0) - 1], 0, atol=1e-9)
    malignant, texture = cancer.target == 0, stats.zscore(cancer.data[:, 1])
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


def test_gp_classification_finds_a_gaussian_by_chains_and_two_unknowns_on_a_grid():
    chains = metropolis.metropolis_chains(Oblique())
    made, sd = DrawsReference(chains), np.sqrt(np.diag(Oblique.known.cov))
    assert (np.abs(made.mean - Oblique.known.mean) / made.mean_error).max() < 6  # of eight chains: a t distribution
    assert (made.mean_error / sd).max() < 0.04
    np.testing.assert_allclose(made.cov / np.outer(sd, sd), [[1, 0.9], [0.9, 1]], atol=0.1)
    target = make_target("gp_classification", columns=1, num_rows=12)
    theta = target.sample_prior(np.random.default_rng(0), 20_000)
    weights = np.exp(target.log_likelihood(theta, target.data_rows))
    error = weights.std() / np.sqrt(len(weights)) / weights.mean()
    assert abs(target.exact.log_z - np.log(weights.mean())) < 4.5 * error < 0.1


GLASS_TYPES = np.random.default_rng(3).choice([1, 2, 3, 5, 6, 7], size=60)  # 1 to 3 windows, 5 to 7 others


@pytest.mark.filterwarnings("ignore::pmdviz.errors.InputWarning")
def test_the_files_of_glass_and_of_susy(tmp_path):
    x = np.random.default_rng(4).standard_normal((60, 9)) + (GLASS_TYPES > 4)[:, None]
    rows = np.column_stack([np.arange(1, 61), x, GLASS_TYPES])
    given = {"data": str(written(tmp_path / "glass.data", rows)), "columns": 9, "num_rows": 40, "free_scale": False}
    target = make_target("gp_classification", class_above=4, **given)
    assert target.dim == 9 and target.feature_names[0] == "column 2", "the first column numbers the rows"
    assert (target.classes == 1).sum() == round(40 * (GLASS_TYPES > 4).mean())
    first = np.random.default_rng(0).permutation(60)[0]  # the first of its class, which comes first
    kept = make_target("gp_classification", class_above=4, **{**given, "num_rows": 60})
    np.testing.assert_allclose(kept.features[0], stats.zscore(rows[:, 1:-1])[first])
    words = "are of one class: class 1 is above class_above = 0.5, .* between 1 and 7"
    refused(words, make_target, "gp_classification", **given)
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 50)
    rows = np.column_stack([y, rng.standard_normal((50, 18)) + y[:, None]])
    np.savetxt(tmp_path / "SUSY.csv.gz", rows, delimiter=",", fmt="%.18e")  # the class too, as in the file itself
    np.save(tmp_path / "SUSY.npy", rows)  # whose columns have no names
    for name in ("SUSY.csv.gz", "SUSY.npy"):
        given = {"data": str(tmp_path / name), "columns": 18, "num_rows": 50, "free_scale": False}
        target = make_target("gp_classification", **given)
        assert target.dim == 18 and (target.classes == 1).sum() == y.sum()
        one, other = (target.features[target.classes == sign].mean(axis=0) for sign in (1, -1))
        assert (one > other).all()


def songs_table(n=50, seed=0):
    rng = np.random.default_rng(seed)
    return np.column_stack([rng.integers(1922, 2012, n), rng.normal(3.0, 5.0, size=(n, 90))])


def written(path, rows):
    np.savetxt(path, rows, delimiter=",", fmt="%.17g")  # packed where the name ends in .gz
    return path


@looped("block", [7, 50, 1000])
def test_a_streamed_file_is_the_table_scaled(tmp_path, monkeypatch, block):
    monkeypatch.setattr(songs, "BLOCK", block)
    rows = songs_table()
    rows[:, 5] = 2.0  # a constant feature
    packed = songs.packed_songs(written(tmp_path / "songs.txt", rows), tmp_path / "songs.npy")
    assert isinstance(packed, np.memmap) and packed.dtype == np.float32 and packed.shape == (50, 91)
    x, year = rows[:, 1:], rows[:, 0]
    sd = np.where(x.std(axis=0) > 1e-9, x.std(axis=0), 1)
    expected = np.column_stack([(x - x.mean(axis=0)) / sd, (year - year.min()) / (year.max() - year.min())])
    np.testing.assert_allclose(packed, expected, atol=1e-5)
    np.testing.assert_allclose(songs.scaled_songs(rows, "t"), expected, atol=1e-12)


def test_a_table_of_songs_that_is_bad_missing_or_large_gets_a_sentence(tmp_path):
    holes = songs_table()
    holes[8, 2] = np.nan
    for rows, words in [
        (songs_table()[:, :81], "a year and 90 features, 91 numbers; it holds 81"),
        (holes, "has nan in line 9, column 3"),
        (songs_table()[:, ::-1], "must be a year from 1900 to 2100; line 1 has"),
    ]:
        refused(words, songs.packed_songs, written(tmp_path / "bad.csv", rows), tmp_path / "out.npy")
        assert not (tmp_path / "out.npy").exists()
    given = {"data": str(tmp_path / "bad.csv"), "num_data": 20, "dim": 4}
    refused("", make_target, "song_years", **given)
    written(tmp_path / "bad.csv", holes)
    with pytest.warns(InputWarning, match="1 row with missing values is left out"):
        target = make_target("song_years", **given)
    assert len(target.data) + len(target.test_data) == 49
    written(tmp_path / "bad.csv", songs_table()[:, :81])  # a table of something else than songs, its outcome last
    assert make_target("song_years", **given).data.shape == (20, 81)
    refused("cannot be read", songs.packed_songs, tmp_path / "none.csv", tmp_path / "out.npy")
    with (tmp_path / "large.csv").open("wb") as file:
        file.truncate(songs.MOST_BYTES + 1)  # sparse: it takes no room
    words = "2,000,000,001 bytes, more than 2,000,000,000"
    refused(words, songs.packed_songs, tmp_path / "large.csv", tmp_path / "out.npy")
