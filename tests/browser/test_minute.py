"""A newcomer's first minute (docs/usability.md) with what the README's first command installs: no scrolling."""

import html
import re
import shlex
import sys

from PIL import Image

from pmdviz.methods import METHODS
from tests.browser.conftest import Lab, running

SIZE = {"width": 1366, "height": 625}
IN_SIGHT_JS = """
element => new Promise((done) => {
  const watch = new IntersectionObserver(([seen]) => { watch.disconnect(); done(seen.intersectionRatio) })
  watch.observe(element)
})
"""
# The extras `video` and `parquet` are not in that command: here they cannot be found either.
SERVE = (
    "import sys; sys.modules.update(imageio_ffmpeg=None, pyarrow=None); from pmdviz.cli.main import main; "
    "sys.exit(main(['serve', *sys.argv[1:]]))"
)


def in_sight(locator):
    """A part of the page that a person sees whole without scrolling."""
    locator.wait_for()
    assert locator.evaluate(IN_SIGHT_JS) > 0.99
    return locator


def test_a_newcomer_reads_breaks_and_takes_home(browser, tmp_path):
    with running([sys.executable, "-c", SERVE], tmp_path / "log") as server:
        lab = Lab(browser, server.url, accept_downloads=True, viewport=SIZE)
        question = "Two explanations fit the data equally well."
        in_sight(lab.page.locator(".pmdviz-heading").get_by_text(question))
        assert lab.page.get_by_text(f"Press Play. {METHODS['pmd'].what_moves}").is_visible()
        in_sight(lab.page.get_by_role("button", name="Play", exact=True))
        lab.paused_at(5)
        before = lab.picture()
        in_sight(lab.page.get_by_role("slider", name="Bandwidth h", exact=True)).press("End")
        lab.wait(f"pmdviz.picture() !== {before}")
        in_sight(lab.page.get_by_role("button", name="Export …")).click()
        kinds = lab.page.get_by_label("Kind of file").locator("option")
        kinds.first.wait_for(state="attached")
        grey = [
            text.split(":")[0] for text in kinds.evaluate_all("all => all.filter(o => o.disabled).map(o => o.text)")
        ]
        assert grey == ["MP4", "PARQUET"]
        command = shlex.join([sys.executable, "-m", "pip", "install", "imageio-ffmpeg>=0.5", "pyarrow>=16"])
        assert command in html.unescape(lab.page.locator(".pmdviz-export-lost code").inner_html())
        in_sight(lab.page.get_by_role("button", name="Export", exact=True)).click()
        download = lab.page.get_by_text(re.compile(r"^Download pmdviz.gif \([0-9.]+ MB\)$"))
        download.wait_for(timeout=240_000)
        with lab.page.expect_download() as coming:
            in_sight(download).click()
        coming.value.save_as(tmp_path / "taken.gif")
        with Image.open(tmp_path / "taken.gif") as film:
            assert film.n_frames == lab.iteration() + 1
        lab.context.close()
        assert lab.problems == []
