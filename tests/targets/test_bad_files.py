"""Files that cannot be learnt from: each gets one sentence that says what is wrong and where."""

import gzip
import io
import os
import pickle
import struct
import subprocess
import sys

import numpy as np
import pytest

from pmdviz.data.files import read_batch
from pmdviz.targets import make_target
from tests.support.tables import looped, refused

ONE_CLASS = "'column {}' has 1 different values, where two classes are needed"
MANY_WORDS = "".join(f"n{k},{k},0\n" for k in range(2000))

# Target, name of the file, its text, options, and words of the sentence.
BAD = [
    ("logistic", "x.csv", "1,2,0\n3,4,1\n5,6,2\n", {}, "the labels 0 and 1, or -1 and 1, .* it holds 0, 1, 2"),
    ("logistic", "x.csv", "1,2,0\n3,4,0\n5,6,0\n", {}, ONE_CLASS.format(3)),
    ("logistic", "x.csv", "1,2,0\n1,4\n", {}, "line 2 has 2 cells, and the first has 3"),
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
    ("regression_net", "x.data", "a,b,1\nc,d\n", {}, "line 2 has 2 cells, and the first has 3"),
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
