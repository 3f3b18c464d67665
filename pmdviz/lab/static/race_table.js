// A table whose head sorts: a press on a title sorts by it, another one turns the order round.
export function render({ model }) {
  const drawn = (tag, attributes) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", tag)
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value)
    return made
  }
  let by = "first", down = false
  const heads = {}, body = make("tbody"), head = make("tr")
  const titles = () => head.replaceChildren(...model.columns.map(([key, title, words]) => {
    const button = make("button", { type: "button", title: words }, title, make("span", { "aria-hidden": "true" }))
    button.addEventListener("click", () => { down = key === by ? !down : false; by = key; show() })
    return (heads[key] = make("th", { scope: "col", class: key }, button))
  }))
  titles()
  // The words of the columns, for those who have no pointer to rest on a title.
  const words = make("dl"), summary = make("summary", {}, "What the columns mean")
  const explain = () => words.replaceChildren(...[...model.columns.map(([, title, text]) => [title, text]), ...model.notes]
    .flatMap(([title, text]) => [make("dt", {}, title), make("dd", {}, text)]))
  explain()
  const table = make("table", {}, make("caption", {}, "Methods"), make("thead", {}, head), body)

  function swatch(k) {
    const look = model.swatches[k]
    const holder = make("span", { class: "swatch" })
    if (look) {
      const line = drawn("line", { x1: 0, y1: 5, x2: 34, y2: 5, stroke: look.colour, "stroke-width": 2.5 })
      line.setAttribute("stroke-dasharray", look.dash)
      const svg = drawn("svg", { width: 34, height: 10, "aria-hidden": "true" })
      svg.append(line)
      holder.append(svg)
    }
    return holder
  }
  const lines = new Map()  // entrant -> its row: only texts that differ are touched, so that nothing flickers
  function line(row) {
    if (!lines.has(row.entrant)) {
      const cells = Object.fromEntries(model.columns.map(([key], i) => [key, make(i ? "td" : "th", { class: key })]))
      cells.method.setAttribute("scope", "row")
      cells.method.append(swatch(row.entrant), make("span"))
      lines.set(row.entrant, { tr: make("tr", {}, ...Object.values(cells)), cells })
    }
    const { tr, cells } = lines.get(row.entrant)
    for (const [key] of model.columns) {
      const cell = key === "method" ? cells[key].lastChild : cells[key]
      if (!(key in row)) continue
      const [, text, longer = text] = row[key]
      if (cell.textContent !== text) cell.textContent = text
      if (cell.title !== longer) cell.title = longer
    }
    return tr
  }
  function compare(a, b) {
    const x = a[by]?.[0] ?? null, y = b[by]?.[0] ?? null
    if (x === y) return a.entrant - b.entrant
    if (x === null || y === null) return x === null ? 1 : -1  // unavailable values come last either way
    const order = x < y ? -1 : 1
    return down ? -order : order
  }
  function show() {
    for (const [key, cell] of Object.entries(heads)) {
      cell.setAttribute("aria-sort", key !== by ? "none" : down ? "descending" : "ascending")
      cell.querySelector("span").textContent = key !== by ? "" : down ? " ▼" : " ▲"
    }
    const wanted = [...model.rows].sort(compare).map(line)
    const now = [...body.children]
    if (wanted.length !== now.length || wanted.some((tr, i) => tr !== now[i])) body.replaceChildren(...wanted)
  }
  const again = () => { lines.clear(); show() }
  const anew = () => {  // other metrics: rows of the old columns are not shown with the new ones
    for (const key of Object.keys(heads)) delete heads[key]
    titles()
    explain()
    if (!(by in heads)) by = "first"
    again()
  }
  model.on("columns", anew)
  model.on("rows", show)
  model.on("swatches", again)
  show()
  const scroller = make("div", { class: "scroller", tabindex: "0", role: "region", "aria-label": "Table of the race" }, table)
  return make("div", {}, scroller, make("details", {}, summary, words))
}
