"""Logistic regression on digits and on a person's file, and what is said of files that cannot be used."""

import bz2
import gzip
import struct
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file, load_digits
from sklearn.decomposition import PCA

import pmdviz
from pmdviz.data import files as data_files
from pmdviz.engine.recipe import Recipe
from pmdviz.errors import InputError
from pmdviz.targets import make_target
from tests.support.tables import refused


@pytest.fixture
def table():
    """Forty rows of two features and a class."""
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


def test_a_file_is_read_and_its_recipe_runs_again(path, table):
    run = pmdviz.run(target="logistic", target_options={"data": path, "num_data": 30}, budget=600, num_particles=100)
    target = run.target
    everything = np.concatenate([target.data, target.test_data])
    np.testing.assert_array_equal(np.sort(everything[:, 1]), np.sort(table[:, 0]))
    again = pmdviz.run(Recipe.from_json(run.recipe.to_json()))
    np.testing.assert_array_equal(again.particles, run.particles)


def test_a_changed_file_is_told_from_the_one_of_the_recipe(path, table):
    recipe = Recipe(target="logistic", target_options={"data": path, "num_data": 30}, method="pmd", seed=0)
    text = recipe.to_json()
    data_files._read.clear()  # as in another process
    np.savetxt(path, table[:-1], delimiter=",")
    refused("has changed since the recipe was made", Recipe.from_json, text)


def test_a_pickle_is_not_opened(tmp_path):
    np.save(tmp_path / "odd.npy", np.array([["a", {}]], dtype=object), allow_pickle=True)
    refused("holds no table of numbers", make_target, "logistic", data=str(tmp_path / "odd.npy"))


def test_a_served_page_reads_no_file_but_one_read_before(path, tmp_path, table, monkeypatch):
    known = make_target("logistic", data=path, num_data=30).options.data
    np.save(tmp_path / "other.npy", table)
    monkeypatch.setattr(data_files, "_forbidden", True)
    assert make_target("logistic", data=known, num_data=30).num_data == 30
    for asked in (str(tmp_path / "other.npy"), str(tmp_path / "none.csv"), path):
        with pytest.raises(InputError, match="a served page cannot read files"):
            Recipe(target="logistic", target_options={"data": asked}, method="pmd", seed=0)


def idx(array, kind):
    """The bytes of an IDX file: a number of type and dimensions, the sizes, the data."""
    return struct.pack(f">{1 + array.ndim}I", kind, *array.shape) + array.astype(np.uint8).tobytes()


@pytest.fixture
def images(tmp_path):
    """Sixty images of 3 x 4 pixels and their digits, as MNIST's own files."""
    rng = np.random.default_rng(1)
    pixels, digits = rng.integers(0, 256, (60, 3, 4)), np.arange(60) % 10
    path = tmp_path / "train-images-idx3-ubyte"
    path.write_bytes(idx(pixels, 0x803))
    (tmp_path / "train-labels-idx1-ubyte").write_bytes(idx(digits, 0x801))
    return path, pixels.reshape(60, 12), digits


@pytest.mark.parametrize("opened", [None, gzip.open, bz2.open])
def test_images_in_the_format_of_mnist(images, opened):
    path, pixels, digits = images
    if opened is not None:
        for file in (path, path.with_name("train-labels-idx1-ubyte")):
            suffix = ".gz" if opened is gzip.open else ".bz2"
            with opened(f"{file}{suffix}", "wb") as packed:
                packed.write(file.read_bytes())
            file.unlink()
        path = Path(f"{path}{suffix}")
    target = make_target("logistic", data=str(path), pair="7-3", num_data=8, dim=13)
    rows = np.concatenate([target.data, target.test_data])
    of_digit = {digit: {tuple(row) for row in pixels[digits == digit] / 255} for digit in (7, 3)}
    assert len(rows) == 12
    for digit, label in ((7, 1), (3, 0)):
        assert {tuple(row) for row in rows[rows[:, -1] == label][:, 1:-1]} == of_digit[digit]


BROKEN = [
    (lambda path, labels: labels.unlink(), "cannot be read: No such file.*labels-idx1"),
    (lambda path, labels: path.write_bytes(path.read_bytes()[:-1]), "should hold 720 bytes of data"),
    (lambda path, labels: path.write_bytes(b"\0\0\x0d\x03" * 9), "not an IDX file of bytes in 3 dim"),
    (lambda path, labels: labels.write_bytes(idx(np.arange(9), 0x801)), "60 images, but 9 labels"),
    (
        lambda path, labels: path.write_bytes(struct.pack(">4I", 0x803, 10**9, 28, 28)),
        "says that it holds more than 2,000,000,000 bytes",
    ),
]


@pytest.mark.parametrize("spoil, words", BROKEN)
def test_broken_images_get_a_sentence(images, spoil, words):
    path = images[0]
    spoil(path, path.with_name("train-labels-idx1-ubyte"))
    refused(words, make_target, "logistic", data=str(path), num_data=8)


@pytest.mark.parametrize("suffix, opened", [(".svm", open), (".libsvm.bz2", bz2.open), (".libsvm.gz", gzip.open)])
def test_libsvm_lines_are_the_same_table(path, table, tmp_path, suffix, opened):
    with opened(tmp_path / f"trial{suffix}", "wb") as file:
        dump_svmlight_file(table[:, :-1], 2 * table[:, -1] - 1, file)
    one = make_target("logistic", data=path, num_data=30)
    other = make_target("logistic", data=str(tmp_path / f"trial{suffix}"), num_data=30)
    np.testing.assert_allclose(one.data, other.data, rtol=1e-14)


def test_what_is_too_large_packed_or_unpacked_is_refused(tmp_path, monkeypatch):
    with (tmp_path / "large.npy").open("wb") as file:
        file.truncate(3 * 10**9)  # a hole: it takes no place
    with pytest.raises(InputError, match="has more than 2,000,000,000 bytes; give its rows to a custom target"):
        make_target("logistic", data=str(tmp_path / "large.npy"))
    monkeypatch.setattr(data_files, "MOST_BYTES", 1000)
    with gzip.open(tmp_path / "small.csv.gz", "wb") as file:
        file.write(b"1,2,0\n3,4,1\n" * 1000)
    with pytest.raises(InputError, match="unpacks to more than 1,000 bytes"):
        make_target("logistic", data=str(tmp_path / "small.csv.gz"), num_data=1)


# Logistic regression with several classes.


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
