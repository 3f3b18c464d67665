"""The exported page that runs, opened from a file with every host blocked."""

import re

import numpy as np
import pytest
from playwright.sync_api import expect

import pmdviz
from pmdviz.export.films import Film, stage_of
from pmdviz.export.options import Look
from tests.support.browser import painted
from tests.support.tables import refused
from tests.wasm import pages
from tests.wasm.pages import LIMIT_MS, begun, played

MOST_BYTES = 1_200_000


@pytest.fixture(scope="module")
def made():
    return pmdviz.run(target="mixture", method="pmd", seed=0, budget=20_000, num_particles=400)


@pytest.fixture(scope="module")
def file(made, tmp_path_factory):
    return made.export(tmp_path_factory.mktemp("live") / "lab.html", live=True)


def opened(browser, file, fragment="", **more):
    page, trouble = pages.opened(browser, file, fragment, **more)
    begun(page)
    return page, trouble


def reached(page, iteration):
    status = page.locator(".pmdviz-status")
    expect(status).to_contain_text(f"iteration {iteration:,},", timeout=LIMIT_MS)
    return float(re.search(r"TV ([\d.]+)", status.inner_text())[1])


def jump(page, steps):
    page.evaluate("(steps) => every('step', {steps})", steps)


@pytest.mark.browser
def test_a_race_of_two_methods_is_a_page_that_runs_and_what_cannot_is_refused(tmp_path, browser):
    race = pmdviz.race(["pmd:num_particles=100", "svgd:num_particles=50"], budget=1_000)
    page, trouble = opened(browser, race.export(tmp_path / "race.html", live=True))
    expect(page.locator("#compare")).to_have_value("svgd")
    assert not trouble
    three = pmdviz.race(["pmd", "svgd", "sgld"], budget=100)
    words = "a live page has one method, or 2 different ones; got pmd, svgd, sgld"
    refused(words, three.export, tmp_path / "race.html", live=True)
    other = pmdviz.run(target="mixture", method="gibbs", budget=2_000, floor=False)
    refused("gibbs does not run in a page", other.export, tmp_path / "lab.html", live=True)
    refused("option live is not supported", other.export, tmp_path / "lab.png", live=True)


@pytest.mark.browser
def test_the_page_is_one_small_file_that_plays_and_replays_the_exported_run(browser, file, made):
    text = file.read_text("utf-8")
    assert len(text.encode()) <= MOST_BYTES
    assert "http://" not in text.replace("http://www.w3.org", "") and "https://" not in text
    page, trouble = opened(browser, file, "#<img src=x onerror=alert(1)>")
    played(page)
    page.get_by_role("button", name="Pause").click()
    page.get_by_role("button", name="Restart").click()
    reached(page, 0)
    jump(page, 200)
    assert reached(page, 200) == pytest.approx(made.frames[-1].metrics["tv"], abs=6e-4)
    for width, height in ((390, 844), (1366, 625), (1440, 900)):
        page.set_viewport_size({"width": width, "height": height})
        page.wait_for_function("document.documentElement.scrollWidth <= innerWidth")
    painted(page)  # in the last size
    x, y = page.evaluate("(({X, Y}) => [X(1), Y(-2)])(document.querySelector('.stage').pmdviz)")
    box = page.locator(".stage").bounding_box()
    page.mouse.move(box["x"] + x, box["y"] + y)
    page.mouse.down()
    page.mouse.move(box["x"] + x - 60, box["y"] + y - 30, steps=4)  # a mode is dragged: its data are simulated again
    page.mouse.up()
    expect(page.locator("input[name=theta1]").locator("..").locator("output")).not_to_have_text(re.compile("^1 "))
    assert page.evaluate("runs[0].frame.options.theta1") < 0.9
    assert not trouble
    page.close()


@pytest.mark.browser
@pytest.mark.parametrize(
    ("target", "method"), [("bimodal1d", "hmc"), ("banana", "mala"), ("formula", "svgd"), ("gmm", "importance")]
)
def test_the_stage_is_that_of_python(browser, tmp_path, target, method):
    run = pmdviz.run(target=target, method=method, seed=0, budget=3_000, floor=False)
    page, trouble = opened(browser, run.export(tmp_path / "lab.html", live=True))
    jump(page, run.final.iteration)
    reached(page, run.final.iteration)
    seen = page.evaluate("document.querySelector('.stage').pmdviz.picture")
    expected = stage_of(film := Film(run, Look.checked({}), all_floors=False), film.last_scene())
    assert [seen[axis]["label"] for axis in "xy"] == [expected.x.label, expected.y.label]
    for key in ("exact", "approximate", "particles", "areas"):
        ours, theirs = seen["marks"][key], expected.marks[key]
        assert ours["role"] == theirs.role
        for axis in "xy":
            mine = np.array(list(ours["columns"][axis]), float)
            given = np.asarray(theirs.columns[axis], float)
            for end in (np.nanmin, np.nanmax):
                assert end(mine) == pytest.approx(end(given), abs=0.03 * np.ptp(given[np.isfinite(given)])), (key, axis)
    assert not trouble
    page.close()


@pytest.mark.browser
def test_settings_keys_comparison_and_python(browser, file):
    page, trouble = opened(browser, file)
    page.keyboard.press("s")
    reached(page, 1)
    page.locator("input[name=num_particles]").fill("600")
    jump(page, 1)
    reached(page, 2)
    page.get_by_role("button", name="Copy Python").click()
    space = {}
    exec(page.locator("#python").inner_text(), space)
    assert space["session"].frame.iteration == 2
    run = space["run"]
    assert len(run.particles) != 400
    assert reached(page, 2) == pytest.approx(run.frames[-1].metrics["tv"], abs=6e-4)
    page.locator("#compare").select_option("hmc")
    expect(page.locator(".caption").nth(1)).to_contain_text("HMC: iteration 0", timeout=LIMIT_MS)
    page.get_by_role("button", name="Play").click()
    expect(page.locator(".caption").nth(1)).not_to_contain_text("HMC: iteration 0", timeout=LIMIT_MS)
    page.locator("summary", has_text="Data").click()
    page.locator("input[name=data_seed]").focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator("#trouble")).to_be_empty()
    assert not trouble
    page.close()


MOVED_JS = """() => new Promise((done) => {
  const stage = document.querySelector(".stage"), seen = [], next = runs[0].frame.iteration + 1
  every("step")
  const look = () => {
    const {moved, picture} = stage.pmdviz, now = moved.particles.columns.x[0]
    if (runs[0].frame.iteration === next && now !== seen.at(-1)) seen.push(now)
    if (seen.length && moved === picture.marks) done(seen)
    else requestAnimationFrame(look)
  }
  requestAnimationFrame(look)
})"""


@pytest.mark.browser
@pytest.mark.parametrize("calm", ["reduce", "no-preference"])
def test_dots_move_from_one_state_to_the_next(browser, tmp_path, calm):
    run = pmdviz.run(target="gmm", method="svgd", seed=0, budget=100, num_particles=200, floor=False)
    page, trouble = opened(browser, run.export(tmp_path / "lab.html", live=True), reduced_motion=calm)
    many = []
    for _ in range(8):  # a busy machine may draw too few pictures of one of them
        start = page.evaluate("runs[0].kept.particles.x[0]")
        seen = page.evaluate(MOVED_JS)
        end = page.evaluate("runs[0].kept.particles.x[0]")
        assert seen[-1] == end and (seen == sorted(seen) or seen == sorted(seen, reverse=True))
        assert min(start, end) <= min(seen) <= max(seen) <= max(start, end)
        many.append(len(seen) > 2)
    assert any(many) == (calm != "reduce")
    assert not trouble
    page.close()


@pytest.mark.browser
def test_ten_thousand_steps_need_no_more_memory(browser, file):
    (page, _), memory = opened(browser, file), set()
    for steps in range(2000, 12_001, 2500):  # by 2,000 every kind of step has been taken
        jump(page, 2000 if steps == 2000 else 2500)
        reached(page, steps)
        memory.add(page.evaluate("runs[0].frame.memory"))
    assert len(memory) == 1
    page.close()
