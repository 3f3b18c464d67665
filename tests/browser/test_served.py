"""A teacher's own lessons, target and docs, a proxy's prefix, every entry of every menu, a phone, a challenge."""

import re
import subprocess
import sys
from urllib.parse import urlsplit

import pytest

from tests.browser import lesson_by_keys as keys
from tests.browser.conftest import Lab, running
from tests.browser.test_other_pages import PHONE
from tests.lessons.samples import SMALL
from tests.support.browser import await_answer, free_port, in_sight
from tests.test_deploy import nginx

pytestmark = pytest.mark.nightly

SERVE = [sys.executable, "-m", "pmdviz", "serve"]
NGINX = """server {{ listen 127.0.0.1:{front}; location /stats/lab/ {{
  proxy_pass {back}/; proxy_http_version 1.1; proxy_buffering off; proxy_set_header Host $http_host;
  proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection upgrade; }} }}
"""


def begin(lab, menu, title):
    """Choose what begins another run, and wait for its first picture: the address changes with it."""
    before = lab.page.evaluate("location.search")
    in_sight(lab.page, lambda: lab.page.get_by_label(menu, exact=True)).select_option(label=title)
    lab.wait(f"location.search !== {before!r} && pmdviz.iteration() === 0", 120)
    lab.at_rest("pmdviz.picture()")


def test_a_teachers_lessons_target_docs_and_limits(browser, tmp_path):
    lessons, docs = tmp_path / "lessons", tmp_path / "docs"
    subprocess.run([sys.executable, "-m", "pmdviz", "docs", docs, "--gallery", "none"], check=True)
    lessons.mkdir()
    (lessons / "small.md").write_text(SMALL, encoding="utf-8")
    own = ["--lessons", str(lessons), "--docs", str(docs), "--target", "tests.support.own:dose"]
    with running([*SERVE, *own, "--max-particles", "3000"], tmp_path / "log") as server:
        lab = Lab(browser, server.url)
        begin(lab, "Target", "dose")
        lab.press("Step")
        lab.wait("pmdviz.iteration() === 1")
        lab.type("num_particles", "5000")
        lab.page.get_by_text("at least 1 and at most 3,000").locator("visible=true").first.wait_for()
        lab.page.goto(f"{server.url}/docs/tutorials/first-steps.html")
        assert lab.page.get_by_role("heading", level=1).inner_text().startswith("First steps")
        lab.page.goto(f"{server.url}/?lesson=small")
        keys.wait(lab, "t.lesson", 300)  # a busy machine compiles kernels meanwhile
        lab.page.get_by_text("The text of the first step").locator("visible=true").first.wait_for()
        lab.context.close()


def test_behind_a_proxy_with_a_prefix(browser, tmp_path):
    front = free_port()
    own, url = ["--allow-websocket-origin", f"127.0.0.1:{front}"], f"http://127.0.0.1:{front}/stats/lab"
    with running([*SERVE, *own], tmp_path / "log") as server:
        with nginx(tmp_path, NGINX.format(front=front, back=server.url)) as proxy:
            await_answer(proxy, f"{url}/liveness")
            lab = Lab(browser, url)
            before = lab.picture()
            lab.paused_at(4)
            assert lab.picture() != before and lab.problems == []
            lab.context.close()


@pytest.mark.parametrize(("menu", "least"), [("Preset", 59), ("Target", 23), ("Method", 16)])
def test_every_entry_of_a_menu_opens_and_steps(open_lab, menu, least):
    lab = open_lab("/?preset=particles_die")
    options = in_sight(lab.page, lambda: lab.page.get_by_label(menu, exact=True)).locator("option")
    titles = [title for title in options.all_inner_texts() if title != "Custom"]
    assert len(titles) >= least
    for title in titles:
        begin(lab, menu, title)
        last = lab.picture()
        lab.press("Step")
        lab.wait(f"pmdviz.iteration() === 1 && pmdviz.picture() !== {last}", 120)


def test_the_lab_fits_a_phone(open_lab):
    lab = open_lab(**PHONE)
    stage, button = lab.boxes(".pmdviz-stage", ".pmdviz-play")
    assert stage["width"] >= 350 and abs(stage["width"] - stage["height"]) < 2, stage
    assert button["bottom"] <= 844 and lab.page.evaluate("document.documentElement.scrollWidth") <= 390
    before = lab.picture()
    lab.page.get_by_role("button", name="Play", exact=True).locator("visible=true").first.tap()
    lab.reach(3)
    lab.press("Pause")
    assert lab.picture() != before


def test_the_score_of_a_challenge_replays_from_its_link(open_lab):
    lab = open_lab("/?lesson=five_passes", locale="en", permissions=["clipboard-read", "clipboard-write"])
    keys.wait(lab, "t.lesson && t.goal")
    lab.hurry()
    lab.press("Play")
    keys.wait(lab, "/Score \\d+ of 100/.test(t.score ?? '')", 120)
    score = re.search(r"Score \d+", keys.told(lab)["score"])[0]
    lab.press("Copy link to this attempt")
    lab.page.wait_for_function("navigator.clipboard.readText().then((t) => t.includes('five_passes'))")
    link = lab.page.evaluate("navigator.clipboard.readText()")
    other = open_lab(f"/?{urlsplit(link).query}", locale="en")
    keys.wait(other, "(t.score ?? '').includes('replayed from the link')", 120)
    assert keys.told(other)["score"].startswith(score)
