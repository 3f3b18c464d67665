"""What a page writes of knobs is words: of every knob of every method, target, experiment and export."""

import re

import pytest

from pmdviz.errors import InputError
from pmdviz.experiments.catalogue import EXPERIMENTS
from pmdviz.export.options import Look, RaceLook
from pmdviz.knobs import Choice, Knobs, table
from pmdviz.methods import METHODS
from pmdviz.presets import PRESETS
from pmdviz.targets import TARGETS

HOMES = {
    **{f"target {name}": target.Options for name, target in TARGETS.items()},
    **{f"method {name}": method.Knobs for name, method in METHODS.items()},
    **{f"experiment {name}": made.Knobs for name, made in EXPERIMENTS.items()},
    "export": Look,
    "export of a race": RaceLook,
}
SPECS = [
    pytest.param(spec, id=f"{home}: {name}") for home, knobs in HOMES.items() for name, spec in knobs.specs().items()
]
WORDS = {  # identifiers that a statistician would say and write like this
    "constant", "dark", "independent", "light", "multinomial", "never", "none", "residual", "stratified", "systematic",
    "accuracy", "ancestors", "perplexity", "iteration", "adaptive", "off", "on", "tanh", "misclassification",
    "natural", "normalised",
}  # fmt: skip


@pytest.mark.parametrize("spec", SPECS)
def test_every_choice_has_words_and_no_word_is_an_identifier(spec):
    assert tuple(spec.words) == spec.choices
    for choice, words in spec.words.items():
        assert words.strip() and "_" not in words
        assert words != choice or choice in WORDS
    assert len(set(spec.words.values())) == len(spec.words), "two choices that read alike"


@pytest.mark.parametrize("spec", SPECS)
def test_a_label_is_words_and_no_explanation_speaks_of_identifiers(spec):
    assert spec.label != spec.name and "_" not in spec.label and ":" not in spec.label
    assert spec.label[0].isupper()
    named = [choice for choice in spec.choices if re.search(rf"(^|[.;] ){re.escape(choice)}:", spec.help)]
    assert "_" not in spec.help and "`" not in spec.help
    assert all(choice in WORDS for choice in named if choice), named


@pytest.mark.parametrize("name", METHODS)
def test_a_method_has_two_to_six_basic_settings(name):
    specs = METHODS[name].Knobs.specs()
    usual = METHODS[name].Knobs.defaults()
    basic = [one for one in specs if specs[one].basic and usual.matters(one, usual.as_dict())]
    assert 2 <= len(basic) <= 6


def test_the_basic_settings_of_mirror_descent():
    specs, usual = METHODS["pmd"].Knobs.specs(), METHODS["pmd"].Knobs.defaults()
    basic = {one for one in specs if specs[one].basic and usual.matters(one, usual.as_dict())}
    assert basic == {"num_particles", "eta", "bandwidth", "batch_size", "policy"}


def test_a_page_says_the_label_where_python_says_the_name():
    knobs = METHODS["pmd"].Knobs
    for name, raw, label in [("num_particles", "abc", "Particles m must be a whole number"),
                             ("policy", "perhaps", "Rejuvenation must be one of: never; every step;")]:  # fmt: skip
        with pytest.raises(InputError, match=name) as error:
            knobs.checked({name: raw})
        assert error.value.on_page.startswith(label) and error.value.field == name
        assert name not in error.value.on_page
    with pytest.raises(InputError, match="warm_start = true needs batches = 'epochs'") as error:
        knobs.checked({"warm_start": True, "batches": "replacement"})
    assert error.value.on_page == "Warm start needs Batches set to “shuffled passes”"


def test_the_docs_show_the_identifier_with_its_words():
    rows = {row["name"]: row for row in table(METHODS["pmd"].Knobs)}
    assert rows["policy"]["values"].startswith("one of never, always (every step), until (every step until t₀), ess (")
    assert rows["eta"]["label"] == "Step size η"


def test_a_choice_is_declared_once_with_its_words():
    class Some(Knobs):
        order = Choice("up", choices={"up": "from the least", "down": "from the most"}, label="Order", doc="Of two.")

    spec = Some.specs()["order"]
    assert spec.choices == ("up", "down") and spec.said("down") == "from the most"
    assert not spec.basic and Some.checked({"order": "down"}).order == "down"


@pytest.mark.parametrize("name", PRESETS)
def test_a_hint_says_what_the_page_says(name):
    """The words of a choice and the label of a setting, as they stand on the panel; no identifier."""
    specs, before = METHODS[PRESETS[name].recipe.method].Knobs.specs(), {}
    for hint in PRESETS[name].hints:
        for knob, value in hint.knobs.items():
            if before.get(knob) == value:
                continue
            if isinstance(value, bool):
                assert f"witch {specs[knob].label} {'on' if value else 'off'}" in hint.say
            elif specs[knob].words:
                assert f'{specs[knob].label} to "{specs[knob].said(value)}"' in hint.say
            elif knob != "num_particles":
                assert f"{specs[knob].label} to {value:g}" in hint.say
        options = TARGETS[PRESETS[name].recipe.target].Options.specs()
        for option, value in hint.options.items():
            said = f'"{options[option].said(value)}"' if options[option].words else f"{value:g}"
            assert f"{options[option].label} to {said}" in hint.say
        before = dict(hint.knobs) or before
        assert "_" not in hint.say
