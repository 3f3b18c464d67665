from pmdviz.methods import METHODS
from pmdviz.scenes.introduction import explanation, sentence
from pmdviz.targets import make_target
from tests.support.tables import looped

MIXTURE = make_target("mixture")


@looped(
    "method, knobs, said",
    [
        ("pmd", {}, "1,500 particles start where we know nothing (prior) and should end where the data point"),
        ("pmd", {"num_particles": 1}, "One particle starts where"),
        ("gibbs", {}, "One point starts where"),
        ("sgld", {"num_chains": 4}, "4 points start where"),
        ("svi", {}, "One Gaussian starts where"),
        ("npv", {"num_components": 20}, "20 Gaussians start where"),
        ("importance", {}, "should count most where the data point (posterior)."),
    ],
)
def test_the_sentence_says_what_starts_and_where_it_should_end(method, knobs, said):
    assert said in sentence(METHODS[method], METHODS[method].Knobs.checked(knobs), MIXTURE)


@looped("name", METHODS)
def test_what_is_this_opens_five_sentences_the_formula_and_the_paper(name):
    told = explanation(METHODS[name], MIXTURE)
    assert len(told.sentences) == 5 and all(one.endswith(".") for one in told.sentences)
    assert told.formula and told.source and METHODS[name].title in told.title
