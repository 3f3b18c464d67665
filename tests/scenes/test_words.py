import html
import math

from pmdviz.scenes.words import button, marked, number
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


def test_words_of_the_glossary_become_buttons_and_all_else_stays():
    said = marked(html.escape("iteration 3, TV 0.087 < 1, independent draws 0.088, forward KL 2"))
    assert said == (
        f"iteration 3, {button('TV', 'tv')} 0.087 &lt; 1, {button('independent draws', 'independent-draws')} 0.088, "
        f"{button('forward KL', 'kl')} 2"
    )
    assert marked("ESSEX, TVs, batch of 100") == "ESSEX, TVs, batch of 100"
