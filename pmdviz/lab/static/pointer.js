// Where the mouse is over the stage, in large letters beside it and in the names of its axes: for a lecture hall, or by T.
const box = figure.pmdvizPointer ??= (() => {
  const made = document.createElement("div")
  made.className = "pmdviz-pointer"
  made.setAttribute("aria-hidden", "true")
  made.style.cssText = "position:fixed;z-index:1300;pointer-events:none;padding:4px 12px;border-radius:6px;white-space:nowrap;" +
    "font:600 clamp(20px,2vw,32px)/1.3 Roboto,system-ui,sans-serif;font-variant-numeric:tabular-nums;border:1px solid #8a8a8a"
  document.body.append(made)
  return made
})()
const on = a.presenter !== a.pointer && cb_obj.event_name === "mousemove" && a.keyboard
box.hidden = !on
box.style.display = on ? "block" : "none"
if (on) {
  const name = (axis) => axis[0]?.axis_label || ""
  const digits = (range) => Math.max(0, Math.min(6, 2 - Math.floor(Math.log10(Math.abs(range.end - range.start) || 1))))
  const words = [[figure.below, figure.x_range, cb_obj.x], [figure.left, figure.y_range, cb_obj.y]]
    .filter(([axis]) => name(axis))
    .map(([axis, range, at]) => `${name(axis)} = ${at.toFixed(digits(range)).replace("-", "−")}`)
  box.textContent = words.join(", ")
  box.hidden = !words.length
  const dark = document.documentElement.dataset.pmdviz === "dark"
  box.style.color = dark ? "#f2f2f2" : "#1a1a1a"
  box.style.background = dark ? "#1e1e1e" : "#ffffff"
  const at = Bokeh.index.find_one(figure)?.canvas_view.events_el.getBoundingClientRect()
  if (at) {
    const left = at.left + cb_obj.sx + 18, top = at.top + cb_obj.sy - 48
    box.style.left = `${Math.max(8, Math.min(left, innerWidth - box.offsetWidth - 8))}px`
    box.style.top = `${Math.max(8, top)}px`
  }
}
