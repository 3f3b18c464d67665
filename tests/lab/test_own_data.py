"""A person's own table: what is taken of its columns, its units, and the dialog of a lab without a browser."""

import base64

import numpy as np
from bokeh.models import BasicTicker

import pmdviz
from pmdviz.data.cells import read_cells
from pmdviz.data.tables import held, hold
from pmdviz.lab.panels.own_data import held_out_words, role_names, table_options
from pmdviz.lab.panels.own_problem import ADD, LAST, POINT, Edit, edited, edited_options
from pmdviz.scenes.data_columns import moment
from pmdviz.scenes.stage import SCENES
from pmdviz.targets import TARGETS, make_target
from pmdviz.targets.options import INPUT, LEAVE_OUT, OUTCOME, TableForm, chosen, settled, usual_roles
from pmdviz.views import StageView
from tests.lab.threads import playing_lab, until
from tests.support.tables import looped, refused

ONE = TableForm("One column.")
NUMBER = TableForm("Inputs and a number.", 1, 8, "number", dim_beyond=0)
CLASS = TableForm("Inputs and a class.", 1, 8, "class", dim_beyond=1, held_out=1)
PEOPLE = "id,height,weight,sex\n1,170,61,f\n2,182,80,m\n3,,70,m\n4,165,58,f\n5,177,75,m\n"


def taken(text, form, roles=None, scale=False):
    cells = read_cells(text)
    return chosen(cells, roles or usual_roles(cells, form), form, scale)


def test_kinds_are_said_and_options_name_the_table_its_rows_and_the_dimension():
    said = [column.said for column in read_cells(PEOPLE).columns]
    assert said == ["numbers", "numbers, 1 missing", "numbers", "two words: f, m"]
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
    assert list(usual_roles(read_cells(text), form)) == roles
    assert (OUTCOME in role_names(form)) == bool(form.outcome)


def test_rows_and_roles_are_taken_as_a_target_needs_them():
    before = (INPUT, OUTCOME, LEAVE_OUT)
    assert settled((INPUT, OUTCOME, OUTCOME), before, NUMBER) == (INPUT, LEAVE_OUT, OUTCOME)
    assert settled((INPUT, OUTCOME, INPUT), before, NUMBER) == (INPUT, OUTCOME, INPUT)
    assert settled((INPUT, INPUT), (INPUT, LEAVE_OUT), ONE) == (LEAVE_OUT, INPUT)
    refused("takes 1 column of numbers; chosen as input: 2", taken, PEOPLE, ONE, [INPUT, INPUT, LEAVE_OUT, LEAVE_OUT])
    found = taken(PEOPLE, ONE)
    np.testing.assert_array_equal(found.rows, [[170], [182], [165], [177]])
    assert (found.columns, found.said) == (("height",), ("1 row with missing values is left out.",))
    found = taken(PEOPLE, CLASS, scale=True)
    np.testing.assert_array_equal(found.rows[:, -1], [0, 1, 0, 1])
    assert "In 'sex', 'm' is 1, 'f' is 0." in found.said
    assert held_out_words(found, CLASS) == ["1 of the 4 rows are held out, to judge predictions."]
    np.testing.assert_allclose(found.rows[:, :2].mean(axis=0), 0, atol=1e-5)
    np.testing.assert_allclose(found.rows[:, :2].std(axis=0), 1, atol=1e-4)
    np.testing.assert_allclose(taken(PEOPLE, NUMBER, scale=True).rows[:, -1].std(), 1, atol=1e-4)
    page = taken("dose,ill\n7,0\n7,1\n7,1\n", CLASS, (INPUT, OUTCOME), scale=True)
    assert page.units == ((7.0, 1.0), (0.0, 1.0)) and page.rows[:, 0].tolist() == [0, 0, 0]


def test_axes_of_a_standardised_table_have_its_own_units(tmp_path):
    path = tmp_path / "doses.csv"
    rows = [f"{40 + 3 * k},{k % 7},{2000 + 50 * k},{k % 2}" for k in range(40)]
    path.write_text("age,dose,cost,ill\n" + "\n".join(rows) + "\n", encoding="utf-8")
    for inputs, outcome, target, name in (
        (["age"], "cost", "linear", "band"),
        (["age", "dose"], "ill", "logistic", "decision_lines"),
    ):
        table = pmdviz.read_table(path, target, inputs=inputs, outcome=outcome, scale=True)
        session = pmdviz.Session(pmdviz.Recipe(target, target_options={"data": table}, method="pmd", num_particles=50))
        picture = moment(session.frame)
        for x, y in (SCENES[name].axes(session.target, (0, 1), np.nan), (picture.x, picture.y)):
            assert x.label.startswith("age")
            numbers = [float(x.words(tick)) for tick in x.ticks]
            assert min(numbers) >= 20 and max(numbers) <= 180 and 60 in numbers  # years, not sds
            assert all(x.low <= tick <= x.high for tick in x.ticks)  # where the drawn values are
            if target == "linear":
                assert y.label == "cost" and "3,000" in [y.words(tick) for tick in y.ticks]
        view = StageView(session.target, SCENES[name])
        shown = view.figure.xaxis[0]  # the browser chooses and writes them, also where the reader has zoomed
        assert shown.ticker.args == shown.formatter.args == dict(zip(("origin", "unit"), table.units[0], strict=True))
        view.look_at(make_target("mixture"), SCENES["posterior"], (0, 1))
        view.follow()
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


HEIGHTS = "height\n" + "\n".join(str(150 + k) for k in range(40)) + "\n"
TABLE = "age,dose,got better\n" + "\n".join(f"{30 + k},{k % 7},{'yes' if k % 3 else 'no'}" for k in range(40))
HOSTILE = {
    "an archive": ("a.csv", base64.b64encode(b"PK\x03\x04" + b"\0" * 99).decode()),
    "no base64": ("a.csv", "<script>"),
    "bytes": ("../../etc/passwd", base64.b64encode(bytes(range(256))).decode()),
    "too large": ("a.csv", base64.b64encode(b"1\n" * 2_100_000).decode()),
}


def played(**settings):
    return playing_lab(**{"num_particles": 60, "batch_size": 20, "target_options": {"num_data": 60}, **settings})


async def brought(lab, text="", name="", content=""):
    """What the dialog says after a text was pasted, or a file brought."""
    lab.own.dialog.view.upload = f"1\n{name}\n{content or base64.b64encode(text.encode()).decode()}"
    assert lab.own.dialog.view.upload == ""  # it is kept no longer
    return await asked(lab)


async def asked(lab, **message):
    """What the dialog says after a message of the browser."""
    if message:
        lab.own.dialog._hear(message)
    await until(lambda: not lab.own.dialog.view.busy)
    return lab.own.dialog.view.told


async def test_a_table_that_a_target_refuses_opens_the_dialog_again_with_the_sentence():
    async with played(target="banana") as lab:
        await brought(lab, "x\n" + "\n".join(str(500 + k) for k in range(20)))
        await asked(lab, scale=False)
        opens = lab.own.dialog.view.opens
        lab.own.dialog._hear({"use": True})
        await until(lambda: lab.own.dialog.view.opens > opens)
        assert "mean" in lab.own.dialog.view.told["misfit"]
        assert lab.own.dialog.view.told["columns"]  # to be chosen otherwise
        assert not lab.last.frame.target.tables


async def test_hostile_files_get_a_sentence_each_and_a_pasted_table_becomes_the_data_of_a_new_run():
    async with played() as lab:
        for what, (name, content) in HOSTILE.items():
            told = await brought(lab, name=name, content=content)
            assert told["misfit"].endswith(".") and told["columns"] == [], what
        told = await brought(lab, "=cmd()|x\n@SUM(A1)\n<img src=x onerror=alert(1)>\n")
        assert "chosen as input: none" in told["misfit"]
        for odd in ({"file": 3}, {"text": None}, {"roles": "xy"}, {"roles": [1, 2]}, {"scale": []}, {"": ""}, [1]):
            lab.own.dialog.view._handle_msg(odd)
        lab.own.dialog._hear({"use": True})  # what does not fit cannot be used
        lab._act("step")
        await until(lambda: lab.last.frame.iteration == 1)
        before = lab.last.frame.target
        assert not before.tables
        await brought(lab, HEIGHTS)
        await until(lambda: [each["name"] for each in lab.own.dialog.view.told["columns"]] == ["height"])
        (column,) = (told := lab.own.dialog.view.told)["columns"]
        assert (column["kind"], column["role"]) == ("numbers", "input")
        assert (len(told["rows"]), told["count"], told["scale"]) == (8, 40, True)
        lab.own.dialog._hear({"use": True})
        await until(lambda: lab.last.frame.target.tables)
        assert lab.last.recipe.target_options["data"].startswith("pasted.csv#")
        np.testing.assert_allclose(lab.last.frame.target.data.std(), 1, atol=1e-4)
        assert lab.own.dialog.view.told["columns"] == []  # the dialog keeps nothing
        lab._act("undo")
        await until(lambda: not lab.last.frame.target.tables)
        np.testing.assert_array_equal(lab.last.frame.target.data, before.data)


async def test_a_table_with_a_yes_or_no_outcome_proposes_logistic_regression_and_one_press_takes_it():
    async with played() as lab:
        told = await brought(lab, TABLE)
        assert told["offer"] == "Use Logistic regression" and "got better, has two values" in told["proposal"]
        told = await asked(lab, fit=True)
        assert [column["role"] for column in told["columns"]] == [INPUT, INPUT, OUTCOME]
        assert told["offer"] == "" and "'age' 49.5 and 61.04" in " ".join(told["said"])  # in the original units
        lab.own.dialog._hear({"use": True})
        await until(lambda: lab.last.recipe.target == "logistic" and lab.last.frame.target.tables)
