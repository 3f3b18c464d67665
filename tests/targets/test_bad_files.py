"""Files that cannot be learnt from: each gets one sentence that says what is wrong and where."""

import subprocess
import sys

import pytest

from pmdviz.errors import InputError
from pmdviz.targets import make_target
from tests.support.tables import looped

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
    ("logistic", "x.ldac", "1 0:1\n1 1:1\n", {}, "holds word counts, and a table is needed"),
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
    ("regression_net", "x.data", "1,2,3\n2,3,3\n4,5,3\n6,7,3\n", {}, "does not vary: there is nothing to predict"),
    ("regression_net", "x.data", "1,2,3\n2,3,1\n4,5,2\n6,7,3\n", {"response": "binary"}, "two values .* it holds 3"),
    ("regression_net", "x.data", MANY_WORDS, {}, "2,000 different words, and at most"),
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
    with pytest.raises(InputError, match=words) as error:
        make_target(target, data=str(tmp_path / name), **{**count, **options})
    assert "\n" not in str(error.value)


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
