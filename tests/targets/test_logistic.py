"""Logistic regression on digits and on a person's file, and what is said of files that cannot be used."""

import bz2
import gzip
import struct

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file, load_digits
from sklearn.decomposition import PCA

import pmdviz
from pmdviz.data import files as data_files
from pmdviz.engine.recipe import Recipe
from pmdviz.targets import make_target
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
    refused(
        "unpacks to more than 1,000 bytes", make_target, "logistic", data=str(tmp_path / "small.csv.gz"), num_data=1
    )


def test_density_and_predictions_are_those_of_the_formula():
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


def test_simulated_classes_have_their_probabilities():
    target = make_target("softmax", num_data=1)
    theta = np.array([0.0, 0, 0, 1, 0, 0, -1, 0, 0])
    rows = target.simulate(np.random.default_rng(2), theta, 40_000)
    share = np.bincount(rows[:, -1].astype(int), minlength=3) / 40_000
    chances = np.exp([0.0, 1, -1]) / np.exp([0.0, 1, -1]).sum()
    assert (np.abs(share - chances) < 4 * np.sqrt(chances * (1 - chances) / 40_000)).all()
