"""What a student computed is told right, how far off, or which slip; and nothing that a student has makes it fail."""

import numpy as np
import pytest

import pmdviz
from pmdviz.errors import InputError

SD = 6**-0.5
SLIP = {SD: "That is the sd."}


def test_a_number_is_judged():
    for mine, words in [
        (..., "Nothing to check yet: put your value in `mine`."),
        (1 / 6, "**Right**: 0.167."),
        (np.float64(0.16), "**Right**: 0.16."),
        (SD, "Not yet: That is the sd."),
        (0.25, "Not yet: yours, 0.25, is 50 % too high."),
        (0.1, "Not yet: yours, 0.1, is 40 % too low."),
        (-0.2, "Not yet: yours, -0.2, is too low: it has the wrong sign."),
        (1e6, "Not yet: yours, 1,000,000, is far too high."),
        (None, "Not yet: numbers are needed; yours is None."),
        ("many", "Not yet: numbers are needed; yours is 'many'."),
        (float("nan"), "Not yet: numbers are needed; yours is nan."),
        ([], "Not yet: numbers are needed; yours is []."),
        ([0.1, 0.2], "Not yet: yours is an array of shape (2,), and one number is wanted."),
        (lambda: 3, "Not yet: "),
    ]:
        found = pmdviz.check(mine, 1 / 6, wrong=SLIP)
        assert found._repr_markdown_().startswith(words) and found.right == words.startswith("**Right"), mine
        assert repr(found) == found.words.replace("**", "")


def test_tolerances_are_relative_or_absolute_and_whoever_writes_the_exercise_is_told_of_faults():
    assert pmdviz.check(104.9, 100).right and not pmdviz.check(105.1, 100).right
    assert pmdviz.check(109, 100, tolerance=0.1).right
    assert pmdviz.check(0.1, 0, absolute=0.2).right and not pmdviz.check(0.3, 0, absolute=0.2).right
    assert pmdviz.check(0.3, 0, absolute=0.2).words == "Not yet: yours, 0.3, is too high by 0.3."
    assert not pmdviz.check(101, 100, absolute=0.5).right  # it takes the place of the relative one
    with pytest.raises(InputError, match="this slip is within the tolerance"):
        pmdviz.check(..., 0.4, wrong={0.41: "That is the sd."})
    with pytest.raises(InputError, match="`on=\\[...\\]`"):
        pmdviz.check(..., np.exp)
    with pytest.raises(InputError, match="must be a number"):
        pmdviz.check(..., "b")


def test_an_array_is_judged_by_its_largest_entry():
    wanted = [0.0, 10.0]
    assert pmdviz.check([0.4, 10.4], wanted).right
    assert pmdviz.check([0.0, 15.0], wanted).words == "Not yet: farthest off at entry 1: 50 % too high."
    assert pmdviz.check(wanted[::-1], wanted, wrong=[(wanted[::-1], "The order!")]).words == "Not yet: The order!"
    assert "shape (1,), and an array of shape (2,)" in pmdviz.check([1.0], wanted).words


def test_a_function_is_tried_at_its_places():
    def square(x):
        return x**2

    assert pmdviz.check(lambda x: x * x, square, on=[1, 2, 3]).words == "**Right**."
    assert pmdviz.check(lambda x: x, square, on=[1, 3]).words == "Not yet: farthest off at 3: 67 % too low."
    slip = {lambda x: 2 * x: "That is the derivative."}
    assert pmdviz.check(lambda x: x + x, square, on=[1, 3], wrong=slip).words == "Not yet: That is the derivative."
    assert pmdviz.check(lambda a, b: a * b, lambda a, b: b * a, on=[(1, 2), (3, 4)]).right
    assert "does it `return`?" in pmdviz.check(lambda x: None, square, on=[1]).words
    failed = pmdviz.check(lambda x: 1 / 0, square, on=[1])
    assert failed.words == "Not yet: your function fails with ZeroDivisionError: division by zero." and not failed.right
    assert "should be a function; yours is 9" in pmdviz.check(9, square, on=[3]).words
