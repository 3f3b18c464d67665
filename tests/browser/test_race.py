"""Tabs and the Race page in a real browser."""

import io

import numpy as np
import pytest
from PIL import Image

from pmdviz.engine.recipe import Recipe
from pmdviz.experiments.race import RaceRecipe

pytestmark = pytest.mark.ci

DRAWN = "pmdviz.model('race-acknowledge')?.drawn"
WORDS = (
    "(() => { const a = pmdviz.model('race-acknowledge')?.words; return a ? JSON.parse(a)['pmdviz-status'] : '' })()"
)
ITERATION = f"Number(({WORDS}.match(/iteration ([\\d,]+)/) ?? [0, '-1'])[1].replaceAll(',', ''))"
PICTURE = """(() => { let hash = 0
  for (const c of pmdviz.canvases(pmdviz.find(".pmdviz-race-tiles").shadowRoot)) if (c.width && c.height)
    for (const v of c.getContext("2d").getImageData(0, 0, c.width, c.height).data) hash = (Math.imul(hash, 31) + v) | 0
  return hash })()"""
ALL_BACK = 7  # looks: who comes back from a long step while nobody plays is drawn 0.3 s later


def to_race(lab):
    lab.go("Race")
    lab.wait(f"{DRAWN} > 0", 60)
    lab.wait(f"{ITERATION} >= 0")
    lab.wait("Bokeh.documents[0].is_idle")  # every part of it has been laid out
    return lab


def iteration(lab):
    return lab.page.evaluate(ITERATION)


def pixels(lab):
    shot = lab.page.locator(".pmdviz-race-tiles").screenshot()
    return np.asarray(Image.open(io.BytesIO(shot)).convert("L"), float)


def column(lab, name):
    return lab.page.locator(f".scroller td.{name}").all_inner_texts()


@pytest.fixture
def race(lab):
    return to_race(lab)


def test_a_race_plays_and_pauses_and_its_table_sorts_both_ways(race):
    before = pixels(race)
    race.press("Play")
    race.wait(f"{ITERATION} > 60", 60)
    race.press("Pause")
    race.page.get_by_role("button", name="Play", exact=True).wait_for()
    stood = race.at_rest(ITERATION, ALL_BACK)
    assert race.page.get_by_role("button", name="Continue").is_disabled()  # it is not over
    assert (np.abs(pixels(race) - before) > 40).mean() > 0.005
    assert iteration(race) == stood
    bars = race.page.get_by_role("list", name="Ranking").get_by_role("listitem")
    assert bars.count() == 6
    race.page.get_by_text("All measurements").click()
    cells = column(race, "first")
    assert [words.split()[-1] for words in bars.all_inner_texts()] == cells  # the table begins in the same order
    numbers = [float(text) for text in cells if text != "–"]  # a chain of three draws has no density, and no TV
    assert len(cells) == 6 and len(numbers) >= 4 and numbers == sorted(numbers) and "–" not in cells[: len(numbers)]
    head = race.page.locator(".scroller th.visited")
    for order, reverse in (("ascending", False), ("descending", True)):
        head.get_by_role("button").click()
        assert head.get_attribute("aria-sort") == order
        visited = [int(text.replace(",", "")) for text in column(race, "visited")]
        assert len(visited) == 6 and visited == sorted(visited, reverse=reverse)


def test_tiles_are_square_and_entrants_change(race):
    page = race.page
    size = page.evaluate(
        "(() => { const {inner_width: w, inner_height: h, x_range: x, y_range: y} = pmdviz.model('race');"
        " return [w / (x.end - x.start), h / (y.end - y.start)] })()"
    )
    assert abs(size[0] / size[1] - 1) < 0.01
    page.locator(".pmdviz-race-tiles").hover()
    page.keyboard.press("ArrowRight")  # the keys belong to the page in sight
    race.wait(f"{ITERATION} > 0")
    assert race.iteration() == 0
    race.press("Play")
    race.wait(f"{ITERATION} > 60", 60)
    race.press("Pause")
    page.get_by_label("Bands over").select_option("32 seeds")
    race.press("Bands")
    page.get_by_text("Bands: PMD").wait_for(timeout=30_000)
    race.press("Cancel bands")
    page.get_by_role("button", name="Bands", exact=True).wait_for(timeout=30_000)
    page.get_by_role("button", name="Methods and settings").click()
    methods = page.locator(".pmdviz-entrant")
    methods.get_by_text("SGLD", exact=True).click()
    page.get_by_role("button", name="Remove", exact=True).click()
    race.wait("JSON.parse(pmdviz.model('race-acknowledge').shown).entrants.length === 5", 30)
    methods.get_by_text("One-pass SMC", exact=True).click()
    box = page.locator("input#knob-num_particles:visible")
    box.fill("300")
    box.press("Enter")
    race.wait("JSON.parse(pmdviz.model('race-acknowledge').shown).entrants.includes('smc:num_particles=300')", 30)


def test_a_step_of_every_method_is_seen_from_the_inside(race):
    page = race.page
    page.get_by_role("button", name="See inside this step").click()
    page.locator(".inside .note", has_text="Press Step or Play").wait_for()
    race.press("Step")
    page.locator(".inside .title", has_text="Iteration 1:").wait_for()
    assert "log p" in page.locator(".inside .term").nth(1).inner_text()
    page.get_by_label("Step of").select_option("SGLD")
    page.locator(".inside .term", has_text="noise").first.wait_for()
    page.locator(".pmdviz-race-tiles").hover()
    page.keyboard.press("i")
    page.locator(".inside").wait_for(state="hidden")


def test_a_link_opens_at_its_round_and_a_branch_there_can_take_the_place_of_its_method(open_lab):
    recipe = RaceRecipe.checked("pmd:num_particles=100,sgld", budget=2_000)
    race = open_lab(f"/?page=race&race={recipe.to_link()}&at=3")
    page, place = race.page, "JSON.parse(pmdviz.model('race-acknowledge')?.words || '{}').at"
    entrants = "JSON.parse(pmdviz.model('race-acknowledge').shown).entrants"
    race.wait(f"{place} === 3", 60)
    page.get_by_role("button", name="What if …").click()
    page.locator(".more", has_text="Change a setting of a method").wait_for()
    page.get_by_role("button", name="Methods and settings").click()
    page.locator(".pmdviz-entrant").first.click()
    box = page.locator("input#knob-num_particles:visible")
    box.fill("300")
    box.press("Tab")
    race.wait(f"{entrants}.length === 3", 30)
    page.locator(".time path[d^=M]").wait_for(state="attached")  # where the branch begins
    page.get_by_role("button", name="Remove", exact=True).click()
    race.wait(f"{entrants}.length === 2 && {entrants}[1].includes('@') && {place} === 3", 30)


def test_any_moment_metric_and_layer_of_a_race_can_be_looked_at(open_lab):
    recipe = RaceRecipe.checked("pmd:num_particles=100,sgld", budget=2_000)
    race = open_lab(f"/?page=race&race={recipe.to_link()}&at=12")
    page, place = race.page, "JSON.parse(pmdviz.model('race-acknowledge')?.words || '{}').at"
    trace = "pmdviz.model('race-first').renderers.find((r) => r.name === 'line-0').data_source.data"
    fronts = "pmdviz.model('race-first').renderers.find((r) => r.name === 'fronts, linear').data_source.data.x"
    race.wait(f"{place} === 12 && {trace}.visited?.at(-1) >= 1200", 60)
    spot = page.evaluate("""() => { const v = Bokeh.index.find_one(pmdviz.model('race-first')), f = v.frame.bbox
      const r = pmdviz.find('.pmdviz-race-first').getBoundingClientRect()
      return [r.left + v.frame.x_scale.compute(410), r.top + f.top + f.height / 2] }""")
    page.mouse.click(*spot)
    race.wait(f"{place} === 4 && Math.abs({fronts}[0] - 400) < 100 && {trace}.visited.at(-1) >= 1200")
    page.get_by_label("Upper trace").select_option("reverse KL")
    race.wait("pmdviz.model('race-first').left.find((a) => a.visible).axis_label.includes('reverse KL')")
    race.wait(f"{trace}.value.every(Number.isFinite) && {trace}.value.length > 2 && Math.max(...{trace}.value) > 1")
    before = race.at_rest(PICTURE)
    page.get_by_role("checkbox", name="approximation").uncheck()
    race.wait(f"{PICTURE} !== {before}")


def test_a_run_and_its_branch_race(open_lab):
    recipe = Recipe("mixture", num_particles=200, budget=3_000)
    lab = open_lab(f"/?run={recipe.to_link()}&at=10")
    lab.wait("pmdviz.iteration() === 10")
    lab.page.keyboard.press("ArrowLeft")
    lab.wait("pmdviz.iteration() === 9")
    lab.type("bandwidth", "0.3")
    lab.page.locator(".more", has_text="Branch at iteration 9").wait_for()
    lab.press("Compare")
    lab.page.get_by_label("What differs").select_option("The run and its branch")
    lab.page.get_by_text("Branch at iteration 9: Bandwidth").last.wait_for()
    lab.page.get_by_role("button", name="Compare", exact=True).last.click()
    lab.wait("JSON.parse(pmdviz.model('race-acknowledge')?.shown || '{}').entrants?.length === 2", 60)
    lab.page.locator(".pmdviz-race-heading", has_text="which setting comes closest?").wait_for()
