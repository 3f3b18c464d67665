import html
import math

from pmdviz.methods import METHODS
from pmdviz.scenes.words import (
    below_words,
    button,
    count,
    duration,
    marked,
    number,
    short,
    state,
    typeset,
)
from tests.support.tables import looped


@looped(
    "value, words",
    [
        (0.08721, "0.0872"),
        (1234.5, "1,230"),
        (12.345, "12.3"),
        (0.0, "0"),
        (1e-5, "below 0.0001"),
        (-1e-5, "just below 0"),
        (-2.5, "-2.50"),
        (math.inf, "infinite"),
        (-math.inf, "minus infinite"),
        (math.nan, "not known"),
        (None, "not known"),
        (0.9996, "1.00"),
    ],
)
def test_numbers(value, words):
    assert number(value) == words


def test_counts_and_times_and_the_state_of_a_run_in_one_line():
    assert count(12_000.0) == "12,000"
    assert [short(v) for v in (0.05, 2.0, 1500.0, 0.75)] == ["0.05", "2", "1,500", "0.75"]
    assert [duration(s) for s in (0.42, 12.2, 600)] == ["0.4 s", "12 s", "10 min"]
    frame = Moment()
    assert state(frame) == "iteration 120, 12,000 of 20,000 observations used, TV 0.0871, independent draws 0.0884"
    frame.budget, frame.metrics = None, {"tv": 0.5, "floor_tv": None}
    assert state(frame) == "iteration 120, 12,000 observations used, TV 0.500, independent draws: being computed"
    frame.metrics = {"tv": None, "floor_tv": None}
    assert state(frame) == "iteration 120, 12,000 observations used"
    frame.metrics, frame.caveat = {"tv": 0.5, "floor_tv": None}, "burn-in (3 of 5 draws)"
    frame.num_draws = None
    assert state(frame) == "iteration 120, 12,000 observations used, TV 0.500, burn-in (3 of 5 draws)"


class Moment:
    iteration, visited, budget, num_draws, caveat, unchecked = 120, 12_000, 20_000, 1_500, "", ""
    spent, budget_unit, traced_names = 12_000, "data", ()
    metrics, note = {"tv": 0.0871, "floor_tv": 0.0884}, ""
    metric = property(lambda self: self.metrics.get)
    floors = property(lambda self: self.metrics)


@looped(
    "method, knobs, tv, words",
    [
        ("pmd", {}, 0.05, ""),  # the reference is drawn the same way
        ("pmd", {"draws": "independent"}, 0.0799, "within noise"),
        ("pmd", {"draws": "independent"}, 0.05, ""),  # six standard deviations: neither noise nor a reason of ours
        ("pmd", {}, 0.081, ""),
        ("svgd", {}, 0.05, "push one another apart"),
        ("smc", {}, 0.072, "within noise"),
    ],
)
def test_a_tv_below_that_of_exact_samples_is_explained_where_that_can_be_done(method, knobs, tv, words):
    frame = Moment()
    frame.method = METHODS[method]
    frame.knobs = frame.method.Knobs.checked(knobs)
    frame.metrics = {"tv": tv, "floor_tv": 0.08, "floor_tv_se": 0.00125}  # a standard deviation of 0.005
    said = below_words(frame)
    assert said.endswith(words) or words in said
    assert bool(said) == bool(words)
    frame.metrics = {"tv": 0.01, "floor_tv": None, "floor_tv_se": None}
    assert not below_words(frame)


@looped(
    "text, made",
    [
        ("KL(p‖q_{t+1}) ≤ ε_t", "KL(p‖q<sub>t+1</sub>) ≤ ε<sub>t</sub>"),
        ("O(m^−1/2)", "O(m<sup>−1/2</sup>)"),
        ("~ m^1.00, N^-0.02", "~ m<sup>1.00</sup>, N<sup>-0.02</sup>"),
        ("<b> & x_1", "&lt;b&gt; &amp; x<sub>1</sub>"),
    ],
)
def test_formulas_are_set_and_the_rest_is_text(text, made):
    assert typeset(text) == made


def test_words_of_the_glossary_become_buttons_and_all_else_stays():
    said = marked(html.escape("iteration 3, TV 0.087 < 1, independent draws 0.088, forward KL 2"))
    assert said == (
        f"iteration 3, {button('TV', 'tv')} 0.087 &lt; 1, {button('independent draws', 'independent-draws')} 0.088, "
        f"{button('forward KL', 'kl')} 2"
    )
    assert marked("ESSEX, TVs, batch of 100") == "ESSEX, TVs, batch of 100"
