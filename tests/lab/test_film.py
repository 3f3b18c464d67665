"""The stored film that is seen while kernels compile: small, of the preset as it is, gone with the first picture."""

import asyncio
import json

from PIL import Image

from pmdviz import run
from pmdviz.lab import Lab
from pmdviz.lab.loop import record, warm
from pmdviz.lab.panels import film
from tests.lab.test_lab import until
from tests.lab.threads import in_a_thread


def test_the_film_is_small_and_of_the_preset_as_it_is_now():
    """When this fails the film is stale: `python -m pmdviz.lab.loop.record` makes it anew."""
    assert film.FILM.stat().st_size + film.STILL.stat().st_size < 300_000
    with Image.open(film.FILM) as image:
        assert (image.n_frames, "x".join(map(str, image.size))) == (record.FRAMES, record.SIZE)
    stored, now = json.loads(film.ABOUT.read_text(encoding="utf-8")), record.about(run(record.recipe()))
    assert (stored["recipe"], stored["pmdviz"]) == (now["recipe"], now["pmdviz"])
    assert abs(stored["tv"] - now["tv"]) < 0.002


def test_a_cold_lab_shows_the_film_until_its_first_picture(monkeypatch):
    monkeypatch.setattr(warm, "can_draw", lambda: False)
    monkeypatch.setattr(warm, "wait", lambda first_picture: None)

    async def scene():
        lab = Lab(num_particles=50)
        card = lab.film
        assert card.view in lab.screen.view.objects and card.shown
        assert '<source media="(prefers-reduced-motion: reduce)" srcset="data:image/png' in card.picture.object
        lab.start()
        await until(lambda: lab._last is not None)
        assert not card.shown and card.picture.object == ""
        lab.stop()
        await asyncio.wait_for(lab.live._task, 60)

    in_a_thread(scene)


def test_a_warm_lab_has_none(monkeypatch):
    monkeypatch.setattr(warm, "can_draw", lambda: True)
    card = Lab(num_particles=50).film
    assert not card.shown and card.picture.object == ""
