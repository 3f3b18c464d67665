// The card of a lesson: a step's text, its question, what it shows, its goal; the server says all of it in `told`.
export function render({ model }) {
  const send = (message) => model.send_msg(message)
  const count = make("span", { class: "count" }), lesson = make("span", { class: "lesson" })
  const fold = button("", () => folded(!root.classList.contains("folded")), "fold")
  const leave = button("Leave the lesson", () => send({ act: "leave" }), "leave")
  leave.title = "The run that was there before is shown again (L)"
  const title = make("h2", { tabindex: "-1", id: "pmdviz-lesson-title" })
  const text = make("div", { class: "text", "data-part": "text" })
  const closed = make("p", { class: "closed" })
  const reveal = button("Reveal", () => send({ act: "reveal" }), "main")
  const reveal_row = make("div", { class: "row" })
  const waits = make("p", { class: "waits", role: "status" }), revealed = make("div", { class: "text revealed" })
  const reveal_part = make("section", { class: "outcome", tabindex: "-1", "data-part": "reveal" }, reveal_row, closed, waits, revealed)
  const diagnosis = make("p", { class: "diagnosis", role: "status", "data-part": "found" })
  const goal = make("p", { class: "goal" }), state = make("span", { class: "state" }), words = make("span")
  goal.append(words, " ", state)
  const score = make("p", { class: "score", role: "status" })
  const link = button("Copy link to this attempt", () => send({ act: "link" }))
  const form = make("div", { class: "form" })
  const solution = button("Show a solution", () => send({ act: "solution" }))
  const hints = hints_part(send)
  const work = make("section", { "data-part": "found", class: "work" }, goal, score, form, make("div", { class: "row" }, link, solution))
  const asks = { question: question_part("question", send, () => reveal.focus(), [reveal]), after: question_part("after", send, () => next.focus()) }
  const done = make("section", { class: "done" }), said = make("p", { class: "said", role: "status", "aria-live": "polite" })
  const back = button("Back", () => send({ act: model.told.part ? "backward" : "back" }))
  const next = button("Next", () => send({ act: model.told.part ? "forward" : "next" }), "main")
  const part = make("span", { class: "part" })
  const nav = make("div", { class: "nav" }, back, part, next)
  const body = make("div", { class: "body" }, title, text, asks.question.root, reveal_part, diagnosis, asks.after.root, work, hints.root, done)
  const head = make("div", { class: "head" }, make("div", { class: "names" }, lesson, " ", count), fold, leave)
  const root = make("section", { class: "card", "aria-labelledby": title.id }, head, body, said, nav)
  root.lang = "en"
  form.append(model.get_child("form"))
  let key = ""

  function folded(on) {
    root.classList.toggle("folded", on)
    fold.textContent = on ? "Unfold" : "Fold"
    fold.setAttribute("aria-expanded", !on)
  }
  // For a lecture hall one part at a time; the options stay beside what is revealed.
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
    say(lesson, told.lesson_title)
    say(count, told.count)
    say(title, told.title)
    write(text, told.text)
    for (const [name, one] of Object.entries(asks)) one.show(told.asks[name])
    say(closed, told.reveal.offered ? told.closed : "")
    const held = root.getRootNode().activeElement === reveal
    if (!told.asks.question && reveal.parentElement !== reveal_row) reveal_row.append(reveal)
    reveal.hidden = !told.reveal.offered
    if (held && reveal.hidden) reveal_part.focus()
    reveal.setAttribute("aria-disabled", told.reveal.closed)
    say(waits, told.verdict_waits)
    write(revealed, told.reveal.text)
    say(diagnosis, told.diagnosis)
    goal.hidden = !told.goal.words
    say(words, told.goal.words ?? "")
    say(state, told.goal.state ?? "")
    state.setAttribute("aria-live", told.playing ? "off" : "polite")
    goal.classList.toggle("reached", Boolean(told.goal.reached))
    say(score, told.score)
    link.hidden = !told.challenge
    form.hidden = !told.controls
    solution.hidden = !told.solution
    hints.show(told, fresh)
    end(told)
    back.hidden = !told.may_go_back
    say(next, told.is_done ? "" : told.part ? "Next part" : told.next)
    next.setAttribute("aria-disabled", !told.part && !told.may_go_on)
    say(part, told.part_words)
    say(said, told.said)
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
