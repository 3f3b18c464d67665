"""Coverage-guided fuzzing of the recipe decoder: `pip install atheris`, then `python -m tests.atheris_recipe SECONDS`.

No test of the suite, as atheris has wheels for Linux alone. It ends with a crash and the input that led to it, or with
the number of inputs tried.
"""

import json
import sys
import tempfile
from pathlib import Path

import atheris

with atheris.instrument_imports(
    include=["pmdviz.engine.recipe.recipe", "pmdviz.engine.recipe.parts", "pmdviz.knobs", "json"]
):
    from pmdviz.engine.recipe.recipe import Recipe
    from pmdviz.errors import InputError
    from tests.support.mutations import seeds


def one_input(data: bytes) -> None:
    """Read it or refuse it in one line; what was read comes back the same."""
    try:
        recipe = Recipe.from_json(data)
    except InputError as error:
        assert "\n" not in str(error)
        return
    assert Recipe.from_json(recipe.to_json()) == recipe


def main(seconds: int) -> None:
    """Fuzz for so many seconds, beginning from valid recipes."""
    with tempfile.TemporaryDirectory() as corpus:
        for number, plain in enumerate(seeds()):
            Path(corpus, str(number)).write_text(json.dumps(plain), encoding="utf-8")
        atheris.Setup(
            [sys.argv[0], f"-max_total_time={seconds}", "-timeout=5", "-max_len=4096", "-print_final_stats=1", corpus],
            one_input,
        )
        atheris.Fuzz()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 60)
