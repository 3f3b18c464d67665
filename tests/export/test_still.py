import xml.etree.ElementTree as ElementTree

import numpy as np
from PIL import Image

from pmdviz.export.film.film import Film
from pmdviz.export.film.picture import Picture
from pmdviz.export.options import Look
from tests.support.tables import looped


@looped("transparent", [False, True])
def test_png_is_the_frame_that_a_film_ends_with(run, tmp_path, transparent):
    options = {"width": 480, "height": 270, "transparent": transparent}
    saved = np.asarray(Image.open(run.export(tmp_path / "still.png", **options)).convert("RGBA"))
    film = Film(run, Look.checked(options))
    scene = film.last_scene()
    drawn = Picture(film, scene).draw(scene)
    assert saved.shape == drawn.shape == (270, 480, 4)
    assert (np.abs(saved.astype(int) - drawn).max(axis=2) > 2).mean() < 0.001
    assert saved[0, 0, 3] == (0 if transparent else 255)


@looped("suffix", [".png", ".svg", ".pdf"])
def test_the_same_run_gives_the_same_bytes_in_the_form_of_its_kind(run, tmp_path, suffix):
    one, raw = (run.export(tmp_path / f"{name}{suffix}").read_bytes() for name in "ab")
    assert one == raw
    if suffix == ".pdf":
        assert raw.startswith(b"%PDF") and b"/Type /Page" in raw and raw.rstrip().endswith(b"%%EOF")
    if suffix == ".svg":
        root = ElementTree.fromstring(raw.decode())
        assert root.tag.endswith("svg")
        assert "iteration 12, 1,200 of 1,200 data visited" in " ".join(root.itertext())
        (dots,) = [each for each in root.iter() if each.get("id", "").startswith("PathCollection")]
        assert sum(each.tag.endswith(("path", "use")) for each in dots.iter()) >= len(run.weights)
