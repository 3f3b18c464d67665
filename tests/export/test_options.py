from pmdviz.export import WRITERS, check
from pmdviz.export.options import Look
from tests.export.conftest import KINDS
from tests.support.tables import looped, refused


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
    refused(words, check, tmp_path / "film.gif", given)


@looped("suffix", KINDS)
def test_an_option_without_effect_is_refused(suffix, tmp_path):
    writer, usual = WRITERS[suffix], Look.checked({}).as_dict()
    assert set(writer.options) <= set(usual)
    for name in usual:
        given = {name: usual[name]}
        if name in writer.options:
            assert check(tmp_path / f"x{suffix}", given)[1] == Look.checked({})
        else:
            refused(f"option {name} is not supported for a {suffix} file", check, tmp_path / f"x{suffix}", given)
