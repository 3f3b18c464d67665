"""The stage in a browser: its legend switches layers, dots tell what they are, nothing is drawn beyond the frame."""

import pytest

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
    lab.settings()
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
