// Drag the start of the paths: from a press beside it until the release; the server draws it where it is put.
const reach = 28, every = 40 // px around it; ms between two words to the server
const [px, py] = [figure.inner_width / (figure.x_range.end - figure.x_range.start), figure.inner_height / (figure.y_range.end - figure.y_range.start)]
const now = performance.now(), { x, y } = cb_obj
if (cb_obj.event_name === "panstart") {
  const { x: [at], y: [up] } = start.data
  // Where it was pressed: a start of a pan is told only after some pixels.
  dragged.grabbed = Math.hypot((x - (cb_obj.delta_x ?? 0) / px - at) * px, (y + (cb_obj.delta_y ?? 0) / py - up) * py) < reach
}
if (dragged.grabbed && Number.isFinite(x) && (cb_obj.event_name !== "pan" || now - (dragged.told ?? 0) > every)) {
  dragged.told = now
  dragged.data = { x: [x], y: [y] }
}
if (cb_obj.event_name === "panend") dragged.grabbed = false
