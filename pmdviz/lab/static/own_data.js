// == own_data: A button, and the dialog in which a person brings a table: from a file or pasted, seen, and given roles.
const PASTE_MS = 300
const base64 = (file) => new Promise((done, failed) => {
  const reader = new FileReader()
  reader.onload = () => done(reader.result.slice(reader.result.indexOf(",") + 1))
  reader.onerror = () => failed(reader.error)
  reader.readAsDataURL(file)
})


export function render({ model }) {
  const size = (n) => n.toLocaleString("en-US"), words = make("p", { class: "words" })
  const file = make("input", { type: "file", accept: ".csv,.tsv,.txt,text/csv,text/plain", id: "file" })
  const text = make("textarea", { id: "text", rows: 3, spellcheck: "false", autocomplete: "off" })
  const table = make("table")
  const seen = make("div", { class: "seen", tabindex: 0, role: "region", "aria-label": "The first rows of the table" }, table)
  const scale = make("input", { type: "checkbox", id: "scale", "aria-describedby": "scaling" })
  const scaling = make("span", { class: "scaling", id: "scaling" })
  const scaled = make("div", { class: "scaled" }, scale, make("label", { for: "scale" }, "Scale to mean 0, sd 1"), scaling)
  const said = make("p", { class: "said", role: "status" }), misfit = make("p", { class: "misfit", role: "alert" })
  const proposal = make("span"), offer = make("button", { onclick: () => model.send_msg({ fit: true }) })
  const proposed = make("p", { class: "proposed", role: "status" }, proposal, " ", offer)
  const use = make("button", { class: "main", onclick: () => model.send_msg({ use: true }) }, "Use these data")
  const close = make("button", { onclick: () => dialog.close() }, "Close")
  const dialog = make("dialog", { "aria-labelledby": "title" }, make("h2", { id: "title" }, "Your own data"), words,
    make("label", { for: "file" }, "A file (CSV)"), file, make("label", { for: "text" }, "or paste rows"), text,
    seen, scaled, proposed, said, misfit, make("div", { class: "buttons" }, use, close))
  const open = () => { in_use = false; if (!dialog.open) dialog.showModal() }
  const button = make("button", { class: "open", "aria-haspopup": "dialog", onclick: open }, "Your own data …")
  let shape = "", waits = 0, sent = 0, in_use = false

  function show_table(told) {
    const next = JSON.stringify([told.columns.map((c) => [c.name, c.kind]), told.rows, model.form.roles])
    if (next !== shape) {
      shape = next
      const onchange = () => model.send_msg({ roles: selects().map((one) => one.value) })
      const heads = told.columns.map(({ name, kind }) => make("th", { scope: "col" },
        make("div", { class: "name" }, name), make("div", { class: "kind" }, kind),
        make("select", { "aria-label": `Role of column ${name}`, onchange },
          ...(model.form.roles ?? []).map((value) => make("option", { value }, value)))))
      const rows = told.rows.map((row) => make("tr", {}, ...row.map((cell) => make("td", {}, cell))))
      table.replaceChildren(make("caption", {}, `${size(told.count)} rows; the first ${told.rows.length}:`),
        make("thead", {}, make("tr", {}, ...heads)), make("tbody", {}, ...rows))
    }
    selects().forEach((one, k) => { one.value = told.columns[k].role })
  }
  const send = async (name, content) => {  // the only thing that may be large, and in base64 alone
    try { model.upload = `${++sent}\n${name}\n${await base64(content)}` }
    catch { refuse("The browser cannot read this file. Choose it again, or paste its rows.") }
  }
  const selects = () => [...table.querySelectorAll("select")]

  function show() {
    const told = model.told, known = told.columns.length > 0
    const texts = [[words, model.form.words], [scaling, told.scaling], [said, model.busy ? "Reading …" : told.said.join(" ")],
      [misfit, model.busy ? "" : told.misfit], [proposal, told.proposal], [offer, told.offer]]
    for (const [at, now] of texts) at.textContent = now ?? ""
    seen.hidden = !known
    scaled.hidden = !known || !model.form.scales
    if (known) show_table(told)
    scale.checked = told.scale
    proposed.hidden = !told.offer
    use.disabled = model.busy || !known || told.misfit !== ""
  }

  function refuse(sentence) {
    said.textContent = ""
    misfit.textContent = sentence
    use.disabled = true
  }
  const fits = (bytes) => {
    if (bytes <= model.most) return true
    refuse(`A table may have ${size(model.most)} bytes here; this one has ${size(bytes)}.`)
    return false
  }

  dialog.onclose = () => {
    clearTimeout(waits)
    if (in_use) return  // a refusal opens it again as it was
    file.value = text.value = shape = ""
    model.send_msg({ closed: true })
    button.focus()
  }
  dialog.onkeydown = (e) => { if (e.key !== "Escape") e.stopPropagation() }  // no keys of the page
  file.onchange = () => {
    const [chosen] = file.files
    if (!chosen || !fits(chosen.size)) return
    text.value = ""
    send(chosen.name.replaceAll("\n", " ") || "table.csv", chosen)
  }
  const paste = () => {
    const pasted = new Blob([text.value])
    if (!text.value.trim() || !fits(pasted.size)) return
    file.value = ""
    send("", pasted)
  }
  text.oninput = () => { clearTimeout(waits); waits = setTimeout(paste, PASTE_MS) }
  scale.onchange = () => model.send_msg({ scale: scale.checked })
  for (const name of ["told", "form", "busy"]) model.on(name, show)
  model.on("closes", () => { in_use = true; dialog.close() })
  model.on("opens", open)
  show()
  return make("div", {}, button, dialog)
}
// == edit_data: A switch "Edit data"; while it is on, fields for an observation and two buttons do what clicks on the picture do.
export function render({ model }) {
  const box = make("input", { type: "checkbox", onchange: () => model.send_msg({ on: box.checked }) })
  const hint = make("span", { class: "hint" }, "Click to add an observation; click an observation to remove it.")
  const onsubmit = (event) => {
    event.preventDefault()
    model.send_msg({ add: inputs.map((input) => input.value.trim()) })
  }
  const fields = make("form", { class: "fields", onsubmit }), said = make("span", { class: "said", role: "status" })
  const last = make("button", { onclick: () => model.send_msg({ last: true }) }, "Remove last")
  let inputs = []

  const classes = (name) => make("select", { "aria-label": name, onchange: (e) => model.send_msg({ class: Number(e.target.value) }) },
    ...["0", "1"].map((value) => make("option", { value }, value)))
  const number = (name) => make("input", { type: "text", inputmode: "decimal", "aria-label": name, autocomplete: "off", spellcheck: "false" })
  function rebuild() {
    inputs = model.names.map((name, k) => (model.classed && k === model.names.length - 1 ? classes : number)(name))
    const labelled = inputs.map((input, k) => make("label", {}, `${model.names[k]} `, input))
    fields.replaceChildren(...labelled, make("button", { type: "submit" }, "Add"), last)
  }
  function show() {
    box.checked = model.editing
    fields.hidden = hint.hidden = said.hidden = !model.editing
    said.textContent = model.said
  }
  for (const name of ["names", "classed"]) model.on(name, rebuild)
  for (const name of ["editing", "said"]) model.on(name, show)
  rebuild()
  show()
  return make("div", { class: "bar" }, make("label", { class: "switch" }, box, "Edit data"), hint, fields, said)
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
    const f = frame(), [first, second] = model.axes
    for (const { name, x, y, part, label } of knobs) {
      const right = f && (x - f.x[0]) / (f.x[1] - f.x[0]), up = f && (y - f.y[0]) / (f.y[1] - f.y[0])
      part.hidden = !(f?.width > 0 && right >= 0 && right <= 1 && up >= 0 && up <= 1)
      if (part.hidden) continue
      Object.assign(part.style, { left: `${f.left + right * f.width}px`, top: `${f.top + (1 - up) * f.height}px` })
      part.classList.toggle("left", right > 0.5)
      const words = `${first} ${short(x)}${second ? `, ${second} ${short(y)}` : ""}`
      label.textContent = `${name}: ${words}`
      part.setAttribute("aria-valuenow", x.toPrecision(4))
      part.setAttribute("aria-valuetext", words)
    }
  }

  const send = (knob, extra = {}) => {
    told = performance.now()
    model.send_msg({ at: knobs.indexOf(knob), x: knob.x, y: knob.y, serial: ++serial, ...extra })
  }
  // Hold a knob, or none, and say which one was held.
  function hold(knob = null) {
    const before = held
    clearTimeout(waits)
    held?.part.classList.remove("held")
    held = knob
    held?.part.classList.add("held")
    return before
  }
  const drop = (knob) => { if (held === knob) { hold(); send(knob, { drop: true }) } }
  const cancel = () => { if (hold()) model.send_msg({ cancel: true }) }

  // To a place within the axes; along the second one only where there is one. Now and then a message goes to the server.
  function move(knob, f, x, y) {
    if (held !== knob) hold(knob)
    knob.x = within(x, f.x)
    if (model.axes[1]) knob.y = within(y, f.y)
    place()
    clearTimeout(waits)
    waits = setTimeout(() => send(knob), Math.max(0, told + EVERY_MS - performance.now()))
  }

  function made({ name, x, y }) {
    const words = `${name}: drag it, or use the arrow keys`, label = make("span", { "aria-hidden": "true" })
    const part = make("div", { class: "handle", tabindex: 0, role: "slider", "aria-label": words }, label)
    const knob = { name, x, y, part, label }
    let down = null  // where it was pressed, and the pointer's way to its middle; a press alone moves nothing
    part.onpointerdown = (event) => {
      if (event.button !== 0) return
      const box = part.getBoundingClientRect(), { clientX, clientY } = event
      down = { clientX, clientY, right: box.left + box.width / 2 - clientX, up: box.top + box.height / 2 - clientY }
      part.setPointerCapture(event.pointerId)
      event.stopPropagation()
    }
    part.onpointermove = ({ clientX, clientY }) => {
      const f = down && frame(), box = root.getBoundingClientRect()
      if (!f || held !== knob && Math.hypot(clientX - down.clientX, clientY - down.clientY) < 3) return
      const across = (clientX + down.right - box.left - f.left) / f.width
      const fall = (clientY + down.up - box.top - f.top) / f.height
      move(knob, f, f.x[0] + across * (f.x[1] - f.x[0]), f.y[1] - fall * (f.y[1] - f.y[0]))
    }
    part.onpointerup = () => { down = null; drop(knob) }
    part.onpointercancel = () => { down = null; cancel() }
    part.onkeydown = (event) => {
      const way = ARROWS[event.key], f = frame(), share = event.shiftKey ? FINE : SHARE
      if (event.key === "Escape" && held) { down = null; cancel(); event.stopPropagation() }
      if (event.key === "Enter") drop(knob)
      if (!way || !f || !model.axes[1] && way[1]) return
      event.preventDefault()
      event.stopPropagation()
      move(knob, f, knob.x + way[0] * share * (f.x[1] - f.x[0]), knob.y + way[1] * share * (f.y[1] - f.y[0]))
      clearTimeout(knob.rest)
      knob.rest = setTimeout(() => drop(knob), KEYS_REST_MS)
    }
    part.onblur = () => { clearTimeout(knob.rest); if (!down) drop(knob) }
    return knob
  }

  // The handles as the server has them; those that are there already stay, and with them the focus.
  function show() {
    hold()
    if (knobs.map((knob) => knob.name).join() !== model.handles.map((one) => one.name).join()) {
      knobs = model.handles.map(made)
      root.replaceChildren(...knobs.map((knob) => knob.part))
    }
    knobs.forEach((knob, k) => { clearTimeout(knob.rest); knob.x = model.handles[k].x; knob.y = model.handles[k].y })
    place()
  }
  function follow() {
    if (!held) return
    knobs.forEach((knob, k) => {
      const at = model.answer.handles?.[k]
      if (knob !== held && at) { knob.x = at.x; knob.y = at.y }
    })
    place()
  }

  function watch() {
    const f = figure()
    if (!f || !picture()) return setTimeout(watch, 100)
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
