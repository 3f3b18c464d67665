// A form of knobs, each with label, slider, number box (or menu, checkbox, formula), reset button, and the sentence that refuses a value.
const POSITIONS = 200

function scale(s) {
  const { at, of } = slider_scale(s, POSITIONS), tidy = (value) => (s.whole ? Math.round(value) : value).toPrecision(3)
  return { at: (place) => String(Number(tidy(at(place)))), of: (value) => Math.round(of(value)) }
}

const options = (choices) => choices.map(([value, words]) => make("option", { value }, words))

// Where a refusal and a note appear; a refusal takes the place of the note.
function below(id) {
  const message = make("div", { class: "message", role: "alert", id: id + "-message" }), note = make("div", { class: "note" })
  const say = (state, otherwise = "") => {
    message.textContent = state.message
    note.textContent = state.message ? "" : state.note || otherwise
  }
  return { parts: [note, message], say }
}

// A slider alone: its name, what the number means, and the effect of too small and too large a value.
function brief(s, give) {
  const id = "slider-" + s.name, steps = scale(s), { parts, say } = below(id)
  const slider = make("input", { type: "range", id, name: s.name, "aria-label": s.label, min: 0, max: POSITIONS, step: 1 })
  const value = make("output", { class: "value", for: id }), other = make("div", { class: "other" })
  const meant = make("span"), words = s.ends.map((end) => make("span", {}, end))
  const ends = make("div", { class: "ends", "aria-hidden": "true" }, ...(words.length ? words : [meant]))
  const root = make("div", { class: "knob brief" }, make("label", { class: "name", for: id }, s.label), slider, value, ends, other, ...parts)
  let state = {}, meaning = {}, held = false
  const write = (text) => {
    const { now, other: there } = meaning, number = Number(text).toLocaleString("en", { maximumSignificantDigits: 4 })
    const usual = [[number, state.unit].filter(Boolean).join(" "), now].filter(Boolean).join(", ")
    value.textContent = usual
    other.textContent = there ?? ""
    meant.textContent = meaning.below ?? ""
    slider.setAttribute("aria-valuetext", [usual, there].filter(Boolean).join(", "))
  }
  slider.oninput = () => {
    held = true
    const text = steps.at(Number(slider.value))
    write(text)
    give({ name: s.name, value: text })
  }
  slider.onchange = slider.onblur = () => { held = false }
  const take = (next) => {
    state = next
    if (!held) {
      slider.value = steps.of(Number(next.value))
      write(next.value)
    }
    say(next, s.waits)
    root.hidden = !next.visible
    root.classList.toggle("changed", next.changed)
  }
  return { root, take, mean: (next = {}) => { meaning = next; if (!held) write(state.value) } }
}

// One knob; `give(data)` sends to the server, `take` takes a state from it.
function knob(s, give) {
  const id = "knob-" + s.name, chosen = s.kind === "choice" || s.kind === "source", { parts, say } = below(id)
  const unit = make("span", { class: "unit" }), word = make("span", { class: "word" }, s.label)
  const onclick = () => explanations.open(label, s.label, [s.help, `Takes effect: ${s.acts}.`], `Default: ${state.usual}`)
  const label = make("button", { class: "name", "aria-haspopup": "dialog", onclick }, word, unit)
  const mark = make("span", { class: "mark", title: "differs from the default" }, "●")
  const reset = make("button", { class: "reset", onclick: () => give({ name: s.name, reset: true }) }, "↺")
  const common = { id, name: s.name, "aria-label": s.label, "aria-describedby": id + "-message" }
  const typed = { type: "text", autocomplete: "off", spellcheck: "false", autocapitalize: "off" }
  const number = s.kind === "formula" ? {} : { inputmode: "decimal" }
  const box = chosen ? make("select", common, ...options(s.choices))
    : make("input", { ...common, ...(s.kind === "flag" ? { type: "checkbox" } : { ...typed, ...number }) })
  const ranged = !chosen && s.kind !== "flag" && s.low !== null
  const slider = ranged ? make("input", { type: "range", min: 0, max: POSITIONS, step: 1, "aria-label": s.label }) : null
  // The menu next to a formula: examples to begin with, and the own formula after a change.
  const menu = s.kind !== "formula" ? null : make("select", { "aria-label": `${s.label}: examples` }, ...options(s.choices),
    make("option", { value: "", disabled: true }, "your own"))
  const row = make("div", { class: "row" }, ...(slider ? [slider] : []), box), steps = slider ? scale(s) : null
  const root = make("div", { class: "knob " + (chosen ? "choice" : s.kind) }, mark, label, ...(menu ? [menu] : []), row, reset, ...parts)
  let state = {}, typing = false, waiting = false  // waiting: sent from the box, not yet answered
  const read = () => (s.kind === "flag" ? String(box.checked) : box.value.trim())
  const send = (text) => { waiting = true; give({ name: s.name, value: text }) }

  function write() {
    if (s.kind === "flag") box.checked = state.value === "true"
    else if (!typing && !waiting) {
      // Data may come from a file besides, which joins the list when it is in force.
      const file = s.kind === "source" && ![...box.options].some((option) => option.value === state.value)
      if (file) box.append(...options([[state.value, state.value.replace(/#[0-9a-f]+$/, "")]]))
      box.value = s.examples[state.value] ?? state.value
    }
    if (menu) menu.value = state.value in s.examples ? state.value : ""
    if (slider) {
      if (slider.getRootNode().activeElement !== slider) slider.value = steps.of(Number(state.value))
      slider.setAttribute("aria-valuetext", state.value)
    }
  }
  box.onchange = () => { typing = false; send(read()) }  // on Enter too
  if (box.type === "text") {
    box.oninput = () => { typing = true }
    box.onblur = () => { typing = false; if (!state.message && !waiting) write() }
  }
  if (slider) slider.oninput = () => {
    typing = false
    box.value = steps.at(Number(slider.value))
    slider.setAttribute("aria-valuetext", box.value)
    send(box.value)
  }
  if (menu) menu.onchange = () => { typing = false; send(menu.value) }
  function take(next) {
    const old = state
    state = next
    if (next.message !== old.message) waiting = false
    if (next.serial !== old.serial) { typing = waiting = false }
    if (next.value !== old.value || (next.serial !== old.serial && !next.message)) write()
    say(next)
    const refused = next.message !== "", looks = { refused, changed: next.changed, folds: next.folds && !refused }
    for (const [name, on] of Object.entries(looks)) root.classList.toggle(name, on)
    box.setAttribute("aria-invalid", refused)
    root.hidden = !next.visible
    unit.textContent = next.unit
    reset.title = `Reset to the default, ${next.usual}`
    reset.setAttribute("aria-label", `Reset ${s.label} to ${next.usual}`)
  }
  return { root, take }
}

// Whether the knobs beyond the basic ones are open: the browser remembers it, where it remembers anything at all.
const MORE = "pmdviz-more-settings"
const remembered = () => { try { return localStorage.getItem(MORE) === "open" } catch { return false } }
const remember = (open) => { try { localStorage.setItem(MORE, open ? "open" : "folded") } catch {} }

export function render({ model }) {
  const form = make("div", { class: "form" })
  const more = make("button", { class: "more", onclick: () => remember(fold(form.classList.contains("folded"))) })
  let made = {}
  const fold = (open) => {
    form.classList.toggle("folded", !open)
    more.setAttribute("aria-expanded", open)
    more.textContent = open ? "▾ Fewer settings" : "▸ More settings"
    return open
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
