// The words above the picture, and the buttons beside them: what it is, the tour, presenter mode, the exports.
function made(tag, attributes = {}, ...children) {
  const element = document.createElement(tag)
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value)
  element.append(...children)
  return element
}

// Colours for what stands in the page itself, outside all shadow roots: light words are those of a dark theme.
function colours(from) {
  const dark = Number(getComputedStyle(from).color.match(/\d+/)[0]) > 128
  return `color:${dark ? "#f2f2f2" : "#1a1a1a"};background:${dark ? "#1e1e1e" : "#ffffff"};border:1px solid #8a8a8a;color-scheme:${dark ? "dark" : "light"};`
}

// "q_{t+1}^2" with what is below and above the line set so.
function formula(text) {
  const parts = text.split(/([_^](?:\{[^}]*\}|\S))/)
  return parts.map((part, k) => k % 2 ? made(part[0] === "_" ? "sub" : "sup", {}, part.slice(1).replace(/[{}]/g, "")) : part)
}

function what_is_this(told, from) {
  const close = made("button", { autofocus: "", style: "min-height:40px;padding:0 16px;font:inherit" }, "Close")
  const box = made("dialog", { class: "pmdviz-what", "aria-label": "What is this?" },
    made("h2", { style: "font-size:22px" }, told.title),
    ...told.sentences.map((sentence) => made("p", {}, sentence)),
    made("p", { style: "font-family:serif;font-size:18px;font-style:italic" }, ...formula(told.formula)),
    made("p", { style: "font-size:14px" }, `Paper: ${told.source}`),
    made("form", { method: "dialog" }, close))
  box.style.cssText = colours(from) + "max-width:min(620px,90vw);font:16px/1.5 Roboto,system-ui,sans-serif;border-radius:8px;padding:8px 24px 20px"
  box.addEventListener("close", () => box.remove())
  box.addEventListener("click", (e) => { if (e.target === box) box.close() })
  document.body.append(box)
  box.showModal()
}

// The exports lie below the settings, perhaps in a closed drawer: open both, and keep them in sight while they are built.
function open_exports() {
  const models = [...Bokeh.documents[0]._all_models.values()]
  const card = models.find((m) => m.name === "pmdviz-exports"), frame = models.find((m) => m.data?.sidebar_open !== undefined)
  if (frame) frame.data.sidebar_open = true
  card.collapsed = false
  const view = Bokeh.index.find_one(card), see = () => view.el.scrollIntoView({ block: "start" })
  const grows = new ResizeObserver(see)
  grows.observe(view.el)
  setTimeout(() => grows.disconnect(), 3000)
  view.header_el.focus({ preventScroll: true })
}

export function render({ model }) {
  const title = made("b"), question = made("span"), sentence = made("span"), watch = made("p", { class: "watch" })
  const what = made("button", { type: "button" }, "What is this?")
  const tour = made("button", { type: "button" }, "Tour")
  const present = made("button", { type: "button", class: "present", title: "Presenter mode: large, for a lecture hall (P)" }, "Present")
  const take = made("button", { type: "button", title: "A film, a page, a picture or a table of the run" }, "Export …")
  const leave = made("button", { type: "button", class: "leave", title: "Leave presenter mode (P)" }, "Leave")
  for (const button of [present, leave])  // the key does it: there is one way
    button.addEventListener("click", () => { button.blur(); document.dispatchEvent(new KeyboardEvent("keydown", { key: "p" })) })
  const buttons = made("div", { class: "buttons" }, what, ...(model.tour ? [tour, take, present, leave] : []))
  const why = made("a", { href: model.essay, target: "_blank", rel: "noopener", title: "Inference as descent: an essay with live pictures" }, "Why it works")
  const said = made("p", {}, sentence, ...(model.essay ? [" ", why] : []))
  const heading = made("div", { class: "heading" }, buttons, made("h2", {}, title, " ", question), " ", said, " ", watch)
  const write = () => {
    title.textContent = model.title
    question.textContent = model.question
    sentence.textContent = model.sentence
    watch.textContent = model.watch
    heading.classList.toggle("asked", model.question !== "")
    heading.style.setProperty("--letters", model.title.length + model.question.length + 2)
  }
  what.addEventListener("click", () => what_is_this(model.told, what))
  tour.addEventListener("click", () => take_tour(tour))
  take.addEventListener("click", open_exports)
  for (const name of ["title", "question", "sentence", "watch"]) model.on(name, write)
  write()
  new ResizeObserver(() => { // the stage has what the words leave
    heading.getRootNode().host?.getRootNode().host?.style.setProperty("--heading", `${heading.offsetHeight}px`)
    requestAnimationFrame(fit_figures)
  }).observe(heading)
  return heading
}

// A figure that is being laid out for the first time does not hear that its box has become smaller meanwhile.
function fit_figures() {
  for (const document of globalThis.Bokeh?.documents ?? [])
    for (const one of document._all_models.values())
      if (one.type === "Figure") Bokeh.index.find_one(one)?.invalidate_layout()
}
