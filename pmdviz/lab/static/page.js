// == heading: The words above the picture, and the buttons beside them: what it is, the tour, presenter mode, the exports.
// Colours for what stands in the page itself, outside all shadow roots: light words are those of a dark theme.
function colours(from) {
  const dark = Number(getComputedStyle(from).color.match(/\d+/)[0]) > 128
  return `color:${dark ? "#f2f2f2" : "#1a1a1a"};background:${dark ? "#1e1e1e" : "#ffffff"};border:1px solid #8a8a8a;color-scheme:${dark ? "dark" : "light"};`
}

// "q_{t+1}^2" with what is below and above the line set so.
function formula(text) {
  const parts = text.split(/([_^](?:\{[^}]*\}|\S))/)
  return parts.map((part, k) => k % 2 ? make(part[0] === "_" ? "sub" : "sup", {}, part.slice(1).replace(/[{}]/g, "")) : part)
}

function what_is_this(told, from) {
  const close = make("button", { autofocus: "", style: "min-height:40px;padding:0 16px;font:inherit" }, "Close")
  const box = make("dialog", { class: "pmdviz-what", "aria-label": "What is this?" },
    make("h2", { style: "font-size:22px" }, told.title),
    ...told.sentences.map((sentence) => make("p", {}, sentence)),
    make("p", { style: "font-family:serif;font-size:18px;font-style:italic" }, ...formula(told.formula)),
    make("p", { style: "font-size:14px" }, `Paper: ${told.source}`),
    make("form", { method: "dialog" }, close))
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
  const title = make("b"), question = make("span"), sentence = make("span"), watch = make("p", { class: "watch" })
  const what = make("button", { type: "button" }, "What is this?")
  const tour = make("button", { type: "button" }, "Tour")
  const present = make("button", { type: "button", class: "present", title: "Presenter mode: large, for a lecture hall (P)" }, "Present")
  const take = make("button", { type: "button", title: "A film, a page, a picture or a table of the run" }, "Export …")
  const leave = make("button", { type: "button", class: "leave", title: "Leave presenter mode (P)" }, "Leave")
  for (const button of [present, leave])  // the key does it: there is one way
    button.addEventListener("click", () => { button.blur(); document.dispatchEvent(new KeyboardEvent("keydown", { key: "p" })) })
  const buttons = make("div", { class: "buttons" }, what, ...(model.tour ? [tour, take, present, leave] : []))
  const why = make("a", { href: model.essay, target: "_blank", rel: "noopener", title: "Inference as descent: an essay with live pictures" }, "Why it works")
  const said = make("p", {}, sentence, ...(model.essay ? [" ", why] : []))
  const heading = make("div", { class: "heading" }, buttons, make("h2", {}, title, " ", question), " ", said, " ", watch)
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
// == tour: A tour of four steps made of the page's own parts; a part that is out of sight says where it is.
const STEPS = [
  [".pmdviz-stage", "The picture", "Lines: the exact posterior. Dots: what the method has so far. It should come to fill the lines."],
  [".pmdviz-play", "Play", "Press it, or the space bar. Step shows one iteration, Back takes it back; the bar under the pictures goes to any of them."],
  [".pmdviz-setup", "Settings", "Change one while it runs and watch what breaks. The presets at the top ask a question each.",
    "They are behind the menu button at the top left."],
  [".pmdviz-traces", "The score", "TV is the distance from the exact posterior, from 1 (no overlap) to 0 (identical). Watch it fall.",
    "Scroll down to it."],
]

function in_sight(selector, root = document) {
  for (const e of root.querySelectorAll("*")) {
    if (e.matches(selector)) {
      const { width, height, left, top } = e.getBoundingClientRect()
      if (width && height && left > -width && top < innerHeight) return e
    }
    const found = e.shadowRoot && in_sight(selector, e.shadowRoot)
    if (found) return found
  }
  return null
}

function take_tour(from, at = 0) {
  const ring = make("div"), heading = make("h2", { style: "margin:0 0 4px;font-size:18px" }), words = make("p", { style: "margin:0 0 12px" })
  const next = make("button", { type: "button" }), end = make("button", { type: "button" }, "End the tour")
  const box = make("dialog", { class: "pmdviz-tour", "aria-label": "Tour" }, heading, words, next, " ", end)
  ring.style.cssText = "position:fixed;z-index:1390;border:3px solid #E69F00;border-radius:8px;box-shadow:0 0 0 200vmax #0007;pointer-events:none"
  for (const button of [next, end])
    button.style.cssText = "font:500 15px system-ui,sans-serif;min-height:40px;padding:0 16px;color:inherit;background:none;border:1px solid currentColor;border-radius:6px"
  const show = () => {
    const [selector, title, text, elsewhere] = STEPS[at], part = in_sight(selector)
    const of = part ? part.getBoundingClientRect() : { left: 0, top: 0, width: 0, height: 0 }
    Object.assign(ring.style, { left: `${of.left}px`, top: `${of.top}px`, width: `${of.width}px`, height: `${of.height}px` })
    heading.textContent = `${at + 1} of ${STEPS.length}: ${title}`
    words.textContent = part || !elsewhere ? text : `${text} ${elsewhere}`
    next.textContent = at + 1 < STEPS.length ? "Next" : "Done"
    const below = of.top + of.height / 2 < innerHeight / 2, beside = of.left + of.width + 380 < innerWidth && of.height > innerHeight / 3
    Object.assign(box.style, { left: `${Math.max(8, Math.min(beside ? of.left + of.width + 12 : of.left, innerWidth - 368))}px`,
      top: beside ? `${Math.max(8, of.top)}px` : below ? "auto" : "80px", bottom: !beside && below ? "80px" : "auto" })
  }
  box.style.cssText = colours(from) + "position:fixed;margin:0;z-index:1400;width:min(360px,calc(100vw - 16px));box-sizing:border-box;padding:16px;border-radius:8px;font:15px/1.45 Roboto,system-ui,sans-serif"
  next.addEventListener("click", () => { at += 1; if (at < STEPS.length) show(); else box.close() })
  end.addEventListener("click", () => box.close())
  box.addEventListener("close", () => { box.remove(); ring.remove(); removeEventListener("resize", show) })
  addEventListener("resize", show)
  document.body.append(ring, box)
  box.showModal()
  show()
  next.focus()
}
// == tabs: The pages of the app as tabs: one is active, arrows go from one to the next.
export function render({ model }) {
  const bar = make("div", { role: "tablist", "aria-label": "Pages" })
  const tabs = model.pages.map(([name, title]) => {
    const tab = make("button", { type: "button", name, role: "tab", "data-title": title }, title)
    tab.addEventListener("click", (e) => { choose(tab); if (e.detail > 0) tab.blur() })  // after a mouse, keys are the page's
    return tab
  })
  // Each page has an address, its title, and a place in the browser's history; the lab's is that of its run.
  const first = tabs[0].name, left = {}
  const address = (name) => left[name] ?? (name === first ? location.pathname : `?page=${name}`)
  const named = () => {
    const name = new URLSearchParams(location.search).get("page")
    return tabs.some((tab) => tab.name === name) ? name : first
  }
  let seen = model.active
  const go = (name) => { if (name !== model.active) { seen = name; model.active = name; show() } }
  const leave = (page, next) => {
    left[page] = location.search || location.pathname
    history.pushState(null, "", window.pmdvizAddress?.(address(next)) ?? address(next))  // a lesson stays in it
  }
  const choose = (tab) => {
    if (tab.name === model.active) return
    leave(model.active, tab.name)
    go(tab.name)
  }
  const opened = () => {  // by a page, and not by a click on a tab
    if (model.active === seen) return
    leave(seen, model.active)
    seen = model.active
  }
  addEventListener("popstate", () => go(named()))
  const show = () => {
    for (const tab of tabs) {
      const active = tab.name === model.active
      tab.setAttribute("aria-selected", active)
      tab.tabIndex = active ? 0 : -1
      if (active) document.title = `pmdviz: ${tab.dataset.title}`
    }
    const heading = document.querySelector("h1#heading")
    if (heading) heading.textContent = document.title
  }
  bar.addEventListener("keydown", (e) => {
    const at = tabs.indexOf(e.composedPath()[0]), last = tabs.length - 1
    const to = { ArrowRight: at < last ? at + 1 : 0, ArrowLeft: at > 0 ? at - 1 : last, Home: 0, End: last }[e.key]
    if (at < 0 || to === undefined || e.ctrlKey || e.metaKey || e.altKey) return
    e.preventDefault()
    e.stopPropagation()  // elsewhere on the page arrows are steps of the run
    tabs[to].focus()
    choose(tabs[to])
  })
  bar.append(...tabs)
  const note = () => tabs.forEach((tab, k) => {
    const words = model.notes[tab.name]
    tab.textContent = model.pages[k][1] + (words ? ` (${words})` : "")
  })
  model.on("active", () => { opened(); show() })
  model.on("notes", note)
  show()
  note()
  go(named())
  return bar
}
// == sections: The headings of a long page: a click in the contents, or the link that the page came by, goes to one of them.
const EVENT = "pmdviz-section"
export function render({ model }) {
  if (model.places.length) return contents(model)
  const heading = make("h2", { tabindex: -1 }, model.title)
  window.addEventListener(EVENT, (e) => {
    if (e.detail !== model.key || !heading.isConnected) return
    heading.scrollIntoView({ block: "start" })
    heading.focus({ preventScroll: true })
  })
  if (model.opened) stay(heading)
  model.on("opened", () => { if (model.opened) stay(heading) })
  return heading
}
// What stands above it is still being laid out: the place is kept for a while, unless somebody does something.
function stay(heading) {
  const done = new AbortController()
  const go = () => { if (heading.isConnected && !done.signal.aborted) heading.scrollIntoView({ block: "start" }) }
  for (const kind of ["wheel", "touchstart", "keydown", "pointerdown"])
    addEventListener(kind, () => done.abort(), { signal: done.signal, capture: true })
  requestAnimationFrame(go)
  const timer = setInterval(go, 100)
  done.signal.addEventListener("abort", () => clearInterval(timer))
  setTimeout(() => done.abort(), 3000)
}
function contents(model) {
  const nav = make("nav", { "aria-label": "On this page" })
  for (const [key, title] of model.places) {
    const link = make("a", { href: "#" }, title)
    link.addEventListener("click", (e) => {
      e.preventDefault() // the address is that of what is chosen
      window.dispatchEvent(new CustomEvent(EVENT, { detail: key }))
    })
    nav.append(link)
  }
  return nav
}
// == inside: The panel of the lab: what the server computes is drawn, a click on the stage picks a particle.
export function render({ model }) {
  const view = inside_view({ get dark() { return model.dark }, freeze: () => { model.freezes += 1 } })
  const show = () => { if (model.told) view.show(JSON.parse(model.told)) }
  const pick = ({ detail }) => { if (detail.stage === model.stage) view.pick_at(detail.x, detail.y, detail.per) }
  document.addEventListener("pmdviz-pick", pick)
  model.on("told", show)
  model.on("dark", view.draw)
  model.on("seen", () => view.root.scrollIntoView({ block: "nearest" }))
  model.on("remove", () => document.removeEventListener("pmdviz-pick", pick))
  show()
  if (model.seen) requestAnimationFrame(() => view.root.scrollIntoView({ block: "nearest" }))
  return view.root
}
