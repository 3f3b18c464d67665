// The table of the methods: menus leave those that have what is chosen, a press on a cell runs its method.
export function render({ model }) {
  const ANY = ""
  const menu = (name, title, choices) => {
    const box = make("select", { name, "aria-label": title }, make("option", { value: ANY }, "any"),
      ...choices.map((choice) => make("option", { value: choice }, choice)))
    box.addEventListener("change", show)
    return box
  }
  const menus = Object.fromEntries([
    ["family", menu("family", "Family", model.families.map(([title]) => title))],
    ...model.columns.map(([name, title, terms]) => [name, menu(name, title, terms.map(([term]) => term))]),
  ])
  const titles = { family: "Family", ...Object.fromEntries(model.columns.map(([name, title]) => [name, title])) }
  const meanings = Object.fromEntries(model.columns.map(([name, , terms]) => [name, Object.fromEntries(terms)]))
  const bar = make("div", { class: "menus", role: "group", "aria-label": "Show methods with" },
    ...Object.entries(menus).map(([name, box]) => make("label", {}, make("span", {}, titles[name]), box)))
  const all = make("button", { type: "button", class: "all" }, "Show all")
  all.addEventListener("click", () => { for (const box of Object.values(menus)) box.value = ANY; show() })
  bar.append(all)
  const said = make("p", { class: "said", role: "status" })

  const pick = (method, column) => model.send_msg({ method, column })
  const pressed = (words, label, method, column) => {
    const button = make("button", { type: "button", "aria-label": label }, ...words)
    button.addEventListener("click", () => pick(method, column))
    return button
  }
  function cell([name, title, terms], [chosen, remark], method, of) {
    const holder = make("td", { role: "cell", class: chosen.length ? name : name + " empty" },
      make("span", { class: "column", "aria-hidden": "true" }, title))
    if (!chosen.length) {
      holder.append(make("span", { "aria-hidden": "true" }, "—"), make("span", { class: "unseen" }, "nothing"))
      return holder
    }
    const words = [make("span", { class: "terms" }, chosen.join(" + "))]
    if (remark) words.push(make("span", { class: "remark" }, remark))
    const label = `${of}, ${title}: ${chosen.join(" and ")}${remark ? ", " + remark : ""}. Run it`
    const button = pressed(words, label, method, name)
    button.title = chosen.map((term) => `${term}: ${meanings[name][term]}`).join("\n")
    holder.append(button)
    return holder
  }
  const rows = []  // of the table, with what the menus ask for
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
  const head = make("thead", { role: "rowgroup" }, make("tr", { role: "row" },
    ...["Method", ...model.columns.map(([, title]) => title)].map((t) => make("th", { role: "columnheader", scope: "col" }, t))))
  const table = make("table", { role: "table" }, make("caption", {}, "Methods and what they do in a step"), head, ...bodies)

  function show() {
    const wanted = Object.entries(menus).filter(([, box]) => box.value !== ANY).map(([name, box]) => [name, box.value])
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
  return make("div", { class: "methods" }, bar, said, table)
}
