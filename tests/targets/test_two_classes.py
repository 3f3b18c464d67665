"""Logistic regression on digits and on a person's file, and what is said of files that cannot be used."""

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

import pmdviz
from pmdviz import data_files
from pmdviz.engine.recipe.recipe import Recipe
from pmdviz.errors import InputError
from pmdviz.targets import make_target


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


def test_digits_are_told_apart():
    run = pmdviz.run(
        target="logistic", target_options={"data": "digits", "dim": 11}, seed=0, budget=4000, num_particles=500
    )
    assert run.frames[-1].metrics["accuracy"] > 0.95


def test_a_file_is_read_and_its_recipe_runs_again(path, table):
    run = pmdviz.run(target="logistic", target_options={"data": path, "num_data": 30}, budget=600, num_particles=100)
    target = run.target
    everything = np.concatenate([target.data, target.test_data])
    np.testing.assert_array_equal(np.sort(everything[:, 1]), np.sort(table[:, 0]))
    again = pmdviz.run(Recipe.from_json(run.recipe.to_json()))
    np.testing.assert_array_equal(again.particles, run.particles)


def test_labels_of_minus_one_and_one_are_classes_0_and_1(path, table, tmp_path):
    table = table.copy()
    table[:, -1] = 2 * table[:, -1] - 1
    np.save(tmp_path / "trial.npy", table)
    one = make_target("logistic", data=path, num_data=30)
    other = make_target("logistic", data=str(tmp_path / "trial.npy"), num_data=30)
    np.testing.assert_array_equal(one.data, other.data)


def test_a_changed_file_is_told_from_the_one_of_the_recipe(path, table):
    recipe = Recipe(target="logistic", target_options={"data": path, "num_data": 30}, method="pmd", seed=0)
    text = recipe.to_json()
    data_files._read.clear()  # as in another process
    np.savetxt(path, table[:-1], delimiter=",")
    with pytest.raises(InputError, match="has changed since the recipe was made"):
        Recipe.from_json(text)


BAD = {
    "labels": ("1,2,0\n3,4,1\n5,6,2\n", "must hold the labels 0 and 1, or -1 and 1; it holds 0, 1, 2"),
    "one class": ("1,2,0\n3,4,0\n5,6,0\n", "must hold the labels"),
    "nan": ("1,2,0\nnan,4,1\n5,6,1\n", "has nan in row 2, column 1"),
    "words": ("1,2,0\nhello,4,1\n", "holds no table of numbers"),
    "empty": ("", "table of numbers"),
    "ragged": ("1,2,0\n3,1\n", "holds no table of numbers"),
    "one column": ("1\n0\n", "at least 2 rows and 2 columns"),
}


@pytest.mark.parametrize("text, words", BAD.values(), ids=BAD)
@pytest.mark.filterwarnings("ignore:loadtxt")
def test_a_bad_file_gets_a_sentence(tmp_path, text, words):
    (tmp_path / "bad.csv").write_text(text)
    with pytest.raises(InputError, match=words):
        make_target("logistic", data=str(tmp_path / "bad.csv"), num_data=1)


@pytest.mark.parametrize(
    "options, words",
    [
        ({"data": "trial.csv"}, "'trial.csv' cannot be read: No such file"),
        ({"data": "letters"}, "data must be synthetic, digits or the path of a .csv or .npy file; given: 'letters'"),
        ({"data": "digits", "num_data": 355}, "num_data must be at most 354"),
        ({"data": "digits", "dim": 66}, "dim must be at most 65"),
        ({"data": "digits", "dim": 30, "num_data": 20}, "dim must be at most 21 with 20 data"),
    ],
)
def test_options_that_do_not_fit_the_data(options, words):
    with pytest.raises(InputError, match=words):
        make_target("logistic", **options)


def test_a_pickle_is_not_opened(tmp_path):
    np.save(tmp_path / "odd.npy", np.array([["a", {}]], dtype=object), allow_pickle=True)
    with pytest.raises(InputError, match="holds no table of numbers"):
        make_target("logistic", data=str(tmp_path / "odd.npy"))


def test_a_served_page_reads_no_file_but_one_read_before(path, tmp_path, table, monkeypatch):
    known = make_target("logistic", data=path, num_data=30).options.data
    np.save(tmp_path / "other.npy", table)
    monkeypatch.setattr(data_files, "_forbidden", True)
    assert make_target("logistic", data=known, num_data=30).num_data == 30
    for asked in (str(tmp_path / "other.npy"), str(tmp_path / "none.csv"), path):
        with pytest.raises(InputError, match="a served page reads no files"):
            Recipe(target="logistic", target_options={"data": asked}, method="pmd", seed=0)


def test_simulated_features_are_those_of_the_data():
    target = make_target("logistic", data="digits", dim=4)
    rows = target.simulate(np.random.default_rng(0), np.zeros(4), 50)
    known = {tuple(row) for row in target.data[:, 1:-1]}
    assert rows.shape == (50, 5) and all(tuple(row) in known for row in rows[:, 1:-1])
    assert set(np.unique(rows[:, -1])) == {0.0, 1.0}
