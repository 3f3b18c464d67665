// == own_data: A button, and the dialog in which a person brings a table: from a file or pasted, seen, and given roles.
const PASTE_MS = 300
let numbered = 0

function parts_of(model) {
  const id = `own-data-${++numbered}`
  const button = make("button", { type: "button", class: "open", "aria-haspopup": "dialog" }, "Your own data …")
  const words = make("p", { class: "words" })
  const file = make("input", { type: "file", accept: ".csv,.tsv,.txt,text/csv,text/plain", id: `${id}-file` })
  const text = make("textarea", { id: `${id}-text`, rows: 3, spellcheck: "false", autocomplete: "off" })
  const table = make("table")
  const seen = make("div", { class: "seen", tabindex: 0, role: "region", "aria-label": "The first rows of the table" }, table)
  const scale = make("input", { type: "checkbox", id: `${id}-scale`, "aria-describedby": `${id}-scaling` })
  const scaling = make("span", { class: "scaling", id: `${id}-scaling` })
  const scaled = make("div", { class: "scaled" }, scale, make("label", { for: `${id}-scale` }, "Scale to mean 0, sd 1"), scaling)
  const said = make("p", { class: "said", role: "status" })
  const misfit = make("p", { class: "misfit", role: "alert" })
  const proposal = make("span"), offer = make("button", { type: "button", class: "offer" })
  const proposed = make("p", { class: "proposed", role: "status" }, proposal, " ", offer)
  const use = make("button", { type: "button", class: "use" }, "Use these data")
  const close = make("button", { type: "button", class: "close" }, "Close")
  const dialog = make("dialog", { "aria-labelledby": `${id}-title` },
    make("h2", { id: `${id}-title` }, "Your own data"), words,
    make("label", { for: `${id}-file` }, "A file (CSV)"), file,
    make("label", { for: `${id}-text` }, "or paste rows"), text,
    seen, scaled, proposed, said, misfit, make("div", { class: "buttons" }, use, close))
  return { button, dialog, words, file, text, table, seen, scale, scaling, scaled, said, misfit, proposal, offer, proposed, use, close }
}

const base64 = (file) => new Promise((done, failed) => {
  const reader = new FileReader()
  reader.onload = () => done(reader.result.slice(reader.result.indexOf(",") + 1))
  reader.onerror = () => failed(reader.error)
  reader.readAsDataURL(file)
})

function head_of(column, roles, at, turned) {
  const role = make("select", { "aria-label": `Role of column ${column.name}` })
  for (const name of roles) role.append(make("option", { value: name }, name))
  role.value = column.role
  role.addEventListener("change", () => turned(at, role.value))
  return make("th", { scope: "col" }, make("div", { class: "name" }, column.name), make("div", { class: "kind" }, column.kind), role)
}

export function render({ model }) {
  const p = parts_of(model)
  const size = (n) => n.toLocaleString("en-US")
  let shape = "", waits = 0, sent = 0, in_use = false

  function show_table(told) {
    const next = JSON.stringify([told.columns.map((c) => [c.name, c.kind]), told.rows, model.form.roles])
    if (next !== shape) {
      shape = next
      const turned = (at, role) => model.send_msg({ roles: selects().map((one, k) => k === at ? role : one.value) })
      const head = make("tr", {}, ...told.columns.map((column, k) => head_of(column, model.form.roles ?? [], k, turned)))
      const rows = told.rows.map((row) => make("tr", {}, ...row.map((cell) => make("td", {}, cell))))
      p.table.replaceChildren(make("caption", {}, `${size(told.count)} rows; the first ${told.rows.length}:`),
        make("thead", {}, head), make("tbody", {}, ...rows))
    } else
      selects().forEach((one, k) => { one.value = told.columns[k].role })
  }
  const send = async (name, file) => {  // the only thing that may be large, and in base64 alone
    try { model.upload = `${++sent}\n${name}\n${await base64(file)}` }
    catch { refuse("The browser cannot read this file. Choose it again, or paste its rows.") }
  }
  const selects = () => [...p.table.querySelectorAll("select")]

  function show() {
    const told = model.told, known = told.columns.length > 0
    p.words.textContent = model.form.words ?? ""
    p.seen.hidden = !known
    p.scaled.hidden = !known || !model.form.scales
    if (known) show_table(told)
    p.scale.checked = told.scale
    p.scaling.textContent = told.scaling ?? ""
    p.said.textContent = model.busy ? "Reading …" : told.said.join(" ")
    p.misfit.textContent = model.busy ? "" : told.misfit
    p.proposal.textContent = told.proposal
    p.offer.textContent = told.offer
    p.proposed.hidden = !told.offer
    p.use.disabled = model.busy || !known || told.misfit !== ""
  }

  function refuse(words) {
    p.said.textContent = ""
    p.misfit.textContent = words
    p.use.disabled = true
  }
  const fits = (bytes) => {
    if (bytes <= model.most) return true
    refuse(`A table may have ${size(model.most)} bytes here; this one has ${size(bytes)}.`)
    return false
  }

  const open = () => { in_use = false; if (!p.dialog.open) p.dialog.showModal() }
  p.button.addEventListener("click", open)
  p.close.addEventListener("click", () => p.dialog.close())
  p.dialog.addEventListener("close", () => {
    clearTimeout(waits)
    if (in_use) return  // a refusal opens it again as it was
    p.file.value = p.text.value = shape = ""
    model.send_msg({ closed: true })
    p.button.focus()
  })
  p.dialog.addEventListener("keydown", (e) => { if (e.key !== "Escape") e.stopPropagation() })  // no keys of the page
  p.file.addEventListener("change", () => {
    const [file] = p.file.files
    if (!file || !fits(file.size)) return
    p.text.value = ""
    send(file.name.replaceAll("\n", " ") || "table.csv", file)
  })
  p.text.addEventListener("input", () => {
    clearTimeout(waits)
    waits = setTimeout(() => {
      const pasted = new Blob([p.text.value])
      if (!p.text.value.trim() || !fits(pasted.size)) return
      p.file.value = ""
      send("", pasted)
    }, PASTE_MS)
  })
  p.scale.addEventListener("change", () => model.send_msg({ scale: p.scale.checked }))
  p.offer.addEventListener("click", () => model.send_msg({ fit: true }))
  p.use.addEventListener("click", () => model.send_msg({ use: true }))
  for (const name of ["told", "form", "busy"]) model.on(name, show)
  model.on("closes", () => { in_use = true; p.dialog.close() })
  model.on("opens", open)
  show()
  return make("div", {}, p.button, p.dialog)
}
// == edit_data: A switch "Edit data"; while it is on, fields for an observation and two buttons do what clicks on the picture do.
let numbered = 0

export function render({ model }) {
  const id = `edit-data-${++numbered}`
  const box = make("input", { type: "checkbox", id })
  const hint = make("span", { class: "hint" }, "Click to add an observation; click an observation to remove it.")
  const fields = make("form", { class: "fields" })
  const said = make("span", { class: "said", role: "status" })
  const last = make("button", { type: "button" }, "Remove last")
  let inputs = []

  function field(name, k) {
    if (model.classed && k === model.names.length - 1) {
      const menu = make("select", { "aria-label": name }, make("option", { value: "0" }, "0"), make("option", { value: "1" }, "1"))
      menu.addEventListener("change", () => model.send_msg({ class: Number(menu.value) }))
      return menu
    }
    return make("input", { type: "text", inputmode: "decimal", "aria-label": name, autocomplete: "off", spellcheck: "false" })
  }
  function rebuild() {
    inputs = model.names.map(field)
    const labelled = inputs.map((input, k) => make("label", {}, `${model.names[k]} `, input))
    fields.replaceChildren(...labelled, make("button", { type: "submit" }, "Add"), last)
  }
  function show() {
    box.checked = model.editing
    fields.hidden = hint.hidden = said.hidden = !model.editing
    said.textContent = model.said
  }
  box.addEventListener("change", () => model.send_msg({ on: box.checked }))
  fields.addEventListener("submit", (event) => {
    event.preventDefault()
    model.send_msg({ add: inputs.map((input) => input.value.trim()) })
  })
  last.addEventListener("click", () => model.send_msg({ last: true }))
  model.on("names", rebuild)
  model.on("classed", rebuild)
  for (const name of ["editing", "said"]) model.on(name, show)
  rebuild()
  show()
  return make("div", { class: "bar" }, make("label", { class: "switch", for: id }, box, "Edit data"), hint, fields, said)
}
// == handles: Handles over the stage: dragged by the pointer or moved by arrow keys; the server draws what the target would be there.
const EVERY_MS = 40, KEYS_REST_MS = 700, SHARE = 1 / 50, FINE = 1 / 250
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowDown: [0, -1], ArrowUp: [0, 1] }

const short = (value) => value.toFixed(2).replace("-", "\u2212")

export function render({ model, view }) {
  const root = make("div", { class: "layer" })
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
    const words = `${name}: drag it, or use the arrow keys`, label = make("span", { "aria-hidden": "true" })
    const part = make("div", { class: "handle", tabindex: 0, role: "slider", "aria-label": words }, label)
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
