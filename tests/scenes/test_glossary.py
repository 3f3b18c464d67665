import html
from pathlib import Path

import pytest

from pmdviz.scenes.glossary import GLOSSARY, IN_ROW, KEYS, button, marked, row
from pmdviz.scenes.words import EXACT_SAMPLES

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("key", GLOSSARY)
def test_a_word_has_a_meaning_a_formula_and_a_page_that_speaks_of_it(key):
    term = GLOSSARY[key]
    assert term.meaning.endswith(".") and term.formula
    page = (ROOT / term.page).read_text(encoding="utf-8")
    page = " ".join(page.lower().split())
    assert any(form.lower() in page for form in term.forms)


def test_each_form_belongs_to_one_word():
    assert len(KEYS) == sum(len(term.forms) for term in GLOSSARY.values())
    assert {"TV", "KL", "ESS", "bandwidth", "rejuvenation", EXACT_SAMPLES} <= KEYS.keys()


def test_words_of_the_glossary_become_buttons_and_all_else_stays():
    said = marked(html.escape("iteration 3, TV 0.087 < 1, exact samples 0.088, forward KL 2"))
    assert said == (
        f"iteration 3, {button('TV', 'tv')} 0.087 &lt; 1, {button('exact samples', 'exact-samples')} 0.088, "
        f"{button('forward KL', 'kl')} 2"
    )
    assert marked("ESSEX, TVs, batch of 100") == "ESSEX, TVs, batch of 100"


def test_the_words_of_the_usual_legends_stand_in_one_row():
    assert [key for key in GLOSSARY if f'data-term="{key}"' in row()] == list(IN_ROW)


def test_words_that_no_legend_has_are_explained_where_they_are_written():
    assert marked("Set Surrogate ρ to 1: quantile bins") == (
        f"Set {button('Surrogate', 'surrogate')} ρ to 1: {button('quantile bins', 'quantile-bins')}"
    )
