"""Who races: texts, pairs, labels, and the sentences for what cannot be used."""

import pytest

from pmdviz.errors import InputError
from pmdviz.experiments.race import entrants
from pmdviz.experiments.race.entrants import split
from pmdviz.methods import METHODS, find_method
from pmdviz.targets import make_target


def test_texts_and_pairs_say_the_same():
    text, pair = entrants(["pmd:warm_start=true, bandwidth=0.5", ("pmd", {"warm_start": True, "bandwidth": 0.5})])
    one, other = (entrant.recipe(make_target("mixture"), 0, 100) for entrant in (text, pair))
    assert one == other and one.knobs["warm_start"] is True and one.knobs["bandwidth"] == 0.5


def test_labels_tell_what_differs_from_the_defaults_and_are_never_the_same():
    found = entrants(["pmd", "smc:jitter=1.5", ("pmd", {"warm_start": True}), "pmd", "pmd"])
    assert [one.label for one in found] == ["pmd", "smc:jitter=1.5", "pmd:warm_start=true", "pmd #2", "pmd #3"]


def test_titles_are_words_of_the_method_and_of_what_was_given():
    texts = ["pmd", "pmd:warm_start=true,bandwidth=0.5", "svgd:num_particles=2000", "gibbs", "gibbs"]
    assert [one.title for one in entrants([*texts, "pmd:warm_start=false,draws=independent"])] == [
        "PMD",
        f"PMD, warm start, {label('pmd', 'bandwidth')} = 0.5",
        f"SVGD, {label('svgd', 'num_particles')} = 2,000",
        "Gibbs sampling",
        "Gibbs sampling #2",
        "PMD, no warm start, new particles: independent",
    ]
    assert entrants(["sgld"])[0].full_title == "Stochastic gradient Langevin dynamics"


def label(method, knob):
    words = find_method(method).Knobs.specs()[knob].label
    return words[0].lower() + words[1:]


def test_no_knob_is_called_by_its_identifier_in_a_title():
    for method, made in METHODS.items():
        for name, spec in made.Knobs.specs().items():
            title = entrants([(method, {name: spec.default})])[0].title
            assert "_" not in title and title.startswith(made.short_title or made.title), (method, name)


def test_one_text_holds_several_entrants():
    text = "pmd,pmd:warm_start=true,bandwidth=0.5, smc"
    assert split(text) == ["pmd", "pmd:warm_start=true,bandwidth=0.5", "smc"]
    assert [one.method for one in entrants(text)] == ["pmd", "pmd", "smc"]


def test_what_cannot_be_used_is_one_sentence():
    for given, words in [
        ([], "at least 1 and at most 100 methods; given: 0"),
        (["pdm"], "unknown method 'pdm'; did you mean 'pmd'"),
        (["pmd:bandwidt=1"], "unknown knob of method 'pmd': 'bandwidt'; did you mean 'bandwidth'"),
        (["pmd:bandwidth=-1"], "bandwidth must be"),
        (["pmd:bandwidth"], "after a colon"),
        (["pmd:"], "after a colon"),
        (["pmd:bandwidth=1,bandwidth=2"], "bandwidth is given twice"),
        ("pmd,bandwidth=1", "after a colon"),
        ([("pmd", 3)], "or a pair"),
        ([7], "or a pair"),
        (7, "methods must be a list"),
    ]:
        with pytest.raises(InputError, match=words) as caught:
            entrants(given)
        assert "\n" not in str(caught.value)


def test_a_pair_that_does_not_fit_names_the_entrant():
    (one,) = entrants(["gibbs"])
    with pytest.raises(InputError, match="entrant gibbs: method 'gibbs' needs exact conditionals"):
        one.recipe(make_target("bimodal1d"), 0, 100)


def test_who_stays_in_a_race_is_named_anew():
    first, second = entrants(["pmd", "pmd"])
    assert [one.label for one in entrants([second, "smc", first])] == ["pmd", "smc", "pmd #2"]
