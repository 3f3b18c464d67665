"""A newcomer's first minute with what the README's first command installs: read, break, take a GIF home."""

import html
import shlex
import sys

from PIL import Image

from pmdviz.methods import METHODS
from tests.browser.conftest import Lab, running
from tests.browser.test_export import Panel

# The extras `video` and `parquet` are not in that command: here they cannot be found either.
SERVE = (
    "import sys; sys.modules.update(imageio_ffmpeg=None, pyarrow=None); from pmdviz.cli.main import main; "
    "sys.exit(main(['serve', *sys.argv[1:]]))"
)


def test_a_newcomer_reads_breaks_and_takes_home(browser, tmp_path):
    with running([sys.executable, "-c", SERVE], tmp_path / "log") as server:
        lab = Lab(browser, server.url, accept_downloads=True)
        assert lab.page.get_by_text("Two explanations fit the data equally well.").first.is_visible()
        assert lab.page.get_by_text(f"Press Play. {METHODS['pmd'].what_moves}").is_visible()
        lab.paused_at(5)
        before = lab.picture()
        lab.page.get_by_role("slider", name="Bandwidth h", exact=True).press("End")
        lab.wait(f"pmdviz.picture() !== {before}")
        panel = Panel(lab)
        kinds = lab.page.get_by_label("Kind of file").locator("option")
        kinds.first.wait_for(state="attached")
        grey = [
            text.split(":")[0] for text in kinds.evaluate_all("all => all.filter(o => o.disabled).map(o => o.text)")
        ]
        assert grey == ["MP4", "PARQUET"]
        command = shlex.join([sys.executable, "-m", "pip", "install", "imageio-ffmpeg>=0.5", "pyarrow>=16"])
        assert command in html.unescape(lab.page.locator(".pmdviz-export-lost code").inner_html())
        panel.set("frames", "4")
        with Image.open(panel.made("gif", tmp_path)) as film:
            assert film.n_frames == 4
        lab.context.close()
        assert lab.problems == []
