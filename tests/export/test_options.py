from pathlib import Path

import pytest

from pmdviz.errors import InputError
from pmdviz.export import WRITERS, check
from pmdviz.export.options import SIZES, Look, RaceLook, spelled_out
from pmdviz.scenes.stage import LAYERS
from tests.export.conftest import KINDS
from tests.support.tables import looped


def test_short_forms_stand_for_several_options():
    nothing = dict.fromkeys(LAYERS, False)
    assert spelled_out({"size": "640x360", "fps": 5}) == {"fps": 5, "width": 640, "height": 360}
    assert spelled_out({"size": "square"}) == {"width": 1080, "height": 1080}
    assert spelled_out({"layers": "exact, particles"}) == {**nothing, "exact": True, "particles": True}
    assert spelled_out({"layers": ["approximate"]}) == {**nothing, "approximate": True}
    assert spelled_out({"size": None, "layers": None}) == {}
    assert all(Look.checked(spelled_out({"size": size})) for size in SIZES)


@looped(
    "given, words",
    [
        ({"size": "wide"}, "size must be WIDTHxHEIGHT in px, or one of 1920x1080, 960x540, square; got 'wide'"),
        ({"size": 960}, "got 960"),
        ({"size": "960x540", "width": 960}, "size already sets width and height; leave out width"),
        ({"layers": "exakt"}, "unknown layer 'exakt'; did you mean 'exact'?"),
        ({"layers": 3}, "layers must be names"),
        ({"frames": 5, "every": 2}, "give frames or every, not both; got frames=5, every=2"),
        ({"frames": 1}, "frames must be at least 2"),
        ({"themes": "dark"}, "unknown export option 'themes'; did you mean 'theme'?"),
    ],
)
def test_what_cannot_be_used_is_said_in_a_sentence(given, words, tmp_path):
    with pytest.raises(InputError) as error:
        check(tmp_path / "film.gif", given)
    assert words in str(error.value) and "\n" not in str(error.value)


@looped("suffix", KINDS)
def test_an_option_without_effect_is_refused(suffix, tmp_path):
    writer, usual = WRITERS[suffix], Look.checked({}).as_dict()
    assert set(writer.options) <= set(usual)
    for name in usual:
        given = {name: usual[name]}
        if name in writer.options:
            assert check(tmp_path / f"x{suffix}", given)[1] == Look.checked({})
        else:
            with pytest.raises(InputError, match=f"option {name} is not supported for a {suffix} file"):
                check(tmp_path / f"x{suffix}", given)


PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "export.md").read_text(encoding="utf-8")


def kinds() -> str:
    rows = [f"| `{w.suffix}` | {w.title} | {_needs(w.needs)} |" for w in WRITERS.values()]
    return "\n".join(["| suffix | what it is | needs |", "|---|---|---|", *rows])


def _needs(needs) -> str:
    extras = dict.fromkeys(extra for _, extra in needs)
    return f"`pip install 'pmdviz[{','.join(extras)}]'`" if extras else "nothing more"


def test_the_table_of_kinds_is_the_declarations_and_every_option_is_named():
    assert kinds() in PAGE, f"docs/how-to/export.md must hold:\n{kinds()}"
    assert not [name for name in {**Look.specs(), **RaceLook.specs()} if f"`{name}`" not in PAGE]
