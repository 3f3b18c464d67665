"""A person's own problem in a lab without a browser: the dialog, edited data, and handles that are dragged."""

import base64

import numpy as np

from pmdviz.targets.options import INPUT, LEAVE_OUT, OUTCOME
from tests.lab.threads import playing_lab, until

HEIGHTS = "height\n" + "\n".join(str(150 + k) for k in range(40)) + "\n"
QUICK = {"num_particles": 60, "batch_size": 20, "target_options": {"num_data": 60}}


def played(**settings):
    """A lab that has its first picture."""
    return playing_lab(**QUICK | settings)


def data_of(lab):
    return lab.last.frame.target.data


async def brought(lab, what, value):
    if what in ("file", "text"):
        pasted = {"name": "", "content": base64.b64encode(value.encode()).decode()} if what == "text" else value
        name, content = pasted["name"], pasted["content"]
        lab.own.dialog.view.upload = f"1\n{name}\n{content}"
        assert lab.own.dialog.view.upload == ""  # it is kept no longer
    else:
        lab.own.dialog._hear({what: value})
    await until(lambda: not lab.own.dialog.view.busy)
    return lab.own.dialog.view.told


async def test_a_table_that_a_target_refuses_opens_the_dialog_again_with_the_sentence():
    async with played(target="banana") as lab:
        far = "x\n" + "\n".join(str(500 + k) for k in range(20))
        await brought(lab, "text", far)
        await brought(lab, "scale", False)
        opens = lab.own.dialog.view.opens
        lab.own.dialog._hear({"use": True})
        await until(lambda: lab.own.dialog.view.opens > opens)
        assert "mean" in lab.own.dialog.view.told["misfit"]
        assert lab.own.dialog.view.told["columns"]  # to be chosen otherwise
        assert not lab.last.frame.target.tables


HOSTILE = {
    "an archive": {"name": "a.csv", "content": base64.b64encode(b"PK\x03\x04" + b"\0" * 99).decode()},
    "no base64": {"name": "a.csv", "content": "<script>"},
    "bytes": {"name": "../../etc/passwd", "content": base64.b64encode(bytes(range(256))).decode()},
    "too wide": {"name": "a.csv", "content": base64.b64encode(b",".join([b"1"] * 300)).decode()},
    "ragged": {"name": "a.csv", "content": base64.b64encode(b"a,b\n1,2\n3\n").decode()},
    "too large": {"name": "a.csv", "content": base64.b64encode(b"1\n" * 2_100_000).decode()},
}


async def test_hostile_files_get_a_sentence_each_and_a_pasted_table_becomes_the_data_of_a_new_run():
    async with played() as lab:
        for what, value in HOSTILE.items():
            told = await brought(lab, "file", value)
            assert told["misfit"].endswith("."), what
            assert told["columns"] == [], what
        told = await brought(lab, "text", "=cmd()|x\n@SUM(A1)\n<img src=x onerror=alert(1)>\n")
        assert "chosen as input: none" in told["misfit"]
        for odd in ({"file": 3}, {"text": None}, {"roles": "xy"}, {"roles": [1, 2]}, {"scale": []}, {"": ""}, [1]):
            lab.own.dialog.view._handle_msg(odd)
        lab.own.dialog._hear({"use": True})  # what does not fit cannot be used
        lab._act("step")
        await until(lambda: lab.last.frame.iteration == 1)
        assert not lab.last.frame.target.tables
        before = data_of(lab)
        await brought(lab, "text", HEIGHTS)
        await until(lambda: [each["name"] for each in lab.own.dialog.view.told["columns"]] == ["height"])
        told = lab.own.dialog.view.told
        assert (told["columns"][0]["kind"], told["columns"][0]["role"]) == ("numbers", "input")
        assert (len(told["rows"]), told["count"], told["scale"]) == (8, 40, True)
        assert lab.own.dialog.view.form["roles"] == [INPUT, LEAVE_OUT]
        lab.own.dialog._hear({"use": True})
        await until(lambda: lab.last.frame.target.tables)
        assert lab.last.recipe.target_options["data"].startswith("pasted.csv#")
        np.testing.assert_allclose(data_of(lab).std(), 1, atol=1e-4)
        assert lab.last.frame.target.num_data == 40
        assert lab.own.dialog.view.told["columns"] == []  # the dialog keeps nothing
        lab._act("undo")
        await until(lambda: not lab.last.frame.target.tables)
        np.testing.assert_array_equal(data_of(lab), before)


TABLE = "age,dose,got better\n" + "\n".join(f"{30 + k},{k % 7},{'yes' if k % 3 else 'no'}" for k in range(40))


async def test_a_table_with_a_yes_or_no_outcome_proposes_logistic_regression_and_one_press_takes_it():
    async with played() as lab:
        told = await brought(lab, "text", TABLE)
        assert told["offer"] == "Use Logistic regression" and "got better, has two values" in told["proposal"]
        lab.own.dialog._hear({"fit": True})
        await until(lambda: not lab.own.dialog.view.busy)
        told = lab.own.dialog.view.told
        assert [column["role"] for column in told["columns"]] == [INPUT, INPUT, OUTCOME]
        assert told["offer"] == "" and "'age' 49.5 and 61.04" in " ".join(told["said"])  # in the original units
        lab.own.dialog._hear({"use": True})
        await until(lambda: lab.last.recipe.target == "logistic" and lab.last.frame.target.tables)
        assert lab.own.dialog.view.form["roles"] == [INPUT, OUTCOME, LEAVE_OUT]
