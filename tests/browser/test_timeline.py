"""The time line: to any iteration of the run so far, by pointer, keyboard and the traces; branches and their ghost."""

from urllib.parse import urlsplit

from pmdviz.engine.recipe import Recipe
from tests.browser.conftest import Lab, look_alike, stage_pixels
from tests.support.browser import await_that

RECIPE = Recipe("mixture", num_particles=200, batch_size=100, budget=20_000)
GHOST_JS = "pmdviz.model('stage').renderers.find((r) => r.name === 'ghost').data_source.data.x.length"
VISITED_JS = "pmdviz.model('traces').renderers.find((r) => r.data_source.data.visited).data_source.data.visited.at(-1)"
MORE_JS = "pmdviz.find('.pmdviz-statusbar').shadowRoot.querySelector('.more').textContent"
CURSOR_JS = "pmdviz.model('traces').renderers.find((r) => r.name === 'cursor').data_source.data.x[0] ?? null"


class OnTheLine:
    """A lab that was opened by a link to iteration 60, and its time line."""

    def __init__(self, lab: Lab) -> None:
        self.lab, self.page = lab, lab.page
        self.line = self.page.get_by_role("slider", name="Iteration", exact=True)

    def said(self) -> str:
        return self.line.get_attribute("aria-valuetext")

    def x_of(self, iteration: int) -> tuple[float, float]:
        box, end = self.line.bounding_box(), int(self.line.get_attribute("max"))
        return box["x"] + 4 + (box["width"] - 8) * iteration / end, box["y"] + 10

    def stands_at(self, iteration: int) -> None:
        self.lab.wait(f"pmdviz.iteration() === {iteration}")
        self.lab.settled()


def test_going_back_and_forth_and_a_branch_with_its_ghost(open_lab):
    lab = open_lab(f"/?run={RECIPE.to_link()}&at=60")
    page, on = lab.page, OnTheLine(lab)
    on.stands_at(60)
    assert on.line.get_attribute("max") == "200" and on.said().startswith("iteration 60 of 60")
    lab.at_rest("pmdviz.picture()")
    end = stage_pixels(page)

    page.mouse.click(*on.x_of(30))
    on.stands_at(30)
    assert on.said().startswith("iteration 30 of 60") and not look_alike(stage_pixels(page), end)
    assert page.evaluate(CURSOR_JS) == 3_000  # observations used; the traces stay whole
    assert page.evaluate(VISITED_JS) == 6_000

    page.mouse.move(*on.x_of(30))
    page.mouse.down()
    page.mouse.move(*on.x_of(20), steps=5)
    page.mouse.move(*on.x_of(10), steps=5)
    on.stands_at(10)
    page.mouse.up()
    page.mouse.click(*on.x_of(150))  # beyond what was run
    on.stands_at(60)
    await_that(lambda: look_alike(stage_pixels(page), end))  # a new layout comes after its frame
    assert page.evaluate(CURSOR_JS) is None

    on.line.focus()
    for key, at in (("ArrowLeft", 59), ("Home", 0), ("ArrowRight", 1), ("End", 60), ("PageDown", 40)):
        page.keyboard.press(key)
        on.stands_at(at)

    spot = page.evaluate("""() => { const v = Bokeh.index.find_one(pmdviz.model('traces')), f = v.frame.bbox
      const r = pmdviz.find('.pmdviz-traces').getBoundingClientRect()
      return [r.left + v.frame.x_scale.compute(2550), r.top + f.top + f.height / 2] }""")
    page.mouse.click(*spot)
    lab.wait("[25, 26].includes(pmdviz.iteration())")
    page.keyboard.press("Space")
    lab.reach(61)
    page.keyboard.press("Space")
    page.get_by_role("button", name="Play", exact=True).wait_for()
    went = lab.at_rest()
    assert on.said().startswith(f"iteration {went} of {went}") and went > 60

    page.mouse.click(*on.x_of(40))
    on.stands_at(40)
    old = lab.words()
    assert not page.get_by_role("button", name="Drop").is_visible()
    lab.type("bandwidth", "0.3")
    lab.wait(f"{MORE_JS}.includes('Branch at iteration 40')")
    assert old.partition("TV ")[2][:5] in page.evaluate(MORE_JS)
    assert page.evaluate(GHOST_JS) > 100
    before = lab.at_rest("pmdviz.picture()")
    page.get_by_role("checkbox", name="the previous run").click()
    lab.wait(f"pmdviz.picture() !== {before}")
    page.get_by_role("checkbox", name="the previous run").click()

    lab.press("Step")
    on.stands_at(41)
    here = lab.words()
    lab.press("Swap A/B")
    lab.wait(f"pmdviz.words() !== {here!r}")
    assert on.said().startswith(f"iteration 41 of {went}")
    lab.press("Swap A/B")
    lab.wait(f"pmdviz.words() === {here!r}")
    lab.press("Drop")
    on.stands_at(went)
    page.get_by_role("button", name="Drop").wait_for(state="hidden")
    assert page.evaluate(GHOST_JS) == 0
    page.get_by_role("button", name="Undo", exact=True).click()
    lab.wait(f"pmdviz.words() === {here!r}")
    lab.press("Keep")
    page.get_by_role("button", name="Drop").wait_for(state="hidden")
    assert lab.words() == here
    lab.wait("location.search.includes('at=41')")
    again = open_lab(f"/?{urlsplit(page.url).query}")
    again.wait("pmdviz.iteration() === 41", 60)
    assert again.words().partition(", independent draws")[0] == here.partition(", independent draws")[0]
