import numpy as np

from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.scenes.stage import SCENES
from pmdviz.scenes.stage.topics import FAINT, NEUTRAL


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
