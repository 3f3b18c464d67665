"""The stage in a browser: its legend switches layers, dots tell what they are, nothing is drawn beyond the frame."""

import pytest

from pmdviz.engine.recipe.recipe import Recipe
from tests.browser.conftest import STILL_JS

VISIBLE = "pmdviz.model('stage').renderers.find((r) => r.name === '{}').visible"
# Pixels with colour in the layer of what moves, left of the frame and within it.
OUTSIDE_JS = """(() => {
  const view = Bokeh.index.find_one(pmdviz.model("stage")), {left} = view.frame.bbox
  const canvas = view.canvas_view.overlays.el, ratio = canvas.width / view.canvas_view.bbox.width
  const count = (x, width) => {
    const {data} = canvas.getContext("2d").getImageData(x, 0, width, canvas.height)
    return data.filter((value, k) => k % 4 === 3 && value > 0).length
  }
  const edge = Math.floor(left * ratio)
  return [count(0, edge - 1), count(edge, canvas.width - edge)]
})()"""
# The heaviest dot inside the frame: where it stands on the page.
DOT_JS = """(() => {
  const stage = pmdviz.model("stage"), view = Bokeh.index.find_one(stage)
  const {x, y} = stage.renderers.find((r) => r.name === "particles").data_source.data
  const k = [...x.keys()].find((k) => Math.abs(x[k]) < 1 && Math.abs(y[k]) < 1)
  const {left, top} = view.canvas_view.el.getBoundingClientRect()
  return [left + view.frame.x_scale.compute(x[k]), top + view.frame.y_scale.compute(y[k])]
})()"""
TIP_JS = "!!pmdviz.canvases && [...(function* all(root) { for (const e of root.querySelectorAll('*')) { yield e;"
TIP_JS += " if (e.shadowRoot) yield* all(e.shadowRoot) } })(document)].some((e) => e.textContent.startsWith('θ')"
TIP_JS += " && e.textContent.includes('weight') && e.getBoundingClientRect().width > 0)"


def test_the_legend_switches_layers_by_click_and_key_and_frames_leave_it(lab):
    box = lab.page.get_by_role("checkbox", name="approximation")
    assert box.is_checked()
    box.click()
    lab.wait(f"!{VISIBLE.format('approximate')}")
    lab.press("Step")
    lab.wait("pmdviz.iteration() === 1")
    assert not lab.page.evaluate(VISIBLE.format("approximate")) and not box.is_checked()
    prior = lab.page.get_by_role("checkbox", name="prior")
    prior.focus()
    lab.page.keyboard.press("Space")
    lab.wait(f"!{VISIBLE.format('prior')}")
    assert lab.iteration() == 1, "the key belonged to the box"
    prior.click()
    box.click()
    lab.wait(f"{VISIBLE.format('prior')} && {VISIBLE.format('approximate')}")


def test_what_moves_is_clipped_to_the_frame_and_tells_what_it_is(lab):
    """Zoomed in, lines and dots go on beyond the frame."""
    x, y = lab.page.evaluate(DOT_JS)
    lab.page.mouse.move(x, y)
    lab.wait(TIP_JS)
    for axis in "xy":
        lab.page.evaluate(f"pmdviz.model('stage').{axis}_range.setv({{start: -1, end: 1}})")
    lab.wait("Bokeh.documents[0].is_idle")
    lab.wait(f"{OUTSIDE_JS}[1] > 1000")
    assert lab.page.evaluate(OUTSIDE_JS)[0] == 0


# What our script has painted, and then what BokehJS paints of the same columns: pixels that ours has, and of these the
# share that differs by more than an edge's shade.
LIKENESS_JS = """async (name) => {
  const stage = Bokeh.index.find_one(pmdviz.model("stage")), {el} = stage.canvas_view.overlays
  const views = pmdviz.model("stage").renderers.map((model) => Bokeh.index.find_one(model))
  const ours = views.filter((view) => Object.hasOwn(view, "_paint"))
  for (const view of views) view.model.visible = view.model.name === name
  const paint = async () => {
    stage.request_repaint()
    for (let k = 0; k < 3; k++) await new Promise(requestAnimationFrame)
    return el.getContext("2d").getImageData(0, 0, el.width, el.height).data
  }
  const one = await paint()
  for (const view of ours) {
    delete view._paint
    await view.set_data()
  }
  const two = await paint()
  let painted = 0, other = 0
  for (let k = 0; k < one.length; k += 4) {
    if (!one[k + 3] && !two[k + 3]) continue
    painted += 1
    if ([0, 1, 2, 3].some((c) => Math.abs(one[k + c] * one[k + 3] - two[k + c] * two[k + 3]) > 90 * 255)) other += 1
  }
  return [ours.map((view) => view.model.name).sort(), painted, other / painted]
}"""


@pytest.mark.parametrize("layer", ["particles", "approximate", "exact"])
def test_what_is_painted_by_our_script_looks_as_bokeh_would_paint_it(lab, layer):
    lab.paused_at(10)  # a page for each layer: Bokeh's own painting stays once it was asked for
    names, painted, other = lab.page.evaluate(LIKENESS_JS, layer)
    assert names == ["approximate", "exact", "ghost", "moved", "others", "particles", "paths", "prior"]
    assert painted > 500 and other < 0.03


def test_paths_too(lab, server):
    recipe = Recipe("mixture", "svgd", num_particles=50)
    lab.page.goto(f"{server.url}/?run={recipe.to_link()}&at=3")
    lab.reach(3)
    lab.settled()
    lab.page.evaluate(STILL_JS)
    _, painted, other = lab.page.evaluate(LIKENESS_JS, "paths")
    assert painted > 50 and other < 0.05


PAINTS_JS = """async (frames) => {
  const view = Bokeh.index.find_one(pmdviz.model("stage")), layer = Bokeh.index.find_one(view.model.renderers.at(-1))
  let painted = 0
  const count = () => { painted += 1 }
  view.repainted.connect(count)
  for (let k = 0; k < frames; k++) {
    view.request_paint(layer)
    await new Promise(requestAnimationFrame)
  }
  view.repainted.disconnect(count)
  return painted
}"""


def test_the_stage_is_painted_in_every_frame_of_the_display_that_asks_for_it(lab):
    """BokehJS alone misses every second one."""
    lab.settled()
    assert lab.page.evaluate(PAINTS_JS, 40) >= 38
