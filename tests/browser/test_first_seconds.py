"""A tab's first seconds: Play moves at once on a cold machine too."""

import sys

import pytest

from tests.browser.conftest import Lab, look_alike, running, stage_pixels


@pytest.mark.nightly
def test_play_moves_while_no_kernel_is_compiled(browser, tmp_path, monkeypatch):
    """The cache of kernels is empty: recorded frames are drawn until other processes have compiled the kernels."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "kernels"))
    with running([sys.executable, "-m", "pmdviz", "serve"], tmp_path / "log") as server:
        lab = Lab(browser, server.url)
        assert "iteration 0, 0 of 20,000" in lab.words() and "Live in" not in lab.words()
        start = stage_pixels(lab.page)
        lab.press("Play")
        lab.wait("pmdviz.iteration() >= 4", 120)
        lab.wait("!pmdviz.model('acknowledge').recorded", 300)  # the live run has taken over
        at = lab.iteration()
        lab.wait(f"pmdviz.iteration() > {at} || pmdviz.iteration() === 200", 60)
        assert not look_alike(start, stage_pixels(lab.page)) and lab.problems == []
        lab.context.close()
