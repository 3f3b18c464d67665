"""Text reaches the contrast that WCAG 2 AA asks for (4.5) in both themes, by the colours as they are written."""

import re

import pytest

from pmdviz.lab import css
from pmdviz.scenes.style import theme
from pmdviz.serve import pages

AA = 4.5
PAPER = {False: "#ffffff", True: "#121212"}  # of the page, and of a picture


def luminance(colour):
    parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one, two):
    low, high = sorted(map(luminance, (one, two)))
    return (high + 0.05) / (low + 0.05)


def said_in(rule, name):
    """The value of a property in the rule of that selector on the page."""
    return re.search(rf"{re.escape(rule)} {{[^}}]*{name}: (#\w+)", pages.PAGE_CSS)[1]


def test_the_measure_is_that_of_wcag():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#767676", "#ffffff") == pytest.approx(4.54, abs=0.01)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_text_of_the_page_and_of_pictures(dark):
    rule = ':root[data-pmdviz="dark"]' if dark else ":root"
    look = theme(dark)
    assert look.paper == PAPER[dark]
    texts = look.text, look.muted, said_in(rule, "--pmdviz-accent"), said_in(rule, "--pmdviz-error")
    assert {text: contrast(text, look.paper) for text in texts if contrast(text, look.paper) < AA} == {}


def test_words_on_buttons_bars_and_dialogs():
    primary = re.findall(r"bk-btn-primary[^{]*{ (?:color: #fff !important; )?background: (#\w+)", css.BUTTON)
    dialogs = re.findall(
        r'color:\$\{dark \? "(#\w+)" : "(#\w+)"\};background:\$\{dark \? "(#\w+)" : "(#\w+)"\}', HEADING
    )
    assert len(primary) == 2 and len(dialogs) == 1
    pairs = [("#ffffff", colour) for colour in primary]
    for dark_text, light_text, dark_back, light_back in dialogs:
        pairs += [(dark_text, dark_back), (light_text, light_back)]
    assert [pair for pair in pairs if contrast(*pair) < AA] == []


HEADING = css.static("heading.js")
