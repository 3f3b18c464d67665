"""Python batches of CIFAR-10, against Python's own reader of pickles, which the package does without; hostile ones."""

import gzip
import os
import pickle
import struct

import numpy as np
import pytest

from pmdviz.data.formats import read_batch
from pmdviz.errors import InputError
from pmdviz.targets import make_target
from tests.support.tables import looped

IMAGES = np.random.default_rng(0).integers(0, 256, (12, 3072)).astype(np.uint8)
LABELS = [k % 3 for k in range(12)]


def of_python_2():
    """The bytes of a batch as CIFAR's own are: protocol 2 of Python 2, with texts of bytes."""

    def text(value):
        return b"U" + bytes([len(value)]) + value

    array = b"cnumpy.core.multiarray\n_reconstruct\nq\x03cnumpy\nndarray\nq\x04K\x00\x85" + text(b"b") + b"\x87R"
    kind = (
        b"cnumpy\ndtype\n"
        + text(b"u1")
        + b"K\x00K\x01\x87R(K\x03"
        + text(b"|")
        + b"NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb"
    )
    content = IMAGES.tobytes()
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
    """What runs when Python reads it."""

    def __reduce__(self):
        return os.system, ("touch it_ran",)


@looped("thing", [Hostile(), print, np.random.default_rng])
@looped("protocol", [2, 4])
def test_a_hostile_pickle_is_refused_and_not_run(path, thing, protocol, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    path.write_bytes(pickle.dumps({b"data": IMAGES, b"labels": LABELS, b"more": thing}, protocol))
    with pytest.raises(InputError, match="asks for .*which no batch of images needs; nothing in it was run"):
        make_target("binary_net", data=str(path), num_data=9)
    assert not (tmp_path / "it_ran").exists()


MADE = {b"data": IMAGES, b"labels": LABELS}
BROKEN = [
    ([1, 2], "holds no dictionary"),
    ({b"data": IMAGES}, "as many labels"),
    ({**MADE, b"labels": LABELS[1:]}, "as many labels"),
    ({**MADE, b"labels": ["cat"] * 12}, "whole numbers from 0 to 255"),
    ({**MADE, b"data": [1, 2]}, "an array of bytes"),
    ({**MADE, b"data": IMAGES.astype(float)}, "must hold bytes; given: numbers of type f8"),
    ({**MADE, b"more": {1, 2}}, "no batch of images needs"),
]


@looped("made, words", BROKEN)
def test_a_broken_batch_gets_a_sentence(path, made, words):
    path.write_bytes(pickle.dumps(made, 2))
    with pytest.raises(InputError, match=words):
        make_target("binary_net", data=str(path), num_data=9)


@looped("cut", [0, 1, 30, 200, -1])
def test_a_batch_that_is_cut_off_gets_a_sentence(path, cut):
    path.write_bytes(of_python_2()[:cut])
    with pytest.raises(InputError, match="holds no table of numbers"):
        make_target("binary_net", data=str(path), num_data=9)


@looped("content", [b"R.", b"b.", b"t.", b"e.", b"u.", b"(u.", b"h\x07.", b"K\x01K\x02s.", b"\x80\x02."])
def test_instructions_without_sense_are_an_error_of_value(content, tmp_path):
    (tmp_path / "x").write_bytes(content)
    with (tmp_path / "x").open("rb") as file, pytest.raises(ValueError):
        read_batch(file)
