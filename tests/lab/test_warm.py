"""The warm-up in another process, and what a page says before it is over."""

import pytest

from pmdviz.lab import Lab
from pmdviz.lab.loop import warm


def test_another_process_compiles_and_tells():
    told = []
    warm._compile_elsewhere(lambda share, words: told.append((share, words)))
    assert told[0] == (0.0, "density in 1 dimensions") and told[-1] == (1.0, "ready")


def test_without_another_process_this_one_compiles(monkeypatch):
    monkeypatch.setattr(warm.sys, "executable", "no-such-program")
    warm._compile_elsewhere(lambda share, words: pytest.fail("nothing was told"))


def test_the_first_document_says_what_is_happening(monkeypatch):
    monkeypatch.setattr(warm, "is_ready", lambda: False)
    monkeypatch.setattr(warm, "_progress", (0.12, "density on a grid"))
    warm_words = Lab().screen.status.text
    assert "Preparing the lab: loading the mathematics. 12 %" in warm_words
