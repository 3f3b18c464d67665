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


@pytest.mark.ci
def test_the_legend_switches_layers_and_what_moves_is_clipped_and_tells_what_it_is(lab):
    box = lab.page.get_by_role("checkbox", name="approximation")
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
    lab.settled()
    x, y = lab.page.evaluate(DOT_JS)
    lab.page.mouse.move(x, y)
    lab.wait(TIP_JS)
    for axis in "xy":  # zoomed in, lines and dots go on beyond the frame
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
  return [ours.length, painted, other / painted]
}"""


@pytest.mark.nightly
@pytest.mark.parametrize("layer", ["particles", "approximate", "exact", "paths"])
def test_what_is_painted_by_our_script_looks_as_bokeh_would_paint_it(lab, server, layer):
    """A page for each layer: Bokeh's own painting stays once it was asked for."""
    if layer == "paths":
        lab.page.goto(f"{server.url}/?run={Recipe('mixture', 'svgd', num_particles=50).to_link()}&at=3")
        lab.reach(3)
        lab.settled()
        lab.page.evaluate(STILL_JS)
    else:
        lab.paused_at(10)
    ours, painted, other = lab.page.evaluate(LIKENESS_JS, layer)
    assert ours >= 8 and painted > (50 if layer == "paths" else 500) and other < 0.05
