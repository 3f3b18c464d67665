// A tap on the stage, for whoever draws particles elsewhere: where it was, and how many pixels a unit of each axis has.
const frame = Bokeh.index.find_one(stage)?.frame
const [x, y] = [stage.x_range, stage.y_range]
const per = { x: (frame?.bbox.width ?? 1) / Math.abs(x.end - x.start), y: (frame?.bbox.height ?? 1) / Math.abs(y.end - y.start) }
document.dispatchEvent(new CustomEvent("pmdviz-pick", { detail: { stage: stage.id, x: cb_obj.x, y: cb_obj.y, per } }))
