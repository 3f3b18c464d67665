import html

from pmdviz.scenes.glossary import button, marked


def test_words_of_the_glossary_become_buttons_and_all_else_stays():
    said = marked(html.escape("iteration 3, TV 0.087 < 1, exact samples 0.088, forward KL 2"))
    assert said == (
        f"iteration 3, {button('TV', 'tv')} 0.087 &lt; 1, {button('exact samples', 'exact-samples')} 0.088, "
        f"{button('forward KL', 'kl')} 2"
    )
    assert marked("ESSEX, TVs, batch of 100") == "ESSEX, TVs, batch of 100"
