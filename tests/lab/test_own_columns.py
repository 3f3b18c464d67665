"""What the columns of a person's table hold, and what is taken of it for a target."""

import numpy as np
from bokeh.models import BasicTicker

import pmdviz
from pmdviz.data.cells import read_cells
from pmdviz.data.tables import held, hold
from pmdviz.lab.panels.own_data import held_out_words, role_names, table_options
from pmdviz.lab.panels.own_problem import ADD, LAST, POINT, Edit, edited, edited_options
from pmdviz.scenes.data_columns import data_picture, moment
from pmdviz.scenes.stage import SCENES, applicable_scenes, stage_axes
from pmdviz.targets import TARGETS, make_target
from pmdviz.targets.options import INPUT, LEAVE_OUT, OUTCOME, TableForm, chosen, settled, usual_roles
from pmdviz.views import StageView
from tests.support.tables import looped, refused

ONE = TableForm("One column.")
NUMBER = TableForm("Inputs and a number.", 1, 8, "number", dim_beyond=0)
CLASS = TableForm("Inputs and a class.", 1, 8, "class", dim_beyond=1, held_out=1)
PEOPLE = "id,height,weight,sex\n1,170,61,f\n2,182,80,m\n3,,70,m\n4,165,58,f\n5,177,75,m\n"


def looked_at(text, form):
    cells = read_cells(text)
    return cells, usual_roles(cells, form)


def taken(text, form, roles=None, scale=False):
    cells, usual = looked_at(text, form)
    return chosen(cells, roles or usual, form, scale)


def test_kinds_are_said_and_options_name_the_table_its_rows_and_the_dimension():
    cells, _ = looked_at(PEOPLE, ONE)
    assert [column.said for column in cells.columns] == ["numbers", "numbers, 1 missing", "numbers", "two words: f, m"]
    found, specs = taken(PEOPLE, CLASS), TARGETS["logistic"].Options.specs()
    table = hold("people.csv", found.columns, found.rows)
    assert table_options(table, CLASS, specs, 1) == {"data": table.pin, "num_data": 3, "dim": 3}
    assert held(table.pin) is table
    refused("at least 2 rows", table_options, hold("one.csv", found.columns, found.rows[:1]), CLASS, specs)


@looped(
    "text, form, roles",
    [
        (PEOPLE, ONE, [LEAVE_OUT, INPUT, LEAVE_OUT, LEAVE_OUT]),  # an id is no datum
        (PEOPLE, NUMBER, [LEAVE_OUT, INPUT, OUTCOME, LEAVE_OUT]),
        (PEOPLE, CLASS, [LEAVE_OUT, INPUT, INPUT, OUTCOME]),
        ("y,a,b\n1,2,3\n2,5,4\n4,4,9\n", NUMBER, [OUTCOME, INPUT, INPUT]),  # by its name
        ("1\n2\n3\n", ONE, [INPUT]),  # counts rows, but there is nothing else
        ("a,b\n1,7\n1,8\n1,9.5\n", ONE, [LEAVE_OUT, INPUT]),  # one value tells nothing
    ],
)
def test_roles_are_preset_by_what_a_target_takes(text, form, roles):
    assert list(looked_at(text, form)[1]) == roles
    assert (OUTCOME in role_names(form)) == bool(form.outcome)


def test_a_new_outcome_or_the_only_input_takes_the_place_of_the_one_before():
    before = (INPUT, OUTCOME, LEAVE_OUT)
    assert settled((INPUT, OUTCOME, OUTCOME), before, NUMBER) == (INPUT, LEAVE_OUT, OUTCOME)
    assert settled((INPUT, OUTCOME, INPUT), before, NUMBER) == (INPUT, OUTCOME, INPUT)
    assert settled((INPUT, INPUT), (INPUT, LEAVE_OUT), ONE) == (LEAVE_OUT, INPUT)


def test_rows_with_missing_values_are_left_out_classes_are_1_and_0_and_columns_are_scaled():
    found = taken(PEOPLE, ONE)
    np.testing.assert_array_equal(found.rows, [[170], [182], [165], [177]])
    assert found.columns == ("height",)
    assert found.said == ("1 row with missing values is left out.",)
    found = taken(PEOPLE, CLASS)
    np.testing.assert_array_equal(found.rows[:, -1], [0, 1, 0, 1])
    assert "In 'sex', 'm' is 1, 'f' is 0." in found.said
    assert held_out_words(found, CLASS) == ["1 of the 4 rows are held out, to judge predictions."]
    found = taken(PEOPLE, CLASS, scale=True)
    np.testing.assert_allclose(found.rows[:, :2].mean(axis=0), 0, atol=1e-5)
    np.testing.assert_allclose(found.rows[:, :2].std(axis=0), 1, atol=1e-4)
    assert set(found.rows[:, 2]) == {0.0, 1.0}
    number = taken(PEOPLE, NUMBER, scale=True)
    np.testing.assert_allclose(number.rows[:, -1].std(), 1, atol=1e-4)


@looped(
    "text, form, roles, words",
    [
        ("a,b\n1,x\n2,3\n", ONE, [LEAVE_OUT, INPUT], "column 'b' has 'x' in line 2, where a number is needed"),
        (PEOPLE, ONE, [INPUT, INPUT, LEAVE_OUT, LEAVE_OUT], "takes 1 column of numbers; chosen as input: 2"),
        (PEOPLE, NUMBER, [INPUT, INPUT, LEAVE_OUT, LEAVE_OUT], "choose one column as the outcome; chosen: 0"),
        (PEOPLE, CLASS, [LEAVE_OUT, INPUT, OUTCOME, LEAVE_OUT], "'weight' has 5 different values, where two classes"),
        ("a,b\n1,\n,2\n", NUMBER, [INPUT, OUTCOME], "every row has a missing value"),
        ("a\nx\ny\n", ONE, [LEAVE_OUT], "chosen as input: none"),
    ],
)
def test_what_does_not_fit_gets_a_sentence(text, form, roles, words):
    refused(words.replace("(", r"\("), taken, text, form, roles)


def test_axes_of_a_standardised_table_have_its_own_units(tmp_path):
    path = tmp_path / "doses.csv"
    rows = [f"{40 + 3 * k},{k % 7},{2000 + 50 * k}" for k in range(40)]
    path.write_text("age,dose,cost\n" + "\n".join(rows) + "\n", encoding="utf-8")
    for columns, target in ((["age"], "linear"), (["age", "dose"], "logistic")):
        if target == "logistic":
            path.write_text("age,dose,ill\n" + "\n".join(f"{40 + 3 * k},{k % 7},{k % 2}" for k in range(40)) + "\n")
        table = pmdviz.read_table(path, target, inputs=columns, scale=True)
        session = pmdviz.Session(pmdviz.Recipe(target, target_options={"data": table}, method="pmd", num_particles=50))
        scenes = applicable_scenes(session.target, session.method)
        scene = scenes["band" if target == "linear" else "decision_lines"]
        for axes in (
            stage_axes(scene, session.target, (0, 1), np.nan),
            (lambda picture: (picture.x, picture.y))(data_picture(moment(session.frame))),
        ):
            x, y = axes
            assert x.label.startswith("age")
            numbers = [float(x.words(tick)) for tick in x.ticks]
            assert min(numbers) >= 20 and max(numbers) <= 180 and 60 in numbers  # years, not sds
            assert all(x.low <= tick <= x.high for tick in x.ticks)  # where the drawn values are
            if target == "linear":
                assert y.label == "cost" and "3,000" in [y.words(tick) for tick in y.ticks]
        view = StageView(session.target, scene)
        age = table.units[0]
        shown = view.figure.xaxis[0]  # the browser chooses and writes them, also where the reader has zoomed
        assert shown.ticker.args == shown.formatter.args == {"origin": age[0], "unit": age[1]}
        plain = make_target("mixture")
        view.look_at(plain, SCENES["posterior"], (0, 1))
        view.fit()
        assert isinstance(shown.ticker, BasicTicker) and shown.formatter.args == {} == shown.major_label_overrides


def test_an_observation_that_is_added_has_the_units_of_the_table_and_edits_keep_them():
    text = "height,weight\n" + "\n".join(f"{150 + k},{50 + k % 9}" for k in range(41))
    page = taken(text, NUMBER, (INPUT, OUTCOME), scale=True)
    table = hold("people.csv", page.columns, page.rows, "", page.units)
    target = make_target("linear", **table_options(table, TARGETS["linear"].table, TARGETS["linear"].Options.specs()))
    after = edited(target, [Edit(ADD, (170.0, 52.0))])
    assert after.units == table.units and after.rows[-1].tolist() == table.rows[20].tolist()
    clicked = edited(make_target("linear", **edited_options(target, after)), [Edit(POINT, (0.5, 0.25)), Edit(LAST)])
    assert clicked.units == table.units and clicked.rows.tolist() == after.rows.tolist()


def test_a_column_of_one_value_has_its_number_on_the_axis():
    page = taken("dose,ill\n7,0\n7,1\n7,1\n", CLASS, (INPUT, OUTCOME), scale=True)
    assert page.units == ((7.0, 1.0), (0.0, 1.0)) and page.rows[:, 0].tolist() == [0, 0, 0]
