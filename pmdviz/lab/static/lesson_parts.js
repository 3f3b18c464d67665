// The parts of a lesson's card. Each has `root` and `show(told)`; only what differs is touched, so that nothing jumps.
// Elements that the server has made of Markdown: texts, and lists of tag, attributes and what is in them.
const TAGS = new Set(("a b blockquote br button code em h1 h2 h3 h4 h5 h6 hr li ol p pre s strong table tbody td th thead tr ul").split(" "))
const ATTRIBUTES = new Set(["href", "type", "class", "data-term", "aria-haspopup", "start"])
const elements = (nodes) => nodes.map((node) => {
  if (typeof node === "string") return document.createTextNode(node)
  const [tag, attributes, inside] = node, made = document.createElement(TAGS.has(tag) ? tag : "span")
  for (const [name, value] of Object.entries(attributes))
    if (ATTRIBUTES.has(name) && (name !== "href" || /^(https?:|mailto:|#)/.test(value))) made.setAttribute(name, value)
  made.append(...elements(inside))
  return made
})
const write = (at, nodes) => {
  const written = JSON.stringify(nodes)
  if (at.written !== written) at.replaceChildren(...elements(nodes))
  at.written = written
  at.hidden = !nodes.length
}
const say = (at, words) => {
  if (at.textContent !== words) at.textContent = words
  at.hidden = !words
}
const button = (label, act, kind = "") => {
  const made = make("button", { type: "button", class: kind }, label)
  made.addEventListener("click", act)
  return made
}

// A question: radio buttons with letters, or a number; how sure one is; what became of it.
function question_part(part, send, after, beside = []) {
  const form = make("form", { class: "ask" }), verdict = make("div", { class: "verdict", role: "status" })
  const root = make("section", { "data-part": part }, form, verdict)
  let made = "", choices = [], box = null, sure = [], store = null, state = null, stored = ""
  const radios = (name, entries) => entries.map(([value, nodes, letter]) => {
    const input = make("input", { type: "radio", name: `${part}-${name}`, value })
    const words = make("span", { class: "say" })
    words.append(...elements(nodes))
    const mark = make("span", { class: "mark" })
    return { input, mark, row: make("label", {}, input, ...(letter ? [make("b", { "aria-hidden": "true" }, letter)] : []), words, mark) }
  })
  function build(ask) {
    const legend = make("legend")
    legend.append(...elements(ask.text))
    choices = radios("option", ask.options.map(([letter, nodes]) => [letter, nodes, letter]))
    box = ask.options.length ? null : make("input", { type: "text", inputmode: "decimal", autocomplete: "off", "aria-label": "Your number" })
    sure = radios("sure", ask.confidences.map((words) => [words, [words], ""]))
    store = make("button", { type: "submit", class: "main" }, "Store answer")
    state = make("span", { class: "stored", role: "status" })
    form.replaceChildren(
      make("fieldset", { class: "options" }, legend, ...choices.map((one) => one.row), ...(box ? [make("div", { class: "number" }, box, make("span", {}, ask.unit))] : [])),
      ...(sure.length ? [make("fieldset", { class: "sure" }, make("legend", {}, "How sure?"), ...sure.map((one) => one.row))] : []),
      make("div", { class: "row" }, store, ...beside, state))
  }
  const value = () => box ? box.value.trim() : choices.find((one) => one.input.checked)?.input.value ?? ""
  const confidence = () => sure.find((one) => one.input.checked)?.input.value ?? ""
  form.addEventListener("submit", (e) => {
    e.preventDefault()
    if (value() === "") { say(state, box ? "Type a number first." : "Choose an answer first."); return }
    send({ act: "answer", part, value: value(), confidence: confidence() })
  })
  function show(ask) {
    root.hidden = !ask
    if (!ask) return
    const name = JSON.stringify([ask.text, ask.options.map((one) => one.slice(0, 2)), ask.confidences, ask.unit])
    const fresh = name !== made
    if (fresh) { made = name; stored = ""; build(ask) }
    const now = ask.stored ? JSON.stringify(ask.stored) : ""
    if (now !== stored || fresh) {
      const here = form.contains(form.getRootNode().activeElement)
      for (const one of choices) one.input.checked = ask.stored?.[0] === one.input.value
      if (box && ask.stored) box.value = ask.stored[0]
      for (const one of sure) one.input.checked = ask.stored?.[1] === one.input.value
      if (!fresh && here && now) after()
      stored = now
    }
    for (const one of [...choices, ...sure]) one.input.disabled = ask.locked
    if (box) box.disabled = ask.locked
    store.hidden = ask.locked
    store.textContent = ask.stored ? "Store another answer" : "Store answer"
    say(state, ask.locked ? "" : ask.stored ? "Stored. You may change it until you reveal." : "")
    if (part === "after" && ask.stored && !ask.locked) say(state, "Stored.")
    ask.options.forEach(([, , right], k) => {
      say(choices[k].mark, right ? "✓ right" : "")
      choices[k].row.classList.toggle("right", right)
    })
    write(verdict, ask.verdict ? [["b", {}, [ask.verdict[0] ? "Right." : "Not quite."]], " ", ...ask.verdict[1]] : [])
    verdict.classList.toggle("good", Boolean(ask.verdict?.[0]))
  }
  // A letter chooses an option; whether it did.
  const choose = (letter) => {
    const one = root.hidden ? null : choices.find(({ input }) => input.value === letter && !input.disabled)
    if (one) { one.input.checked = true; one.input.focus() }
    return Boolean(one)
  }
  // A digit begins the number; whether one is asked for.
  const begin = () => {
    const open = !root.hidden && box && !box.disabled
    if (open) box.select()
    return Boolean(open)
  }
  return { root, show, choose, begin }
}

// Hints: one at a time, forward and back; the next one is opened by the server.
function hints_part(send) {
  const words = make("p", { role: "status" }), count = make("b")
  const back = button("Previous hint", () => { at -= 1; draw() }), next = button("Hint", () => {
    if (at + 1 < told.hints.length) { at += 1; draw() } else { waits = true; send({ act: "hint" }) }
  })
  const root = make("section", { class: "hints", "data-part": "found" }, words, make("div", { class: "row" }, back, next, count))
  let told = { hints: [], num_hints: 0 }, at = -1, waits = false
  const draw = () => {
    write(words, told.hints[at] ?? [])
    say(count, at >= 0 ? `Hint ${at + 1} of ${told.num_hints}` : "")
    back.hidden = at < 1
    next.hidden = at + 1 >= told.num_hints
    next.textContent = at < 0 ? "Hint" : "Next hint"
  }
  const show = (all, fresh) => {
    if (fresh) { at = -1; waits = false }
    told = all
    if (waits && told.hints.length > at + 1) { at += 1; waits = false }
    root.hidden = !told.num_hints
    draw()
  }
  return { root, show }
}
