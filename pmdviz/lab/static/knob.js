// One knob: label, slider, number box (or menu, or checkbox), reset button, and the sentence that refuses a value.
const POSITIONS = 200

function scale(s) {
  const { low, high, log, whole } = s
  const tidy = (v) => (whole ? Math.round(v) : Number(v)).toPrecision(3)
  return {
    at: (i) => String(Number(tidy(log ? low * (high / low) ** (i / POSITIONS) : low + ((high - low) * i) / POSITIONS))),
    of: (v) => {
      const share = log ? Math.log(v / low) / Math.log(high / low) : (v - low) / (high - low)
      return Math.round(POSITIONS * Math.min(1, Math.max(0, share || 0)))
    },
  }
}

function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag)
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value)
  made.append(...children)
  return made
}

function build(s) {
  const id = "knob-" + s.name
  const label = element("label", { for: id, title: s.help }, s.label)
  if (s.unit) label.append(element("span", { class: "unit" }, " " + s.unit))
  const mark = element("span", { class: "mark", title: "differs from the default" }, "●")
  const reset = element("button", { type: "button", class: "reset", "aria-label": `Reset ${s.name} to ${s.usual}`, title: `Reset to the default, ${s.usual}` }, "↺")
  const message = element("div", { class: "message", role: "alert", id: id + "-message" })
  const note = element("div", { class: "note" })
  const common = { id, name: s.name, "aria-describedby": id + "-message" }
  let box, slider = null
  if (s.kind === "choice") {
    box = element("select", common)
    for (const choice of s.choices) box.append(element("option", { value: choice }, choice))
  } else if (s.kind === "flag") {
    box = element("input", { ...common, type: "checkbox" })
  } else {
    box = element("input", { ...common, type: "text", inputmode: "decimal", autocomplete: "off", spellcheck: "false" })
    if (s.low !== null) slider = element("input", { type: "range", min: 0, max: POSITIONS, step: 1, "aria-label": s.name + " slider" })
  }
  const row = element("div", { class: "row" })
  if (slider) row.append(slider)
  row.append(box)
  const root = element("div", { class: "knob " + s.kind }, element("div", { class: "head" }, mark, label, reset), row, note, message)
  return { root, label, mark, reset, message, note, box, slider }
}

export function render({ model }) {
  const s = model.spec
  const part = build(s)
  const steps = part.slider ? scale(s) : null
  let typing = false, waiting = false  // waiting: sent from the box, not yet answered
  const read = () => (s.kind === "flag" ? String(part.box.checked) : part.box.value.trim())
  const send = (text) => { waiting = true; model.send_msg({ value: text }) }

  function write() {
    if (s.kind === "flag") part.box.checked = model.value === "true"
    else if (!typing && !waiting) part.box.value = model.value
    if (part.slider) {
      const real = Number(model.value)
      if (part.slider.getRootNode().activeElement !== part.slider) part.slider.value = steps.of(real)
      part.slider.setAttribute("aria-valuetext", model.value)
    }
  }
  function say() {
    part.message.textContent = model.message
    part.note.textContent = model.message ? "" : model.note
    part.root.classList.toggle("refused", model.message !== "")
    part.box.setAttribute("aria-invalid", model.message !== "")
    part.root.classList.toggle("changed", model.changed)
  }
  part.box.addEventListener("change", () => { typing = false; send(read()) })
  if (s.kind !== "choice" && s.kind !== "flag") {
    part.box.addEventListener("input", () => { typing = true })
    part.box.addEventListener("keydown", (e) => { if (e.key === "Enter") { typing = false; send(read()) } })
    part.box.addEventListener("blur", () => { typing = false; if (!model.message && !waiting) write() })
  }
  if (part.slider) {
    part.slider.addEventListener("input", () => {
      typing = false
      part.box.value = steps.at(Number(part.slider.value))
      part.slider.setAttribute("aria-valuetext", part.box.value)
      send(part.box.value)
    })
  }
  part.reset.addEventListener("click", () => model.send_msg({ reset: true }))
  model.on("value", write)
  model.on("serial", () => { typing = waiting = false; if (!model.message) write() })
  model.on("message", () => { waiting = false })
  for (const name of ["message", "note", "changed"]) model.on(name, say)
  model.on("spec", () => {
    part.reset.title = `Reset to the default, ${model.spec.usual}`
    part.reset.setAttribute("aria-label", `Reset ${s.name} to ${model.spec.usual}`)
  })
  write()
  say()
  return part.root
}
