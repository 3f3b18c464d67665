"""A recipe out of a file: what is one begins a run, what is none gets a sentence."""

import json

import pytest

from pmdviz.lab.recipe_file import RecipeFile
from pmdviz.recipe import Recipe


def opened(content):
    begun = []
    file = RecipeFile(lambda what, recipe: begun.append((what, recipe)))
    file.box.value = content
    return begun, file.said.object


@pytest.mark.parametrize("wrap", [lambda plain: plain, lambda plain: {"recipe": plain, "final": {"tv": 0.1}}])
def test_a_recipe_and_what_run_wrote_begin_a_run(wrap):
    recipe = Recipe("gaussian", seed=3, num_particles=50, changes=((4, {"bandwidth": 0.3}),))
    begun, words = opened(json.dumps(wrap(recipe.to_dict())).encode())
    assert begun == [("start recipe", recipe)] and "></span>" in words


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"{", b"[1]", b'{"sed": 1}', b'{"pmdviz_recipe": 99}'])
def test_anything_else_gets_a_sentence(content):
    begun, words = opened(content)
    assert begun == []
    assert ("></span>" not in words and "Traceback" not in words) if content else words == ""
