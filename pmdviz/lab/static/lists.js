// == race_table: Bars, closest method first; folded below them a table whose head sorts: a second press turns the order round.
export function render({ model }) {
  let by = "first", down = false, heads = {}
  const body = make("tbody"), head = make("tr")
  const titles = () => head.replaceChildren(...model.columns.map(([key, title, words]) => {
    const sort = () => { down = key === by && !down; by = key; show() }
    const button = make("button", { title: words, onclick: sort }, title, make("span", { "aria-hidden": "true" }))
    return (heads[key] = make("th", { scope: "col", class: key }, button))
  }))
  // The words of the columns, for those who have no pointer to rest on a title.
  const words = make("dl"), summary = make("summary", {}, "What the columns mean")
  const explain = () => words.replaceChildren(...[...model.columns.map(([, title, text]) => [title, text]), ...model.notes]
    .flatMap(([title, text]) => [make("dt", {}, title), make("dd", {}, text)]))
  const table = make("table", {}, make("caption", { class: "unseen" }, "Methods"), make("thead", {}, head), body)

  function swatch(k) {
    const look = model.swatches[k], ends = { x1: 0, y1: 5, x2: 34, y2: 5, "stroke-width": 2.5 }
    const line = look && make("line", { ...ends, stroke: look.colour, "stroke-dasharray": look.dash })
    return make("span", { class: "swatch" },
      ...(line ? [make("svg", { width: 34, height: 10, "aria-hidden": "true" }, line)] : []))
  }
  function line(row) {
    return make("tr", {}, ...model.columns.map(([key]) => {
      const [, text, title = text] = row[key] ?? [null, ""]
      if (key === "method") return make("th", { class: key, scope: "row" }, swatch(row.entrant), make("span", { title }, text))
      return make("td", { class: key, title }, text)
    }))
  }
  const ranking = make("ol", { class: "ranking", "aria-label": "Ranking" }), measured = make("p", { class: "measured" })
  function rank() {
    const [, title] = model.columns.find(([key]) => key === "first") ?? []
    measured.textContent = title ? `${title}, ${model.lower ? "lowest" : "highest"} first${model.floor == null ? "" : "; dashed: independent draws"}` : ""
    const known = model.rows.filter((row) => row.first?.[0] != null), most = Math.max(1e-9, model.floor ?? 0, ...known.map((row) => row.first[0]))
    const place = (row) => row.first?.[0] == null ? Infinity : model.lower ? row.first[0] : -row.first[0]
    const rows = [...model.rows].sort((a, b) => place(a) - place(b) || a.entrant - b.entrant)
    ranking.replaceChildren(...rows.map((row) => {
      const [value, words] = row.first ?? [null, "–"], fill = make("span", { class: "fill" }), track = make("span", { class: "track", "aria-hidden": "true" }, fill)
      Object.assign(fill.style, { width: `${100 * Math.max(0, value ?? 0) / most}%`, background: model.swatches[row.entrant]?.colour })
      if (model.floor != null) {
        const floor = make("span", { class: "floor", title: "independent draws" })
        floor.style.left = `${100 * model.floor / most}%`
        track.append(floor)
      }
      return make("li", {}, swatch(row.entrant), make("span", {}, row.method[1]), track, make("span", { class: "number" }, words))
    }))
  }
  function compare(a, b) {
    const x = a[by]?.[0] ?? null, y = b[by]?.[0] ?? null
    if (x === y) return a.entrant - b.entrant
    if (x === null || y === null) return x === null ? 1 : -1  // unavailable values come last either way
    return x < y === down ? 1 : -1
  }
  function show() {
    rank()
    for (const [key, cell] of Object.entries(heads)) {
      cell.setAttribute("aria-sort", key !== by ? "none" : down ? "descending" : "ascending")
      cell.querySelector("span").textContent = key !== by ? "" : down ? " ▼" : " ▲"
    }
    body.replaceChildren(...[...model.rows].sort(compare).map(line))
  }
  const begin = () => {
    heads = {}
    titles()
    explain()
    if (!(by in heads)) by = "first"
    show()
  }
  model.on("columns", begin)
  for (const name of ["rows", "swatches", "floor"]) model.on(name, show)
  begin()
  const scroller = make("div", { class: "scroller", tabindex: "0", role: "region", "aria-label": "Table of the race" }, table)
  const all = make("details", {}, make("summary", {}, "All measurements"), scroller, make("details", {}, summary, words))
  return make("div", {}, measured, ranking, all)
}
// == methods: The table of the methods: the head of a column filters the rows, a press on a cell runs its method.
export function render({ model }) {
  const titles = { family: "Family", ...Object.fromEntries(model.columns.map(([name, title]) => [name, title])) }
  const meanings = Object.fromEntries(model.columns.map(([name, , , terms]) => [name, Object.fromEntries(terms)]))
  const menu = (name, choices) => make("select", { name, "aria-label": titles[name], onchange: show },
    make("option", { value: "" }, "any"), ...choices.map((choice) => make("option", { value: choice }, choice)))
  const menus = Object.fromEntries([
    ["family", menu("family", model.families.map(([title]) => title))],
    ...model.columns.map(([name, , , terms]) => [name, menu(name, terms.map(([term]) => term))]),
  ])
  const onclick = () => { for (const box of Object.values(menus)) box.value = ""; show() }
  const all = make("button", { class: "all", onclick }, "Show all"), said = make("p", { class: "said", role: "status" })
  const pressed = (words, label, method, column, more = {}) =>
    make("button", { "aria-label": label, onclick: () => model.send_msg({ method, column }), ...more }, ...words)
  function cell([name, title], [chosen, remark], method, of) {
    const column = make("span", { class: "column", "aria-hidden": "true" }, title)
    const holder = (more, inside) => make("td", { role: "cell", class: name + more }, column, inside)
    if (!chosen.length) return holder(" empty", make("span", { role: "img", "aria-label": "nothing" }, "—"))
    const words = [make("span", { class: "terms" }, chosen.join(" + ")), ...(remark ? [make("span", { class: "remark" }, remark)] : [])]
    const label = `${of}, ${title}: ${chosen.join(" and ")}${remark ? ", " + remark : ""}. Run it`
    const title_of = chosen.map((term) => `${term}: ${meanings[name][term]}`).join("\n")
    return holder("", pressed(words, label, method, name, { title: title_of }))
  }
  const rows = []  // rows of the table, with what the menus need
  const bodies = model.families.map(([family, methods]) => {
    const body = make("tbody", { role: "rowgroup" }, make("tr", { role: "row", class: "family" },
      make("th", { role: "rowheader", colspan: model.columns.length + 1, scope: "rowgroup" }, family)))
    for (const [name, title, cells] of methods) {
      const head = make("th", { role: "rowheader", scope: "row" }, pressed([title], `Run ${title}`, name, ""))
      const row = make("tr", { role: "row" }, head, ...model.columns.map((c, k) => cell(c, cells[k], name, title)))
      rows.push({ row, body, has: { family: [family], ...Object.fromEntries(model.columns.map((c, k) => [c[0], cells[k][0]])) } })
      body.append(row)
    }
    return body
  })
  const column = (name, title, about) => make("th", { role: "columnheader", scope: "col", title: about },
    make("span", { class: "title" }, title), menus[name])
  const head = make("thead", { role: "rowgroup" }, make("tr", { role: "row" },
    column("family", "Method", "The family of a method"), ...model.columns.map(([name, title, about]) => column(name, title, about))))
  const table = make("table", { role: "table" }, make("caption", { class: "unseen" }, "Methods and what they do in a step"), head, ...bodies)

  function show() {
    const wanted = Object.entries(menus).filter(([, box]) => box.value).map(([name, box]) => [name, box.value])
    let count = 0
    for (const { row, has } of rows) {
      row.hidden = !wanted.every(([name, choice]) => has[name].includes(choice))
      count += !row.hidden
    }
    for (const body of bodies) body.hidden = ![...body.rows].slice(1).some((row) => !row.hidden)
    const terms = wanted.filter(([name]) => name !== "family")
    const told = terms.map(([name, term]) => `${titles[name]}, ${term}: ${meanings[name][term]}`)
    const number = count ? `${count} of ${rows.length} methods.` : `No method has all of this; ${rows.length} in all.`
    said.textContent = [number, ...told].join(" ")
    all.disabled = wanted.length === 0
  }
  show()
  return make("div", { class: "methods" }, make("div", { class: "found" }, said, all), table)
}
// == lessons: Cards by topic, each with the progress that this browser keeps: it is read here and sent nowhere.
export function render({ model }) {
  // The stored progress of a lesson; null without one, or where it is of another version of the lesson.
  function kept(name, steps) {
    try {
      const found = JSON.parse(localStorage.getItem("pmdviz-lesson-" + name)), at = steps.indexOf(found.path.at(-1))
      if (found.pmdviz_progress !== model.format || found.lesson !== name || at < 0) return null
      const scores = Object.entries(found.scores ?? {}).filter(([step, score]) => steps.includes(step) && Number.isFinite(score))
      return { at, done: found.done === true, best: scores.map(([, score]) => Math.round(score)) }
    } catch { return null }
  }
  let cards = []
  function card([name, title, question, minutes, steps, , sketch], first) {
    const state = make("span", { class: "state" })
    const bar = make("span", { class: "bar", "aria-hidden": "true" }, make("i"))
    const button = make("button", { onclick: () => model.send_msg({ lesson: name }) })
    const length = [`${minutes} min`, ...(steps.length ? [`${steps.length} step${steps.length === 1 ? "" : "s"}`] : [])].join(", ")
    const root = make("li", {}, make("svg", { viewBox: "0 0 96 40", "aria-hidden": "true" },
      make("path", { d: sketch })),
      make("h4", {}, title), make("p", {}, question), make("div", { class: "facts" }, make("span", {}, length), state), bar, button)
    const show = () => {
      const now = kept(name, steps)
      root.classList.toggle("first", first && !now)
      const place = !now ? (first ? "Start here" : "") : now.done ? "✓ done" : `step ${now.at + 1} of ${steps.length}`
      const best = now?.best.length ? `best score ${now.best.join(", ")}` : ""
      state.textContent = [place, best].filter(Boolean).join(", ")
      bar.firstChild.style.width = `${now ? 100 * (now.done ? 1 : now.at / steps.length) : 0}%`
      button.classList.toggle("main", first && !now)
      button.textContent = !now ? "Begin" : now.done ? "Again" : "Continue"
      button.setAttribute("aria-label", `${button.textContent}: ${title}`)
    }
    return { root, show }
  }
  const root = make("div", { class: "lessons" }), read = () => cards.forEach((one) => one.show())
  const draw = () => {
    cards = model.lessons.map((row, k) => card(row, k === 0))
    const topics = [...new Set(model.lessons.map((row) => row[5]))]
    const section = (title, list) => make("section", { "aria-label": title }, make("h3", {}, title), list)
    const demos = model.demos.map(([title, question, link]) => make("li", {}, make("a", { href: link }, title), " ", question))
    root.replaceChildren(...topics.map((topic) => section(topic,
      make("ol", {}, ...cards.filter((_, k) => model.lessons[k][5] === topic).map((one) => one.root)))),
      section("For a lecture: demos of five minutes", make("ol", { class: "demos" }, ...demos)))
    read()
  }
  model.on("lessons", draw)
  model.on("looks", read)
  const gone = new AbortController()
  addEventListener("storage", read, { signal: gone.signal })  // another tab of this browser went on
  model.on("remove", () => gone.abort())
  draw()
  return root
}
// == dialog: What opens over the page, in the style for that; it is outside all shadow roots.
function dialog_of(name, label, ...parts) {
  const box = make("dialog", { class: `pmdviz-dialog ${name}`, "aria-label": label }, make("style", {}, STYLE), ...parts)
  box.classList.toggle("dark", has_light_words(document.body))
  box.addEventListener("close", () => box.remove())
  return box
}
// With a title and Close; a press outside closes it too.
function open_dialog(name, label, title, ...parts) {
  const close = make("button", { class: "close", autofocus: true, onclick: () => box.close() }, "Close")
  const box = dialog_of(name, label, make("header", {}, make("h2", {}, title), close), ...parts)
  box.onclick = (e) => { if (e.target === box) box.close() }
  document.body.append(box)
  box.showModal()
  return box
}
