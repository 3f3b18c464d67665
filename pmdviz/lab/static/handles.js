// Handles over the stage: dragged by the pointer or moved by arrow keys; the server draws what the target would be there.
const EVERY_MS = 40, KEYS_REST_MS = 700, SHARE = 1 / 50, FINE = 1 / 250
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowDown: [0, -1], ArrowUp: [0, 1] }

const short = (value) => value.toFixed(2).replace("-", "\u2212")

export function render({ model, view }) {
  const root = document.createElement("div")
  root.className = "layer"
  let knobs = [], held = null, told = 0, waits = 0, serial = 0
  const figure = () => view.model.document?.get_model_by_id(model.stage)
  const picture = () => { const f = figure(); return f && Bokeh.index.find_one(f) }

  // Where the frame of the stage lies in this layer, and what its axes hold.
  function frame() {
    const seen = picture(), shown = seen?.canvas_view?.events_el
    if (!shown?.isConnected) return null
    const canvas = shown.getBoundingClientRect(), own = root.getBoundingClientRect(), box = seen.frame.bbox
    const { x_range: x, y_range: y } = figure()
    return { left: canvas.left - own.left + box.left, top: canvas.top - own.top + box.top, width: box.width, height: box.height,
      x: [x.start, x.end], y: [y.start, y.end] }
  }
  const within = (value, [low, high]) => Math.min(high, Math.max(low, value))

  function place() {
    const f = frame()
    for (const knob of knobs) {
      const right = f && (knob.x - f.x[0]) / (f.x[1] - f.x[0]), up = f && (knob.y - f.y[0]) / (f.y[1] - f.y[0])
      const seen = Boolean(f) && f.width > 0 && right >= 0 && right <= 1 && up >= 0 && up <= 1
      knob.part.hidden = !seen
      if (!seen) continue
      knob.part.style.left = `${f.left + right * f.width}px`
      knob.part.style.top = `${f.top + (1 - up) * f.height}px`
      knob.part.classList.toggle("left", right > 0.5)
      say(knob)
    }
  }

  function say(knob) {
    const [first, second] = model.axes
    const words = `${first} ${short(knob.x)}${second ? `, ${second} ${short(knob.y)}` : ""}`
    knob.label.textContent = `${knob.name}: ${words}`
    knob.part.setAttribute("aria-valuenow", knob.x.toPrecision(4))
    knob.part.setAttribute("aria-valuetext", words)
  }

  const send = (knob, extra = {}) => {
    told = performance.now()
    model.send_msg({ at: knobs.indexOf(knob), x: knob.x, y: knob.y, serial: ++serial, ...extra })
  }
  function tell(knob) {
    clearTimeout(waits)
    const rest = told + EVERY_MS - performance.now()
    if (rest <= 0) send(knob)
    else waits = setTimeout(() => send(knob), rest)
  }
  function drop(knob) {
    clearTimeout(waits)
    if (held !== knob) return
    held = null
    knob.part.classList.remove("held")
    send(knob, { drop: true })
  }
  function cancel() {
    clearTimeout(waits)
    if (!held) return
    held.part.classList.remove("held")
    held = null
    model.send_msg({ cancel: true })
  }
  const hold = (knob) => { held = knob; knob.part.classList.add("held") }

  function to_pointer(knob, event) {
    const f = frame()
    if (!f) return
    const box = root.getBoundingClientRect()
    knob.x = within(f.x[0] + (event.clientX - box.left - knob.off[0] - f.left) / f.width * (f.x[1] - f.x[0]), f.x)
    if (model.axes[1]) knob.y = within(f.y[1] - (event.clientY - box.top - knob.off[1] - f.top) / f.height * (f.y[1] - f.y[0]), f.y)
    place()
    tell(knob)
  }

  function listen(knob) {
    const { part } = knob
    let down = null  // where it was pressed; a press alone moves nothing
    part.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return
      const box = part.getBoundingClientRect()
      knob.off = [event.clientX - box.left - box.width / 2, event.clientY - box.top - box.height / 2]
      down = [event.clientX, event.clientY]
      part.setPointerCapture(event.pointerId)
      event.stopPropagation()
    })
    part.addEventListener("pointermove", (event) => {
      if (!down) return
      if (held !== knob && Math.hypot(event.clientX - down[0], event.clientY - down[1]) < 3) return
      if (held !== knob) hold(knob)
      to_pointer(knob, event)
    })
    part.addEventListener("pointerup", () => { down = null; drop(knob) })
    part.addEventListener("pointercancel", () => { down = null; cancel() })
    part.addEventListener("keydown", (event) => {
      const way = ARROWS[event.key], f = frame()
      if (event.key === "Escape" && held) { down = null; cancel(); event.stopPropagation() }
      if (event.key === "Enter") drop(knob)
      if (!way || !f || !model.axes[1] && way[1]) return
      event.preventDefault()
      event.stopPropagation()
      if (held !== knob) hold(knob)
      const share = event.shiftKey ? FINE : SHARE
      knob.x = within(knob.x + way[0] * share * (f.x[1] - f.x[0]), f.x)
      knob.y = within(knob.y + way[1] * share * (f.y[1] - f.y[0]), f.y)
      place()
      tell(knob)
      clearTimeout(knob.rest)
      knob.rest = setTimeout(() => drop(knob), KEYS_REST_MS)
    })
    part.addEventListener("blur", () => { clearTimeout(knob.rest); if (!down) drop(knob) })
  }

  function made({ name, x, y }) {
    const part = document.createElement("div"), label = document.createElement("span")
    label.setAttribute("aria-hidden", "true")
    part.append(label)
    part.className = "handle"
    part.tabIndex = 0
    part.setAttribute("role", "slider")
    part.setAttribute("aria-label", `${name}: drag it, or use the arrow keys`)
    const knob = { name, x, y, part, label, off: [0, 0] }
    listen(knob)
    return knob
  }

  // The handles as the server has them; those that are there already stay, and with them the focus.
  function show() {
    held?.part.classList.remove("held")
    held = null
    clearTimeout(waits)
    if (knobs.map((knob) => knob.name).join() !== model.handles.map((one) => one.name).join()) {
      knobs = model.handles.map(made)
      root.replaceChildren(...knobs.map((knob) => knob.part))
    }
    knobs.forEach((knob, k) => { clearTimeout(knob.rest); knob.x = model.handles[k].x; knob.y = model.handles[k].y })
    place()
  }
  // The others of a moved target move too.
  function follow() {
    if (!held) return
    knobs.forEach((knob, k) => {
      const at = model.answer.handles?.[k]
      if (knob !== held && at) { knob.x = at.x; knob.y = at.y }
    })
    place()
  }

  let watched = null
  function watch() {
    const f = figure()
    if (!f || !picture()) { if (root.isConnected || !watched) setTimeout(watch, 100); return }
    if (watched === f) return
    watched = f
    const later = () => requestAnimationFrame(place)
    for (const range of [f.x_range, f.y_range]) range.change.connect(later)
    f.properties.inner_width.change.connect(later)
    place()
  }
  for (const name of ["handles", "again"]) model.on(name, show)
  model.on("answer", follow)
  const sized = new ResizeObserver(() => requestAnimationFrame(place))
  sized.observe(root)
  model.on("remove", () => { sized.disconnect(); clearTimeout(waits) })
  show()
  watch()
  return root
}
