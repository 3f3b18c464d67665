import numpy as np
import pytest

from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.scenes.stage import SCENES, SceneChoice, applicable_scenes
from pmdviz.scenes.stage.topics import FAINT, NEUTRAL
from pmdviz.targets import make_target
from pmdviz.views.stage import StageView

LDAC = "\n".join(f"3 {k % 9}:3 {(k + 1) % 9}:2 {(k + 2) % 9}:1" for k in range(30))


@pytest.fixture
def text(tmp_path):
    """Options of a corpus whose words have names."""
    (tmp_path / "text.ldac").write_text(LDAC)
    (tmp_path / "text.tokens").write_text("\n".join(f"word{k}" for k in range(9)))
    return {"data": str(tmp_path / "text.ldac"), "num_data": 20, "num_topics": 3}


def frame_of(options, method="structured_pmd", steps=4, **knobs):
    sizes = {"num_particles": 3} if method == "structured_pmd" else {}
    return Session(Recipe("topics", method, target_options=options, batch_size=20, **sizes, **knobs), 10**9).advance(
        steps
    )


BARS = {"num_data": 60, "num_topics": 5, "side": 3}


def tile(cells, number, columns=3, side=3, gap=1):
    """The cells of a tile, its top row first; six tiles in two rows."""
    rows = len(cells) // (side + 2 * gap)
    bottom, left = (rows - 1 - number // columns) * (side + 2 * gap) + 2 * gap, number % columns * (side + gap)
    return cells[bottom : bottom + side, left : left + side][::-1].ravel()


def test_tiles_are_the_topics_of_the_heaviest_particle_and_lines_the_shares_of_the_document():
    frame, scene = frame_of(BARS), SCENES["topics"]
    image = scene.columns(frame, (2, 0)).image.values
    best = int(np.argmax(frame.weights))
    topics = frame.particles[best].reshape(5, 9)
    for number, topic in enumerate(topics):
        shown = NEUTRAL + FAINT + (NEUTRAL - FAINT) * topic / topic.max()
        np.testing.assert_allclose(tile(image, number), shown, rtol=1e-5)
    first, _, end = frame.target.test_data[2]
    corpus = frame.target.corpus
    counts = np.bincount(corpus.words[first:end], corpus.counts[first:end], 9)
    np.testing.assert_allclose(tile(image, 5), NEUTRAL - FAINT - (NEUTRAL - FAINT) * counts / counts.max(), rtol=1e-5)
    frame, scene = frame_of(BARS), SCENES["topics"]
    topics = frame.target.topics(frame.particles[[int(np.argmax(frame.weights))]])
    lengths = []
    for document in (0, 4):
        line = scene.columns(frame, (document, 1)).approximate["x"]
        ends = line[np.isfinite(line)].reshape(5, 2)
        lengths.append(np.diff(ends, axis=1)[:, 0] / 3)
        shares = frame.target.shares(topics, frame.target.test_data[[document]])[0, 0]
        np.testing.assert_allclose(lengths[-1], shares, atol=1e-5)
    assert not np.allclose(*lengths)


def test_words_with_names_are_written_and_others_are_pixels(text):
    bars, named = frame_of(BARS), frame_of(text)
    assert [*applicable_scenes(bars.target, bars.method)][0] == "topics"
    assert [*applicable_scenes(named.target, named.method)] == ["top_words"]
    columns = SCENES["top_words"].columns(named, (0, 1))
    assert columns.image is None and len(columns.words.text) == 4 * 5
    best = named.particles[int(np.argmax(named.weights))].reshape(3, 9)
    for number, topic in enumerate(best):
        expected = [f"word{w}" for w in np.argsort(-topic, kind="stable")[:5]]
        assert list(columns.words.text[5 * number : 5 * number + 5]) == expected
        x, y = (part[5 * number : 5 * number + 5] for part in columns.words[:2])
        assert (x == number % 2 + 0.5).all() and (np.diff(y) < 0).all() and (np.floor(y) == 1 - number // 2).all()
    assert [word for word in columns.words.text[15:] if word] and columns.words.text[19] == ""  # it has three words


def test_the_document_is_chosen_from_a_menu_and_a_page_gets_the_words(text):
    for options in (BARS, text):
        target = make_target("topics", **options)
        scene, pair = SceneChoice("", (3, 0)).of(target, frame_of(options).method)
        (menu,) = scene.choices(target).items()
        assert menu[0] == "Document" and menu[1][3] == "held-out 4" and len(menu[1]) <= 20
        assert "document 4" in scene.axis_labels(target, pair)[0]
    linear = make_target("linear", dim=3)
    assert SCENES["posterior"].choices(linear) == dict.fromkeys(("Horizontal", "Vertical"), linear.parameter_names)
    assert SCENES["lattice"].choices(make_target("ising")) == {}
    frame, scene = frame_of(text), SCENES["top_words"]
    view = StageView(frame.target, scene, (0, 1))
    view.show(frame)
    columns = scene.columns(frame, (0, 1))
    assert tuple(view.sources["words"].data["text"]) == columns.words.text
    before = view.sources["words"].data
    view.show(frame)
    assert view.sources["words"].data is before, "what is the same is not sent again"
    view.look_at(make_target("topics", **BARS), SCENES["topics"], (0, 1))
    view.show(frame_of(BARS))
    assert list(view.sources["words"].data["text"]) == []
