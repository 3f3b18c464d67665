// The parts of a lesson's card. Each has `root` and `show(told)`; only changed elements are touched, so nothing jumps.
// Elements that the server has made of Markdown: texts, and lists of tag, attributes and children.
const TAGS = new Set(("a b blockquote br button code em h1 h2 h3 h4 h5 h6 hr li ol p pre s strong table tbody td th thead tr ul").split(" "))
const ATTRIBUTES = new Set(["href", "type", "class", "data-term", "aria-haspopup", "start"])
const elements = (nodes) => nodes.map((node) => {
  if (typeof node === "string") return node
  const [tag, attributes, inside] = node
  const safe = ([name, value]) => ATTRIBUTES.has(name) && (name !== "href" || /^(https?:|mailto:|#)/.test(value))
  return make(TAGS.has(tag) ? tag : "span", Object.fromEntries(Object.entries(attributes).filter(safe)), ...elements(inside))
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
const button = (label, onclick, kind = "") => make("button", { class: kind, onclick }, label)

function question_part(part, send, after, beside = []) {
  const fields = ["answer", "sure"], given = (name) => form.elements[name]?.value.trim() ?? ""
  const onsubmit = (e) => {
    e.preventDefault()
    if (given("answer")) send({ act: "answer", part, value: given("answer"), confidence: given("sure") })
    else say(state, box ? "Type a number first." : "Choose an answer first.")
  }
  const form = make("form", { class: "ask", onsubmit })
  const verdict = make("div", { class: "verdict", role: "status" })
  const root = make("section", { "data-part": part }, form, verdict)
  const store = make("button", { type: "submit", class: "main" }), state = make("span", { class: "stored", role: "status" })
  let made = "", box = null, choices = [], stored = "", judged = true
  const radio = (name, value, nodes, ...letter) => make("label", {}, make("input", { type: "radio", name, value }), ...letter,
    make("span", { class: "say" }, ...elements(nodes)), make("span", { class: "mark" }))
  function build(ask) {
    const legend = make("legend", {}, ...elements(ask.text))
    choices = ask.options.map(([letter, nodes]) => radio("answer", letter, nodes, make("b", { "aria-hidden": "true" }, letter)))
    box = choices.length ? null : make("input", { type: "text", name: "answer", inputmode: "decimal", autocomplete: "off", "aria-label": "Your number" })
    const sure = ask.confidences.map((words) => radio("sure", words, [words]))
    form.replaceChildren(
      make("fieldset", { class: "options" }, legend, ...choices, ...(box ? [make("div", { class: "number" }, box, make("span", {}, ask.unit))] : [])),
      ...(sure.length ? [make("fieldset", { class: "sure" }, make("legend", {}, "How sure?"), ...sure)] : []),
      make("div", { class: "row" }, store, ...beside, state))
  }
  function show(ask) {
    root.hidden = !ask
    if (!ask) return
    const name = JSON.stringify([ask.text, ask.options.map((one) => one.slice(0, 2)), ask.confidences, ask.unit])
    const fresh = name !== made
    if (fresh) { made = name; stored = ""; judged = Boolean(ask.verdict); build(ask) }
    const now = ask.stored ? JSON.stringify(ask.stored) : ""
    if (now !== stored || fresh) {
      const here = form.contains(form.getRootNode().activeElement)
      form.reset()
      fields.forEach((name, k) => { if (ask.stored && form.elements[name]) form.elements[name].value = ask.stored[k] })
      if (!fresh && here && now) after()
      stored = now
    }
    for (const fieldset of form.querySelectorAll("fieldset")) fieldset.disabled = ask.locked
    store.hidden = ask.locked
    store.textContent = ask.stored ? "Submit another answer" : "Submit"
    const kept = part === "after" ? "Submitted." : "Submitted. You can change it until you press Reveal."
    say(state, ask.stored && !ask.locked ? kept : "")
    ask.options.forEach(([, , right], k) => {
      say(choices[k].lastChild, right ? "✓ right" : "")
      choices[k].classList.toggle("right", right)
    })
    write(verdict, ask.verdict ? [...(ask.verdict[1] ? [["b", {}, [ask.verdict[1]]], " "] : []), ...ask.verdict[2]] : [])
    verdict.className = `verdict ${ask.verdict?.[0] ?? ""}`
    if (ask.verdict && !judged) verdict.scrollIntoView({ block: "nearest" })
    judged = Boolean(ask.verdict)
  }
  // A letter chooses an option; whether it did.
  const choose = (letter) => {
    const one = root.hidden ? null : form.querySelector(`[name=answer][value="${letter}"]:enabled`)
    if (one) { one.checked = true; one.focus() }
    return Boolean(one)
  }
  // A digit begins the number; whether one is asked for.
  const begin = () => {
    const open = !root.hidden && box?.matches(":enabled")
    if (open) box.select()
    return Boolean(open)
  }
  return { root, show, choose, begin }
}

// Hints: one at a time, forward and back; the next one is opened by the server.
function hints_part(send) {
  const words = make("p", { role: "status" }), count = make("b")
  const back = button("Previous hint", () => draw(at - 1))
  const next = button("Hint", () => { if (at + 1 < told.hints.length) draw(at + 1); else send({ act: "hint" }) })
  const root = make("section", { class: "hints", "data-part": "found" }, words, make("div", { class: "row" }, back, next, count))
  let told = { hints: [], num_hints: 0 }, at = -1
  const draw = (k) => {
    at = k
    write(words, told.hints[at] ?? [])
    say(count, at >= 0 ? `Hint ${at + 1} of ${told.num_hints}` : "")
    back.hidden = at < 1
    next.hidden = at + 1 >= told.num_hints
    next.textContent = at < 0 ? "Hint" : "Next hint"
  }
  const show = (all, fresh) => {
    const more = all.hints.length > told.hints.length
    told = all
    root.hidden = !told.num_hints
    draw(fresh ? -1 : more ? told.hints.length - 1 : at)
  }
  return { root, show }
}

// The answers as a file, when the learner wants; nothing is sent anywhere.
function save_part() {
  const name = make("input", { type: "text", id: "student", autocomplete: "name", pattern: "[\\w.\\-]{1,40}",
    required: true })
  const onsubmit = (e) => {
    e.preventDefault()
    const text = JSON.stringify({ ...told.sheet, student: name.value })
    download(new Blob([text], { type: "application/json" }), `${told.sheet.sheet}-${name.value}.json`)
  }
  const form = make("form", { class: "save", onsubmit }, make("label", {}, "Your name or number ", name),
    make("button", { type: "submit" }, "Save my answers"))
  let told = {}
  const show = (all) => {
    told = all
    form.hidden = !all.is_done || !all.sheet?.answers?.length
    name.value ||= all.sheet?.student ?? ""
  }
  return { root: form, show }
}

// What the browser keeps of lessons: the progress in each, and the run that the lesson took the place of.
const KEPT = (lesson) => `pmdviz-lesson-${lesson}`, BEFORE = "pmdviz-lesson-before"
const from = (store, key) => { try { return window[store].getItem(key) ?? "" } catch { return "" } }
const into = (store, key, text) => { try { window[store].setItem(key, text) } catch { /* storage is disabled */ } }
function remember(model, send) {
  const answer = () => {
    const { lesson } = model.asked
    if (lesson) send({ act: "resume", lesson, text: from("localStorage", KEPT(lesson)), before: from("sessionStorage", BEFORE) })
  }
  model.on("kept", () => { if (model.kept.lesson) into("localStorage", KEPT(model.kept.lesson), model.kept.text) })
  model.on("asked", answer)
  model.on("before", () => into("sessionStorage", BEFORE, model.before))
  // The card may be drawn while its document still takes it in: until then it cannot send.
  const when_known = (tries) => { try { answer() } catch (error) { if (tries) setTimeout(() => when_known(tries - 1), 50); else throw error } }
  setTimeout(() => when_known(100), 0)
}
// The address names the open lesson next to its other parts; links and tabs change it. A link to share opens the lesson
// at this step, not revealed; an embedded page has no lesson.
function follow_address(model) {
  window.pmdvizAddress = (address, share = false) => {
    const url = new URL(address, location.href), parts = url.searchParams, { lesson, key, skip } = model.told
    for (const name of ["lesson", "step", "skip"]) parts.delete(name)
    if (!lesson || (share && parts.has("embed"))) return url.pathname + url.search
    if (share) for (const name of [...parts.keys()]) if (!["hide", "presenter"].includes(name)) parts.delete(name)
    parts.set("lesson", lesson)
    if (share) parts.set("step", key.split("/")[2])
    else if (skip) parts.set("skip", "1")
    return url.pathname + url.search
  }
  let seen = ""
  return () => {
    const now = `${model.told.lesson ?? ""} ${model.told.skip ?? ""}`
    if (now === seen) return
    seen = now
    history.replaceState(history.state, "", window.pmdvizAddress(location.href))
  }
}

// The keys of a lesson: letters choose an option while the card, or nothing, has the focus; a clicker goes part by part.
const TYPING = "input:not([type=radio]), select, textarea, [contenteditable], [role=slider]"
function listen(root, model, send, asks) {
  const letter = (e) => {
    const at = e.composedPath()[0], mine = at === document.body || root.contains(at)
    if (!mine || at.matches?.(TYPING)) return false
    if (/^[-.\d]$/.test(e.key)) return asks.some((ask) => ask.begin()) // the box has the focus when the digit comes
    if (!/^[a-h]$/i.test(e.key) || !asks.some((ask) => ask.choose(e.key.toLowerCase()))) return false
    e.preventDefault()
    return true
  }
  document.addEventListener("keydown", (e) => {
    if (!model.told.lesson || e.ctrlKey || e.metaKey || e.altKey || document.querySelector("dialog[open]")) return
    if (letter(e)) return
    const leaves = e.key.toLowerCase() === "l" && !e.composedPath()[0].matches?.(`${TYPING}, input`)
    const act = leaves ? "leave" : model.told.part && { PageDown: "forward", PageUp: "backward" }[e.key]
    if (!act) return
    e.preventDefault()
    send({ act })
  })
}

// The card of a lesson: a step's text, its question, what it shows, its goal; the server says all of it in `told`.
export function render({ model }) {
  const send = (message) => model.send_msg(message)
  const count = make("span", { class: "count" }), lesson = make("span", { class: "lesson" })
  const fold = button("", () => folded(!root.classList.contains("folded")), "fold")
  const leave = button("Leave the lesson", () => send({ act: "leave" }), "leave")
  leave.title = "The run that was there before is shown again (L)"
  const title = make("h2", { tabindex: "-1", id: "pmdviz-lesson-title" })
  const text = make("div", { class: "text", "data-part": "text" }), closed = make("p", { class: "closed" })
  const reveal = button("Reveal", () => send({ act: "reveal" }), "main"), reveal_row = make("div", { class: "row" })
  const waits = make("p", { class: "waits", role: "status" }), revealed = make("div", { class: "text revealed" })
  const reveal_part = make("section", { class: "outcome", tabindex: "-1", "data-part": "reveal" }, reveal_row, closed, waits, revealed)
  const diagnosis = make("p", { class: "diagnosis", role: "status", "data-part": "found" })
  const state = make("span", { class: "state" }), words = make("span")
  const goal = make("p", { class: "goal" }, words, " ", state)
  const score = make("p", { class: "score", role: "status" })
  const link = button("Copy link to this attempt", () => send({ act: "link" }))
  const form = make("div", { class: "form" }, model.get_child("form"))
  const solution = button("Show a solution", () => send({ act: "solution" }))
  const hints = hints_part(send), save = save_part()
  const work = make("section", { "data-part": "found", class: "work" }, goal, score, form, make("div", { class: "row" }, link, solution))
  const asks = { question: question_part("question", send, () => reveal.focus(), [reveal]), after: question_part("after", send, () => next.focus()) }
  const done = make("section", { class: "done" }), said = make("p", { class: "said", role: "status", "aria-live": "polite" })
  const back = button("Back", () => send({ act: model.told.part ? "backward" : "back" }))
  const next = button("Next", () => send({ act: model.told.part ? "forward" : "next" }), "main")
  const part = make("span", { class: "part" }), nav = make("div", { class: "nav" }, back, part, next)
  const body = make("div", { class: "body" }, title, text, asks.question.root, reveal_part, diagnosis, asks.after.root, work, hints.root, done, save.root)
  const head = make("div", { class: "head" }, make("div", { class: "names" }, lesson, " ", count), fold, leave)
  const root = make("section", { class: "card", "aria-labelledby": title.id, lang: "en" }, head, body, said, nav)
  let key = ""

  function folded(on) {
    root.classList.toggle("folded", on)
    fold.textContent = on ? "Unfold" : "Fold"
    fold.setAttribute("aria-expanded", !on)
  }
  // A lecture hall sees one part at a time; the options stay next to the revealed answer.
  function pick(told) {
    for (const one of body.querySelectorAll("[data-part]")) {
      const mine = one.dataset.part, seen = !told.part || mine === told.part || (mine === "question" && told.part === "reveal")
      one.classList.toggle("away", told.is_done || !seen)
    }
  }
  function end(told) {
    done.hidden = !told.is_done
    if (!told.is_done) return
    done.replaceChildren(
      make("ul", {}, ...told.done.map((sentence) => make("li", {}, sentence))),
      ...(told.following.length ? [button(`Next lesson: ${told.following[1]}`, () => send({ act: "following" }), "main")] : []),
      ...(told.listed ? [button("All lessons", () => send({ act: "list" }))] : []),
      button("Begin again", () => send({ act: "again" })))
  }
  function show() {
    const told = model.told, fresh = told.key !== key
    root.hidden = !told.lesson
    address()
    if (!told.lesson) { key = ""; return }
    key = told.key
    root.classList.toggle("script", Boolean(told.part))
    write(text, told.text)
    write(revealed, told.reveal.text)
    for (const [name, one] of Object.entries(asks)) one.show(told.asks[name])
    const held = root.getRootNode().activeElement === reveal
    if (!told.asks.question && reveal.parentElement !== reveal_row) reveal_row.append(reveal)
    const offered = (words) => told.reveal.offered ? words : ""
    const all = [[lesson, told.lesson_title], [count, told.count], [title, told.title], [closed, offered(told.closed)],
      [reveal, offered(told.reveal.label)], [waits, told.verdict_waits], [diagnosis, told.diagnosis], [words, told.goal.words],
      [state, told.goal.state], [score, told.score], [next, told.is_done ? "" : told.part ? "Next part" : told.next],
      [part, told.part_words], [said, told.said]]
    for (const [at, now] of all) say(at, now ?? "")
    const seen = [[goal, told.goal.words], [link, told.challenge], [form, told.controls], [solution, told.solution],
      [back, told.may_go_back]]
    for (const [at, on] of seen) at.hidden = !on
    if (held && reveal.hidden) reveal_part.focus()
    reveal.setAttribute("aria-disabled", told.reveal.closed)
    state.setAttribute("aria-live", told.playing ? "off" : "polite")
    goal.classList.toggle("reached", Boolean(told.goal.reached))
    hints.show(told, fresh)
    end(told)
    save.show(told)
    next.setAttribute("aria-disabled", !told.part && !told.may_go_on)
    pick(told)
    if (fresh) {
      body.scrollTop = 0
      folded(false)
      focus(60)
    }
  }
  // The room for the card may come a few frames later.
  function focus(frames) {
    title.focus({ preventScroll: true })
    if (root.getRootNode().activeElement !== title && frames) requestAnimationFrame(() => focus(frames - 1))
  }
  const address = follow_address(model)
  listen(root, model, send, [asks.after, asks.question])
  model.on("told", show)
  folded(false)
  show()
  remember(model, send)
  return root
}
