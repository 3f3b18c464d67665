// The lessons and challenges, each with how far one is, as this browser keeps it: it is read here and sent nowhere.
export function render({ model }) {
  // What is kept of a lesson, or null: nothing, or what another version of the lesson has left.
  function kept(name, steps) {
    try {
      const found = JSON.parse(localStorage.getItem("pmdviz-lesson-" + name))
      const at = steps.indexOf(found.path.at(-1))
      if (found.pmdviz_progress !== model.format || found.lesson !== name || at < 0) return null
      const scores = Object.entries(found.scores ?? {}).filter(([step, score]) => steps.includes(step) && Number.isFinite(score))
      return { at, done: found.done === true, best: scores.map(([, score]) => Math.round(score)) }
    } catch { return null }
  }
  const lines = []
  function line([name, title, question, minutes, steps]) {
    const state = make("span", { class: "state" }), button = make("button", { type: "button" })
    button.addEventListener("click", () => model.send_msg({ lesson: name }))
    const length = `${minutes} min, ${steps.length} step${steps.length === 1 ? "" : "s"}`
    const root = make("li", {},
      make("div", { class: "words" }, make("h3", {}, title), make("p", {}, question)),
      make("div", { class: "facts" }, make("span", { class: "length" }, length), state), button)
    lines.push(() => {
      const now = kept(name, steps)
      root.classList.toggle("done", now?.done ?? false)
      const place = !now ? "" : now.done ? "✓ done" : `step ${now.at + 1} of ${steps.length}`
      const best = now?.best.length ? `best score ${now.best.join(", ")}` : ""
      state.textContent = [place, best].filter(Boolean).join(", ")
      button.textContent = !now ? "Begin" : now.done ? "Again" : "Go on"
      button.setAttribute("aria-label", `${button.textContent}: ${title}`)
    })
    return root
  }
  const part = (title, rows) => make("section", { "aria-label": title }, make("h2", {}, title), make("ol", {}, ...rows.map(line)))
  const root = make("div", { class: "lessons" })
  const draw = () => {
    lines.length = 0
    const parts = [["Lessons", model.lessons], ["Challenges", model.challenges]].filter(([, rows]) => rows.length)
    root.replaceChildren(...parts.map(([title, rows]) => part(title, rows)))
    if (!parts.length) root.append(make("p", { role: "status" }, "There are no lessons here yet."))
    read()
  }
  const read = () => lines.forEach((show) => show())
  model.on("lessons", draw)
  model.on("challenges", draw)
  model.on("looks", read)
  const gone = new AbortController()
  addEventListener("storage", read, { signal: gone.signal })  // another tab of this browser went on
  model.on("remove", () => gone.abort())
  draw()
  return root
}
