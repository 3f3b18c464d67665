"""A recipe out of a file: what is one begins a run, what is none gets a sentence."""

import json

from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.errors import InputError
from pmdviz.lab.panels.commands import next_recipe
from pmdviz.lab.panels.sharing import OPENING, RecipeFile
from tests.support.tables import looped


def opened(content):
    """What the box asks for when a file is chosen, the recipe of it or the sentence; read by no one but the worker."""
    begun, session = [], Session(Recipe("gaussian", num_particles=10))
    file = RecipeFile(lambda what, **parts: begun.append((what, parts)))
    file.box.value = content
    try:
        return begun, next_recipe(session, begun[0][1]) if begun else None
    except InputError as error:
        return begun, str(error)


@looped("wrap", [lambda plain: plain, lambda plain: {"recipe": plain, "final": {"tv": 0.1}}])
def test_a_recipe_and_what_run_wrote_begin_a_run(wrap):
    recipe = Recipe("gaussian", seed=3, num_particles=50, changes=((4, {"bandwidth": 0.3}),))
    content = json.dumps(wrap(recipe.to_dict())).encode()
    begun, made = opened(content)
    assert begun == [(OPENING, {"content": content})] and made == recipe


@looped("content", [b"", b"\xff\xfe", b"{", b"[1]", b'{"sed": 1}', b'{"pmdviz_recipe": 99}'])
def test_anything_else_gets_a_sentence(content):
    begun, words = opened(content)
    assert isinstance(words, str) and "\n" not in words if content else begun == []
