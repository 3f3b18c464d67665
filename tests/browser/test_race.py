"""Tabs and the Race page in a real browser."""

import io

import numpy as np
from PIL import Image

from pmdviz.experiments.race import RaceRecipe

DRAWN = "pmdviz.model('race-acknowledge')?.drawn"
WORDS = "(JSON.parse(pmdviz.model('race-acknowledge')?.words || '{}')['pmdviz-status'] ?? '')"
ENTRANTS = "JSON.parse(pmdviz.model('race-acknowledge')?.shown || '{}').entrants"
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


def pixels(lab):
    shot = lab.page.locator(".pmdviz-race-tiles").screenshot()
    return np.asarray(Image.open(io.BytesIO(shot)).convert("L"), float)


def test_a_race_plays_is_ranked_is_seen_from_the_inside_and_its_entrants_change(lab):
    race, page = to_race(lab), lab.page
    size = page.evaluate(
        "(({inner_width: w, inner_height: h, x_range: x, y_range: y}) =>"
        " [w / (x.end - x.start), h / (y.end - y.start)])(pmdviz.model('race'))"
    )
    assert abs(size[0] / size[1] - 1) < 0.01
    before = pixels(race)
    race.press("Play")
    race.wait(f"{ITERATION} > 60", 60)
    race.press("Pause")
    page.get_by_role("button", name="Play", exact=True).wait_for()
    race.at_rest(ITERATION, ALL_BACK)
    assert page.get_by_role("button", name="Continue").is_disabled()  # it is not over
    assert (np.abs(pixels(race) - before) > 40).mean() > 0.005
    bars = page.get_by_role("list", name="Ranking").get_by_role("listitem")
    page.get_by_text("All measurements").click()
    cells = page.locator(".scroller td.first").all_inner_texts()
    assert [words.split()[-1] for words in bars.all_inner_texts()] == cells  # the table begins in the same order
    numbers = [float(text) for text in cells if text != "–"]  # a chain of three draws has no density, and no TV
    assert len(cells) == 6 and len(numbers) >= 4 and numbers == sorted(numbers) and "–" not in cells[: len(numbers)]
    head = page.locator(".scroller th.visited")
    for order, reverse in (("ascending", False), ("descending", True)):
        head.get_by_role("button").click()
        assert head.get_attribute("aria-sort") == order
        texts = page.locator(".scroller td.visited").all_inner_texts()
        visited = [int(text.replace(",", "")) for text in texts]
        assert len(visited) == 6 and visited == sorted(visited, reverse=reverse)

    page.get_by_role("button", name="See inside this step").click()
    page.locator(".inside .title", has_text="Iteration").wait_for()
    assert "log p" in page.locator(".inside .term").nth(1).inner_text()
    page.get_by_label("Step of", exact=True).select_option("SGLD")
    page.locator(".inside .term", has_text="noise").first.wait_for()
    page.locator(".pmdviz-race-tiles").hover()
    page.keyboard.press("i")  # the keys belong to the page in sight
    page.locator(".inside").wait_for(state="hidden")
    assert race.iteration() == 0

    page.get_by_label("Bands over").select_option("32 seeds")
    race.press("Bands")
    page.get_by_text("Repeating with 32 seeds").wait_for(timeout=30_000)
    race.press("Cancel bands")
    page.get_by_role("button", name="Bands", exact=True).wait_for(timeout=30_000)
    page.get_by_role("button", name="Methods and settings").click()
    methods = page.locator(".pmdviz-entrant")
    methods.get_by_text("SGLD", exact=True).click()
    page.get_by_role("button", name="Remove", exact=True).click()
    race.wait(f"{ENTRANTS}.length === 5", 30)
    methods.get_by_text("One-pass SMC", exact=True).click()
    box = page.locator("input#knob-num_particles:visible")
    box.fill("300")
    box.press("Enter")
    race.wait(f"{ENTRANTS}.includes('smc:num_particles=300')", 30)


def test_a_link_opens_at_its_round_any_moment_can_be_looked_at_and_a_branch_takes_the_place_of_its_method(open_lab):
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

    page.get_by_role("button", name="What if …").click()
    page.locator(".more", has_text="Change a setting of a method").wait_for()
    page.get_by_role("button", name="Methods and settings").click()
    page.locator(".pmdviz-entrant").first.click()
    box = page.locator("input#knob-num_particles:visible")
    box.fill("300")
    box.press("Tab")
    race.wait(f"{ENTRANTS}.length === 3", 30)
    page.locator(".time path[d^=M]").wait_for(state="attached")  # where the branch begins
    page.get_by_role("button", name="Remove", exact=True).click()
    race.wait(f"{ENTRANTS}.length === 2 && {ENTRANTS}[1].includes('@') && {place} === 4", 30)
