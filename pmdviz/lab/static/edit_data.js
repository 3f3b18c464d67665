// A switch "Edit data"; while it is on, fields for a datum and two buttons do what clicks on the picture do.
let numbered = 0

export function render({ model }) {
  const id = `edit-data-${++numbered}`
  const box = make("input", { type: "checkbox", id })
  const hint = make("span", { class: "hint" }, "Click to add a datum; click on one to remove it.")
  const fields = make("form", { class: "fields" })
  const said = make("span", { class: "said", role: "status" })
  const last = make("button", { type: "button" }, "Remove last")
  let inputs = []

  function field(name, k) {
    if (model.classed && k === model.names.length - 1) {
      const menu = make("select", { "aria-label": name }, make("option", { value: "0" }, "0"), make("option", { value: "1" }, "1"))
      menu.addEventListener("change", () => model.send_msg({ class: Number(menu.value) }))
      return menu
    }
    return make("input", { type: "text", inputmode: "decimal", "aria-label": name, autocomplete: "off", spellcheck: "false" })
  }
  function rebuild() {
    inputs = model.names.map(field)
    const labelled = inputs.map((input, k) => make("label", {}, `${model.names[k]} `, input))
    fields.replaceChildren(...labelled, make("button", { type: "submit" }, "Add"), last)
  }
  function show() {
    box.checked = model.editing
    fields.hidden = hint.hidden = said.hidden = !model.editing
    said.textContent = model.said
  }
  box.addEventListener("change", () => model.send_msg({ on: box.checked }))
  fields.addEventListener("submit", (event) => {
    event.preventDefault()
    model.send_msg({ add: inputs.map((input) => input.value.trim()) })
  })
  last.addEventListener("click", () => model.send_msg({ last: true }))
  model.on("names", rebuild)
  model.on("classed", rebuild)
  for (const name of ["editing", "said"]) model.on(name, show)
  rebuild()
  show()
  return make("div", { class: "bar" }, make("label", { class: "switch", for: id }, box, "Edit data"), hint, fields, said)
}
