// == heading: The words above the picture, and the buttons next to them: what it is, the tour, presenter mode, the exports.
const what_is_this = (told) => open_dialog("pmdviz-what", "What is this?", told.title,
  ...told.sentences.map((sentence) => make("p", {}, sentence)),
  make("p", { class: "formula" }, ...typeset(told.formula)), make("p", {}, `Paper: ${told.source}`))

export function render({ model }) {
  const question = make("h2"), sentence = make("p", { class: "unseen" })  // the verdict says it until the first step
  const heading = make("div", { class: "heading" }, question, sentence)
  const write = () => {
    question.textContent = model.question || model.title
    sentence.textContent = [model.sentence, model.watch].filter(Boolean).join(" ")
    heading.style.setProperty("--letters", question.textContent.length)
  }
  for (const name of ["title", "question", "sentence", "watch"]) model.on(name, write)
  model.on("opens", () => what_is_this(model.told))
  document.addEventListener("pmdviz-help", ({ detail }) => {
    if (heading.isConnected) detail === "tour" ? take_tour() : what_is_this(model.told)
  })
  write()
  new ResizeObserver(() => { // the stage has what the words leave
    const lab = heading.getRootNode().host?.getRootNode(), stage = lab?.querySelector(".pmdviz-stage")
    lab?.host?.style.setProperty("--heading", `${heading.offsetHeight}px`)
    requestAnimationFrame(() => {
      fit_figures()
      const above = stage && getComputedStyle(stage).position === "sticky" ? stage.offsetHeight : 0  // of all that is scrolled
      document.documentElement.style.setProperty("--pmdviz-above", `${above}px`)
    })
  }).observe(heading)
  return heading
}

// A figure that is being laid out for the first time does not notice that its box has become smaller meanwhile.
function fit_figures() {
  for (const document of globalThis.Bokeh?.documents ?? [])
    for (const one of document._all_models.values())
      if (one.type === "Figure") {
        const view = Bokeh.index.find_one(one), picture = view?.canvas_view?.events_el
        if (picture) picture.tabIndex = -1  // a picture with a name; nothing in it takes keys
        view?.invalidate_layout()
      }
}
// == tour: Three things to do with the page's own parts: each step ends when it was done, by hand or by the button.
function move(slider, value) {
  slider.value = value
  for (const name of ["input", "change"]) slider.dispatchEvent(new Event(name, { bubbles: true, composed: true }))
}
const iteration = () => Number(find(".pmdviz-status")?.textContent.match(/iteration ([\d,]+)/)?.[1].replaceAll(",", "") ?? 0)
const STEPS = [  // selector, title, words, what the button does; the last one goes back
  [".pmdviz-play", "Press Play", "Lines: the exact posterior. Dots: the particles. They should come to fill the lines, and TV should fall to 0.",
    (part) => { if (iteration() < 20) part.shadowRoot.querySelector("button").click() }],
  ["#slider-bandwidth", "Drag the bandwidth to an end", "Each particle becomes a narrower or a wider bump. The sentence below the picture says what happened.",
    (part) => move(part, part.max)],
  [".pmdviz-time", "Go back", "Drag the time line to an earlier iteration: particles and settings are again as they were then.",
    (part) => move(part, Math.round(part.value / 2))],
]

function find(selector, root = document) {
  for (const e of root.querySelectorAll("*")) {
    if (e.matches(selector) && e.getClientRects().length) return e
    const found = e.shadowRoot && find(selector, e.shadowRoot)
    if (found) return found
  }
  return null
}

function take_tour() {
  const look = "position:fixed;z-index:1390;border:3px solid #E69F00;border-radius:8px;pointer-events:none"
  const ring = make("div", { style: look }), heading = make("h2")
  const words = make("p", { role: "status", style: "margin:0 0 12px" })
  const act = make("button", { onclick: () => STEPS[at][3](part()) }, "Do it for me")
  const box = dialog_of("pmdviz-tour", "Tour", heading, words, act, " ",
    make("button", { onclick: () => box.close() }, "End the tour")), gone = new AbortController()
  const part = () => find(STEPS[at][0]) ?? find(".brief input[type=range]")
  let at = 0, moved = false
  const place = () => {
    const of = part()?.getBoundingClientRect() ?? { left: 0, top: 0, width: 0, height: 0 }, below = of.top < innerHeight / 2
    Object.assign(ring.style, { left: `${of.left - 4}px`, top: `${of.top - 4}px`, width: `${of.width + 2}px`, height: `${of.height + 2}px` })
    Object.assign(box.style, { left: `${Math.max(8, Math.min(of.left, innerWidth - 376))}px`,
      top: below ? `${of.top + of.height + 16}px` : "auto", bottom: below ? "auto" : `${innerHeight - of.top + 16}px` })
  }
  const show = () => {
    heading.textContent = `${at + 1} of ${STEPS.length}: ${STEPS[at][1]}`
    words.textContent = STEPS[at][2]
    part()?.scrollIntoView({ block: "nearest" })
    place()
    act.focus({ preventScroll: true })
  }
  const next = () => { at += 1; moved = false; if (at < STEPS.length) show(); else box.close() }
  box.onkeydown = (e) => { if (e.key === "Escape") box.close(); e.stopPropagation() }
  const hear = (e) => { if (at > 0 && e.composedPath()[0] === part()) moved = true }
  for (const name of ["change", "input"]) document.addEventListener(name, hear, { capture: true, signal: gone.signal })
  const timer = setInterval(() => { place(); if (at === 0 ? iteration() >= 20 : moved) next() }, 300)
  box.addEventListener("close", () => { ring.remove(); clearInterval(timer); gone.abort() })
  document.body.append(ring, box)
  box.show()
  show()
}
// == tabs: The pages of the app: the first ones as tabs, the others in a menu; arrows go from one to the next.
const IN_SIGHT = 3
export function render({ model }) {
  const press = (e) => { choose(e.target); if (e.detail > 0) e.target.blur() }  // after a mouse, keys are the page's
  const tabs = model.pages.map(([name, title]) =>
    make("button", { name, role: "tab", "data-title": title, onclick: press }, title))
  // Each page has an address, its title, and a place in the browser's history; the lab has the address of its run.
  const first = tabs[0].name, left = {}
  const address = (name) => left[name] ?? (name === first ? location.pathname : `?page=${name}`)
  const named = () => {
    const name = new URLSearchParams(location.search).get("page")
    return tabs.some((tab) => tab.name === name) ? name : first
  }
  let seen = model.active
  const go = (name) => { seen = name; model.active = name }  // to a place that the history has already
  const choose = ({ name }) => { model.active = name }
  const opened = () => {
    if (model.active !== seen) {
      left[seen] = location.search || location.pathname
      seen = model.active
      history.pushState(null, "", window.pmdvizAddress?.(address(seen)) ?? address(seen))  // a lesson stays in it
    }
    show()
  }
  addEventListener("popstate", () => go(named()))
  const show = () => {
    const marked = model.lesson && model.beside.includes(model.active) ? "lessons" : model.active
    for (const made of entries.slice(1)) made.hidden = model.active !== first
    for (const tab of tabs) {
      const active = tab.name === marked
      tab.setAttribute("aria-selected", active)
      tab.tabIndex = active || tabs.indexOf(tab) >= IN_SIGHT ? 0 : -1
      if (active) document.title = `pmdviz: ${tab.dataset.title}`
    }
    const heading = document.querySelector("h1#heading")
    if (heading) heading.textContent = document.title
    note()
  }
  const walk = (e) => {
    const at = tabs.indexOf(e.composedPath()[0]), last = tabs.length - 1
    const to = { ArrowRight: at < last ? at + 1 : 0, ArrowLeft: at > 0 ? at - 1 : last, Home: 0, End: last }[e.key]
    if (at < 0 || to === undefined || e.ctrlKey || e.metaKey || e.altKey) return
    e.preventDefault()
    e.stopPropagation()  // elsewhere on the page arrows are steps of the run
    tabs[to].focus()
    choose(tabs[to])
  }
  const ask = (detail) => document.dispatchEvent(new CustomEvent("pmdviz-help", { detail }))  // the lab opens it
  const entries = [make("button", { onclick: help }, "Help"),
    make("button", { class: "of-lab", onclick: () => ask("what") }, "What is this?"),
    make("button", { class: "of-lab", onclick: () => ask("tour") }, "Tour")]
  const links = model.links.map(([title, href]) => make("a", { href, target: "_blank", rel: "noopener" }, title))
  const twin = (tab) =>  // on a phone, where the first pages are in the menu too
    make("button", { role: "tab", class: "twin", "aria-selected": "false", onclick: () => choose(tab) },
      tab.dataset.title)
  const opener = make("button", { class: "more", "aria-haspopup": "true", "aria-label": "More" }, "More")
  const first_tabs = tabs.slice(0, IN_SIGHT), close = () => others.hidePopover()
  const ontoggle = () => put_beside(others, opener)
  const others = make("div", { role: "tablist", "aria-label": "More pages", popover: "auto", ontoggle, onclick: close },
    ...first_tabs.map(twin), ...tabs.slice(IN_SIGHT), ...links, ...entries)
  opener.popoverTargetElement = others
  const list = make("div", { role: "tablist", "aria-label": "Pages" }, ...first_tabs)
  const note = () => {
    const told = tabs.map((tab) => tab.dataset.title + (model.notes[tab.name] ? ` (${model.notes[tab.name]})` : ""))
    tabs.forEach((tab, k) => { tab.textContent = told[k] })
    const hidden = tabs.flatMap((tab, k) => k >= IN_SIGHT && (model.notes[tab.name] || tab.name === model.active) ? [told[k]] : [])
    opener.textContent = hidden.join(", ") || "More"
  }
  model.on("active", opened)
  model.on("notes", note)
  model.on("lesson", show)
  show()
  go(named())
  return make("div", { class: "pages", onkeydown: walk }, make("b", { class: "brand" }, "pmdviz"), list, opener, others)
}
// == inside: The panel of the lab: it draws what the server computes; a click on the stage selects one.
export function render({ model }) {
  const view = inside_view({ get dark() { return model.dark }, freeze: () => { model.freezes += 1 } })
  const show = () => { if (model.told) view.show(JSON.parse(model.told)) }
  const pick = ({ detail }) => { if (detail.stage === model.stage) view.pick_at(detail.x, detail.y, detail.per) }
  document.addEventListener("pmdviz-pick", pick)
  model.on("told", show)
  model.on("dark", view.draw)
  const into_sight = () => view.root.scrollIntoView({ block: innerWidth > 900 ? "nearest" : "start" })
  model.on("seen", into_sight)
  model.on("remove", () => document.removeEventListener("pmdviz-pick", pick))
  show()
  if (model.seen) requestAnimationFrame(into_sight)
  return view.root
}
// == number: The large number follows the words of the status; nothing of it goes back to the server.
const root = Bokeh.index.find_one(number)?.shadow_el
if (root && a.words && a.numbered !== a.words) {
  a.numbered = a.words
  const shown = JSON.parse(a.words)
  for (const name of ["value", "floor"]) {
    const part = root.querySelector("." + name), words = shown[name] ?? ""
    if (part && part.textContent !== words) part.textContent = words
  }
  number.setv({ text: root.querySelector(".number").outerHTML }, { sync: false, silent: true })
}
// == menu: A button that opens a menu; an entry sends its name. Esc closes it, and so does a press elsewhere.
export function render({ model }) {
  const opener = make("button", { class: "opener", "aria-haspopup": "menu" }, model.label)
  if (model.about) Object.assign(opener, { ariaLabel: model.about, title: model.about })
  const list = make("div", { role: "menu", popover: "auto" })
  const choose = (act) => { list.hidePopover(); opener.focus(); model.send_msg({ act }) }
  const entry = ([act, words, open, low]) => make("button",
    { role: "menuitem", class: low ? "low" : "", "data-act": act, disabled: !open, onclick: () => choose(act) }, words)
  const show = () => list.replaceChildren(...model.entries.map(entry))
  opener.popoverTargetElement = list
  list.addEventListener("toggle", (e) => {
    if (e.newState !== "open") return
    put_beside(list, opener)
    list.querySelector("button:enabled")?.focus()
  })
  list.addEventListener("keydown", (e) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[e.key], all = [...list.querySelectorAll("button:enabled")]
    if (!step) return
    e.preventDefault()
    e.stopPropagation()
    const at = all.indexOf(list.getRootNode().activeElement)
    all[(at + step + all.length) % all.length].focus()
  })
  model.on("entries", show)
  show()
  return make("div", {}, opener, list)
}
// == sheet: The head of a sheet: its title, and Close. An opened sheet takes the focus, and gives it back.
export function render({ model }) {
  const leave = () => { model.send_msg({ act: "close" }); from?.focus?.() }
  const close = make("button", { class: "close", onclick: leave }, "Close")
  const deepest = (root) => root.activeElement?.shadowRoot ? deepest(root.activeElement.shadowRoot) : root.activeElement
  let from = null
  model.on("opened", () => { from = deepest(document); requestAnimationFrame(() => close.focus({ preventScroll: true })) })
  return make("div", { class: "head" }, make("h2", {}, model.title), close)
}
// == gallery: Two chips, and one dialog with all there is to choose: six starters first, presets, targets, methods.
// Signs of families: what moves in them, in a few strokes.
const SIGNS = {
  pmd: "M4 16q4-14 8 0t8 0M7 8h.1M12 19h.1M17 8h.1", stein: "M5 12h5m4 0h5M8 9l-3 3 3 3M16 9l3 3-3 3", smc: "M5 19V9m5 10V5m5 14v-7m5 7v-4",
  annealing: "M4 19h4v-4h4v-4h4V7h4", importance: "M12 19a7 7 0 1 0-.1 0M12 14a2 2 0 1 0-.1 0", mcmc: "M4 16l4-6 3 4 4-8 5 7",
  vi: "M3 19q9-28 18 0", mean_field: "M4 19q4-18 8 0m0 0q4-18 8 0", target: "M12 20a8 8 0 1 0-.1 0M12 16a4 4 0 1 0-.1 0",
}
Object.assign(SIGNS, { nuts: SIGNS.mcmc, npv: SIGNS.vi })
function open_gallery(model, kind) {
  const card = (section) => ([name, title, words, icon]) => {
    const { kind } = section, fits = kind !== "method" || model.fitting.includes(name)
    const onclick = () => { model.send_msg({ kind, name }); box.close() }
    const more = fits ? {} : { disabled: true, title: "It cannot run on this target." }
    return make("button", { class: "card", "data-kind": kind, "data-name": name, onclick, ...more },
      make("span", {}, make("svg", { viewBox: "0 0 24 24", "aria-hidden": "true" },
        make("path", { d: SIGNS[icon] ?? SIGNS.target }))),
      make("span", {}, make("b", {}, title), make("small", {}, words)))
  }
  const parts = model.sections.map((section) => make("section", { "data-kind": section.kind },
    make("h3", {}, section.title), make("div", { class: "cards" }, ...section.items.map(card(section)))))
  const title = "Choose a problem and a method", box = open_dialog("pmdviz-gallery", title, title, ...parts)
  box.querySelector(`section[data-kind="${kind}"]`)?.scrollIntoView({ block: "start" })
}
export function render({ model }) {
  const chip = (kind, name, title) => {
    const part = make("button", { class: "chip", "aria-haspopup": "dialog", onclick: () => open_gallery(model, kind) })
    const show = () => Object.assign(part, { textContent: `${model[name]} ▾`, ariaLabel: `${title}: ${model[name]}` })
    model.on(name, show)
    return show()
  }
  return make("div", { class: "chips" }, chip("preset", "problem", "Problem"), chip("method", "method", "Method"))
}
// == export_cards: Pictures of what a file can be; radio buttons, so arrow keys go from one to the next.
const SKETCHES = { Film: "M4 8h40v24H4zM10 8v24M38 8v24M20 15l10 5-10 5z", "Page that plays": "M6 4h36v32H6zM6 11h36M19 17l10 6-10 6z",
  "Page that runs the method": "M6 4h36v32H6zM6 11h36M12 17h24M12 24h24M12 31h24M18 15v4M28 22v4M22 29v4",
  Picture: "M6 6h36v28H6zM6 30l11-12 8 8 6-5 11 9M33 12h.1", Data: "M6 6h36v28H6zM6 14h36M6 24h36M18 6v28M30 6v28" }
export function render({ model }) {
  const root = make("div", { class: "cards", role: "radiogroup", "aria-label": "What to save" })
  const card = ([name, kinds]) => {
    const choose = () => model.send_msg({ card: name })
    const input = make("input", { type: "radio", name: "card", value: name, "aria-label": name, onchange: choose })
    const sketch = make("svg", { viewBox: "0 0 48 40", "aria-hidden": "true" }, make("path", { d: SKETCHES[name] }))
    return make("label", {}, input, make("span", {}, sketch), make("b", {}, name), make("small", {}, kinds))
  }
  const show = () => { for (const input of root.querySelectorAll("input")) input.checked = input.value === model.chosen }
  const draw = () => { root.replaceChildren(...model.cards.map(card)); show() }
  model.on("cards", draw)
  model.on("chosen", show)
  draw()
  return root
}
// == explain: Explanations of knobs and of the glossary's words; made once per page, and shared by all who write words.
const explanations = (window.pmdvizExplanations ??= (() => {
  const glossary = GLOSSARY
  const keys = Object.fromEntries(Object.entries(glossary).flatMap(([key, term]) => term.forms.map((form) => [form, key])))
  const pattern = new RegExp(`\\b(${Object.keys(keys).sort((a, b) => b.length - a.length).join("|")})\\b`)
  const box = make("div", { class: "pmdviz-explain", role: "dialog", tabindex: -1, popover: "auto" })
  let anchor = null, pressed = null  // the button that it explains; the same one while a press on it closes the box
  document.body.append(box)

  const button = (words) => make("button",
    { class: "pmdviz-term", "data-term": keys[words], "aria-haspopup": "dialog" }, words)

  // Write a text whose words of the glossary are buttons; while they stay the same, only the text between them changes.
  function write(at, text) {
    const parts = text.split(pattern), words = parts.filter((_, k) => k % 2).join("|")
    if (at.pmdvizWords === words)
      parts.forEach((part, k) => { if (k % 2 === 0 && at.childNodes[k].data !== part) at.childNodes[k].data = part })
    else {
      at.pmdvizWords = words
      at.replaceChildren(...parts.map((part, k) => (k % 2 ? button(part) : document.createTextNode(part))))
    }
    return at
  }
  const is_open = () => box.matches(":popover-open")
  function open(from, title, lines, last) {
    const again = from === pressed || from === anchor && is_open() && box.ariaLabel === title
    pressed = null
    box.hidePopover()
    if (again || !from.isConnected) return
    anchor = from
    box.ariaLabel = title
    box.classList.toggle("dark", has_light_words(from))  // a page's theme, or a notebook's
    box.replaceChildren(make("style", {}, STYLE), make("b", {}, title),
      ...lines.filter(Boolean).map((line) => write(make("p"), line)), ...(last ? [make("p", { class: "last" }, last)] : []))
    box.showPopover()
    put_beside(box, anchor)
    box.focus({ preventScroll: true })
  }
  document.addEventListener("click", (e) => {
    const from = e.composedPath()[0], term = glossary[from?.dataset?.term]
    if (term) open(box.contains(from) ? anchor : from, term.title, [term.meaning, term.formula], `More: ${term.page}`)
  })
  document.addEventListener("pointerdown", (e) => { pressed = is_open() && e.composedPath().includes(anchor) ? anchor : null }, true)
  box.addEventListener("beforetoggle", (e) => anchor.setAttribute("aria-expanded", e.newState === "open"))
  return { write, open }
})())
// == frame: Once the document is there.
// Models that the server sent must not be sent back. BokehJS 3.10 would send them back whole with the next message, and fails on
// components that cannot be written out: their own message would be lost; the server names its models "p" and a number.
{
  const doc = Bokeh.documents[0], made = doc.create_json_patch
  doc.create_json_patch = function (events) {
    for (const model of this._new_models ?? []) if (/^p\d+$/.test(model.id)) this._new_models.delete(model)
    return made.call(this, events)
  }
}
// The page's frame, once it is there: the system's theme or the one that was chosen last.
const page = [...Bokeh.documents[0]._all_models.values()].find((m) => m.data?.dark_theme !== undefined)
if (page) {
  const KEY = "pmdviz-theme", system = matchMedia("(prefers-color-scheme: dark)")
  const kept = () => { try { return localStorage.getItem(KEY) } catch { return null } }
  const wanted = () => kept() === null ? system.matches : kept() === "dark"
  // For the colours of what stands outside the frame's own root; the root's classes are the frame's, and stay as they were.
  const tell = () => { document.documentElement.dataset.pmdviz = page.data.dark_theme ? "dark" : "light" }
  const put = () => { if (page.data.dark_theme !== wanted()) page.data.dark_theme = wanted() }
  page.data.properties.dark_theme.change.connect(() => {
    tell()
    if (page.data.dark_theme === wanted()) return  // else it was the button: a theme that the page chose by itself stays
    try { localStorage.setItem(KEY, page.data.dark_theme ? "dark" : "light") } catch { /* storage is disabled */ }
  })
  system.addEventListener("change", put)
  if (!new URLSearchParams(location.search).has("theme")) put()
  tell()
}
