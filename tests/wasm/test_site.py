"""The static site, and the live page in a notebook, from files with every host blocked."""

import html
import re

import nbconvert
import nbformat
import pytest
from playwright.sync_api import expect

import pmdviz
from pmdviz.cli.main import main
from pmdviz.cli.tools import lesson_is_live
from pmdviz.lessons.reading import LESSONS
from tests.support.tables import refused
from tests.wasm.pages import LIMIT_MS, begun, opened, played

HOSTILE = (
    *("__proto__", "constructor", "lesson/__proto__", "lesson/toString", "embed/hasOwnProperty", "embed/valueOf"),
    *("javascript:alert(1)", "<img src=x onerror=alert(1)>", "two_modes<script>alert(1)</script>", "%00", "a" * 9_999),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("site")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pmdviz.lessons.reading.LESSONS", {name: LESSONS[name] for name in ("one_step", "one_chain")})
        assert main(["site", str(made)]) == 0
    return made


def test_a_site_is_two_files_that_ask_for_nothing_else(folder, tmp_path, capsys):
    assert {file.name for file in folder.iterdir()} == {"index.html", "essay.html"}
    for file in folder.iterdir():
        text = file.read_text("utf-8")
        (policy,) = re.findall('http-equiv="Content-Security-Policy" content="([^"]*)"', html.unescape(text))
        assert "default-src 'none'" in policy and "*" not in policy
        assert not re.search("unsafe-(inline|eval|hashes)", policy.replace("wasm-unsafe-eval", ""))
        assert len(text.encode()) < 1_200_000
    (tmp_path / "file").touch()
    assert main(["site", str(tmp_path / "file")]) == main(["site", ""]) == 2
    assert "pmdviz: " in capsys.readouterr().err
    assert not lesson_is_live(LESSONS["one_chain"])  # Gibbs does not run in a page
    assert not lesson_is_live(LESSONS["price_of_a_draw"])  # a race
    assert lesson_is_live(LESSONS["one_step"])


@pytest.mark.browser
def test_presets_are_chosen_from_a_menu_or_by_the_address_and_hostile_fragments_do_nothing(browser, folder):
    page, trouble = opened(browser, folder / "index.html")
    begun(page)
    assert page.locator("#presets option").count() > 20
    page.locator("#presets").select_option("one_gaussian")
    expect(page.locator("#title")).to_have_text("A single Gaussian", timeout=LIMIT_MS)
    assert page.url.endswith("#one_gaussian")
    begun(page)
    played(page)
    page.go_back()
    expect(page.locator("#title")).to_have_text("Two modes")
    for fragment in HOSTILE:
        page.goto(f"file://{folder / 'index.html'}#{fragment}")
        expect(page.locator("#title")).to_have_text("Two modes")
        begun(page)
        expect(page.locator("#trouble")).to_be_empty()
    assert page.locator("main img, main script").count() == 0
    page.get_by_role("link", name="Inference as descent").click()
    expect(page.locator("h1")).to_have_text("Inference as descent")
    frame = page.frame_locator("#picture-weights iframe")  # the essay has live pictures
    page.locator("#picture-weights").scroll_into_view_if_needed()
    begun(frame)
    expect(frame.locator("#site")).to_be_hidden()
    played(frame)
    assert page.locator("#picture-dimension input[type=range]").count() == 1  # its target does not run in a page
    assert not trouble
    page.close()


@pytest.mark.browser
def test_a_lesson_asks_runs_judges_and_has_a_goal(browser, folder):
    page, trouble = opened(browser, folder / "index.html", "#lesson/one_step", viewport={"width": 390, "height": 844})
    begun(page)
    for width, height in ((1366, 625), (390, 844)):
        page.set_viewport_size({"width": width, "height": height})
        expect(page.get_by_role("button", name="Play", exact=True)).to_be_in_viewport(ratio=1)
    lesson = page.locator("#lesson")
    lesson.get_by_role("radio").first.check()
    lesson.get_by_role("button", name="Answer").click()
    expect(lesson.locator(".verdict")).to_have_text("Press Play to see.")
    page.get_by_role("button", name="Play").click()
    expect(lesson.locator(".verdict").first).to_contain_text(re.compile(r"^No\. .*ESS is \d+"), timeout=LIMIT_MS)
    expect(page.locator(".pmdviz-status")).to_contain_text("iteration 1, 20 of 20")
    expect(page.locator(".stage")).to_be_in_viewport()
    lesson.get_by_role("button", name="Next").click()
    expect(lesson.locator("h2")).to_contain_text("2 of 3")
    lesson.get_by_role("button", name="Next").click()
    names = page.locator("#basic input, #basic select").evaluate_all("(all) => all.map((one) => one.name)")
    assert names == ["num_particles"]
    begun(page)
    page.locator("input[name=num_particles]").fill("900")
    expect(page.locator("#basic output")).not_to_have_text(re.compile("^1,500"))
    page.get_by_role("button", name="Play").click()
    expect(page.locator("#goal")).to_contain_text("Goal reached at iteration 1", timeout=LIMIT_MS)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert not trouble
    page.close()


@pytest.mark.browser
def test_a_saved_notebook_and_its_html_run_without_a_kernel(browser, tmp_path):
    lab = pmdviz.Lab(static=True, keyboard=True, method="svgd", num_particles=300)
    data = {"text/plain": repr(lab), "text/html": lab._repr_html_()}
    output = nbformat.v4.new_output("display_data", data=data)
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("lab", outputs=[output])])
    nbformat.validate(book)
    text, _ = nbconvert.HTMLExporter().from_notebook_node(nbformat.reads(nbformat.writes(book), nbformat.NO_CONVERT))
    file = tmp_path / "book.html"
    file.write_text(text, "utf-8")
    page, _ = opened(browser, file)  # nbconvert's own page asks for MathJax
    frame = page.frame_locator("iframe")
    begun(frame)
    played(frame)
    expect(frame.locator("#trouble")).to_be_empty()
    page.close()
    refused("gibbs does not run in a page", pmdviz.Lab, method="gibbs", static=True)
