// A form of knobs, each with label, slider, number box (or menu, checkbox, formula), reset button, and the sentence that refuses a value.
const POSITIONS = 200

function scale(s) {
  const { low, high, log, whole } = s, tidy = (v) => (whole ? Math.round(v) : Number(v)).toPrecision(3)
  return {
    at: (i) => String(Number(tidy(log ? low * (high / low) ** (i / POSITIONS) : low + ((high - low) * i) / POSITIONS))),
    of: (v) => {
      const share = log ? Math.log(v / low) / Math.log(high / low) : (v - low) / (high - low)
      return Math.round(POSITIONS * Math.min(1, Math.max(0, share || 0)))
    },
  }
}

// Whether a knob is chosen from a list; data may come from a file besides, which joins the list when it is in force.
const chosen = (s) => s.kind === "choice" || s.kind === "source"

function build(s) {
  const id = "knob-" + s.name, unit = make("span", { class: "unit" })
  const label = make("button", { class: "name", "aria-haspopup": "dialog" }, make("span", { class: "word" }, s.label),
    unit)
  const mark = make("span", { class: "mark", title: "differs from the default" }, "●")
  const reset = make("button", { class: "reset" }, "↺")
  const message = make("div", { class: "message", role: "alert", id: id + "-message" })
  const note = make("div", { class: "note" })
  const common = { id, name: s.name, "aria-label": s.label, "aria-describedby": id + "-message" }
  let box, slider = null, menu = null
  if (chosen(s)) box = make("select", common, ...options(s.choices))
  else if (s.kind === "flag") box = make("input", { ...common, type: "checkbox" })
  else {
    box = make("input", { ...common, type: "text", autocomplete: "off", spellcheck: "false", autocapitalize: "off" })
    if (s.kind === "formula") menu = examples(s)
    else box.setAttribute("inputmode", "decimal")
    if (s.low !== null) slider = make("input", { type: "range", min: 0, max: POSITIONS, step: 1, "aria-label": s.label })
  }
  const row = make("div", { class: "row" }, ...(slider ? [slider] : []), box)
  const root = make("div", { class: "knob " + (chosen(s) ? "choice" : s.kind) },
    mark, label, ...(menu ? [menu] : []), row, reset, note, message)
  return { root, label, unit, reset, message, note, box, slider, menu }
}

const options = (choices) => choices.map(([value, words]) => make("option", { value }, words))

// The menu next to a formula: examples to begin with, and the own formula after a change.
const examples = (s) => make("select", { "aria-label": `${s.label}: examples` }, ...options(s.choices),
  make("option", { value: "", disabled: true }, "your own"))

// A slider alone: its name, what the number means, and the effect of too small and too large a value.
function build_brief(s) {
  const name = make("label", { class: "name", for: "slider-" + s.name }, s.label)
  const other = make("div", { class: "other" })
  const value = make("output", { class: "value", for: "slider-" + s.name })
  const id = "slider-" + s.name, range = { min: 0, max: POSITIONS, step: 1 }
  const slider = make("input", { type: "range", id, name: s.name, "aria-label": s.label, ...range })
  const message = make("div", { class: "message", role: "alert" }), note = make("div", { class: "note" })
  const below = make("span"), words = s.ends.map((end) => make("span", {}, end))
  const ends = make("div", { class: "ends", "aria-hidden": "true" }, ...(words.length ? words : [below]))
  return { root: make("div", { class: "knob brief" }, name, slider, value, ends, other, note, message), slider, message, note, value, below, other }
}

const words_of = (state) => [Number(state.value).toLocaleString("en", { maximumSignificantDigits: 4 }), state.unit].filter(Boolean).join(" ")

function brief(s, give) {
  const part = build_brief(s), steps = scale(s)
  let state = {}, meaning = {}, held = false
  const write = (value) => {
    const { now, other: there } = meaning, usual = [words_of({ ...state, value }), now].filter(Boolean).join(", ")
    part.value.textContent = usual
    part.other.textContent = there ?? ""
    part.below.textContent = meaning.below ?? ""
    part.slider.setAttribute("aria-valuetext", [usual, there].filter(Boolean).join(", "))
  }
  part.slider.oninput = () => {
    held = true
    const text = steps.at(Number(part.slider.value))
    write(text)
    give({ name: s.name, value: text })
  }
  part.slider.onchange = part.slider.onblur = () => { held = false }
  const take = (next) => {
    state = next
    if (!held) {
      part.slider.value = steps.of(Number(next.value))
      write(next.value)
    }
    part.message.textContent = next.message
    part.note.textContent = next.message ? "" : next.note || s.waits
    part.root.hidden = !next.visible
    part.root.classList.toggle("changed", next.changed)
  }
  return { root: part.root, take, mean: (next = {}) => { meaning = next; if (!held) write(state.value) } }
}

// One knob; `give(data)` sends to the server, the function returned takes a state from it.
function knob(s, give) {
  const part = build(s), steps = part.slider ? scale(s) : null
  let state = {}, typing = false, waiting = false  // waiting: sent from the box, not yet answered
  const read = () => (s.kind === "flag" ? String(part.box.checked) : part.box.value.trim())
  const send = (text) => { waiting = true; give({ name: s.name, value: text }) }

  function write() {
    if (s.kind === "flag") part.box.checked = state.value === "true"
    else if (!typing && !waiting) {
      const file = s.kind === "source" && ![...part.box.options].some((option) => option.value === state.value)
      if (file) part.box.append(...options([[state.value, state.value.replace(/#[0-9a-f]+$/, "")]]))
      part.box.value = s.examples[state.value] ?? state.value
    }
    if (part.menu) part.menu.value = state.value in s.examples ? state.value : ""
    if (part.slider) {
      const real = Number(state.value)
      if (part.slider.getRootNode().activeElement !== part.slider) part.slider.value = steps.of(real)
      part.slider.setAttribute("aria-valuetext", state.value)
    }
  }
  function say() {
    part.message.textContent = state.message
    part.note.textContent = state.message ? "" : state.note
    part.root.classList.toggle("refused", state.message !== "")
    part.box.setAttribute("aria-invalid", state.message !== "")
    part.root.classList.toggle("changed", state.changed)
    part.root.hidden = !state.visible
    part.root.classList.toggle("folds", state.folds && !state.message)
    part.unit.textContent = state.unit
    part.reset.title = `Reset to the default, ${state.usual}`
    part.reset.setAttribute("aria-label", `Reset ${s.label} to ${state.usual}`)
  }
  part.label.onclick = () =>
    explanations.open(part.label, s.label, [s.help, `Takes effect: ${s.acts}.`], `Default: ${state.usual}`)
  part.box.onchange = () => { typing = false; send(read()) }  // on Enter too
  if (!chosen(s) && s.kind !== "flag") {
    part.box.oninput = () => { typing = true }
    part.box.onblur = () => { typing = false; if (!state.message && !waiting) write() }
  }
  if (part.slider) part.slider.oninput = () => {
    typing = false
    part.box.value = steps.at(Number(part.slider.value))
    part.slider.setAttribute("aria-valuetext", part.box.value)
    send(part.box.value)
  }
  if (part.menu) part.menu.onchange = () => { typing = false; send(part.menu.value) }
  part.reset.onclick = () => give({ name: s.name, reset: true })
  function take(next) {
    const old = state
    state = next
    if (next.message !== old.message) waiting = false
    if (next.serial !== old.serial) { typing = waiting = false }
    if (next.value !== old.value || (next.serial !== old.serial && !next.message)) write()
    say()
  }
  return { root: part.root, take }
}

// Whether the knobs beyond the basic ones are open: the browser remembers it, where it remembers anything at all.
const MORE = "pmdviz-more-settings"
const remembered = () => { try { return localStorage.getItem(MORE) === "open" } catch { return false } }
const remember = (open) => { try { localStorage.setItem(MORE, open ? "open" : "folded") } catch {} }

export function render({ model }) {
  const turn = () => {
    const open = form.classList.contains("folded")
    fold(open)
    remember(open)
  }
  const more = make("button", { class: "more", onclick: turn }), form = make("div", { class: "form" })
  let made = {}
  const fold = (open) => {
    form.classList.toggle("folded", !open)
    more.setAttribute("aria-expanded", open)
    more.textContent = open ? "▾ Fewer settings" : "▸ More settings"
  }
  const show = () => {
    for (const [name, state] of Object.entries(model.states)) made[name]?.take(state)
    more.hidden = model.brief || !model.specs.some((s) => !s.basic && model.states[s.name]?.visible)
  }
  const rebuild = () => {
    const one = model.brief ? brief : knob
    made = Object.fromEntries(model.specs.map((s) => [s.name, one(s, (data) => model.send_msg(data))]))
    form.classList.toggle("brief-form", model.brief)
    const [basic, rest] = [true, false].map((is) => model.specs.filter((s) => s.basic === is).map((s) => made[s.name].root))
    form.replaceChildren(...basic, ...(basic.length && rest.length ? [more] : []), ...rest)
    fold(model.brief || !basic.length || remembered())  // where none is basic, nothing is folded away
    show()
    mean()
  }
  const mean = () => { for (const [name, made_of] of Object.entries(made)) made_of.mean?.(model.meanings[name]) }
  model.on("meanings", mean)
  model.on("specs", rebuild)
  model.on("states", show)
  rebuild()
  return form
}
