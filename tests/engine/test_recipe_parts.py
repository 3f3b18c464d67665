"""What a changed recipe keeps, and when a run is over before its budget."""

from pmdviz.engine.recipe.recipe import Recipe
from pmdviz.engine.session import Session


def test_options_stay_with_their_target_and_go_with_another():
    recipe = Recipe("mixture", target_options={"num_data": 50})
    for changes, kept in [({"seed": 4}, True), ({"target": "mixture"}, True), ({"target": "banana"}, False)]:
        assert (recipe.replaced(**changes).target_options["num_data"] == 50) is kept, changes


def test_a_method_that_ends_by_itself_ends_the_run():
    session = Session(Recipe("gaussian", "importance", num_particles=20, budget=10**6))
    session.advance(10**6)
    assert session.done and session.ended and session.frame.visited < 10**6
