// A button, and the dialog in which a person brings a table: from a file or pasted, seen, and given roles.
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
  const use = make("button", { type: "button", class: "use" }, "Use these data")
  const close = make("button", { type: "button", class: "close" }, "Close")
  const dialog = make("dialog", { "aria-labelledby": `${id}-title` },
    make("h2", { id: `${id}-title` }, "Your own data"), words,
    make("label", { for: `${id}-file` }, "A file (CSV)"), file,
    make("label", { for: `${id}-text` }, "or paste rows"), text,
    seen, scaled, said, misfit, make("div", { class: "buttons" }, use, close))
  return { button, dialog, words, file, text, table, seen, scale, scaling, scaled, said, misfit, use, close }
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
    catch { refuse("The browser cannot read this file.") }
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
  p.use.addEventListener("click", () => model.send_msg({ use: true }))
  for (const name of ["told", "form", "busy"]) model.on(name, show)
  model.on("closes", () => { in_use = true; p.dialog.close() })
  model.on("opens", open)
  show()
  return make("div", {}, p.button, p.dialog)
}
