// == ears
const s = a.sent
requestAnimationFrame(() => setTimeout(() => { if (s > a.drawn) a.drawn = s }, 0))
if (a.has_ears) return
a.has_ears = true
a.silence = new AbortController() // a notebook's cell may go while the page stays
const {signal} = a.silence
const look = () => { a.hidden = document.hidden }
document.addEventListener("visibilitychange", look, {signal})
look()
const KEYS = {" ": "space", ArrowRight: "right", ArrowLeft: "left", r: "R", n: "N", p: "P", i: "I", t: "T", "?": "?", Escape: "Esc"}
document.addEventListener("keydown", (e) => {
  if (!a.keyboard || e.ctrlKey || e.metaKey || e.altKey || document.querySelector("dialog[open]")) return
  if (e.key === "Escape" && document.querySelector(":popover-open")) return  // it closes an explanation
  const at = e.composedPath()[0], key = KEYS[e.key.length == 1 ? e.key.toLowerCase() : e.key]
  const on_time_line = at?.matches?.(".pmdviz-time") && !e.key.startsWith("Arrow")
  if (!key || !on_time_line && at?.closest?.("input, select, textarea, [contenteditable], [role=slider], [role=option], [role=combobox]")) return
  if (key == "space" && at?.closest?.("button, a")) return
  if (e.repeat && key != "right" && key != "left") return
  e.preventDefault()
  if (key == "?") { help(); return }
  if (key == "T") { a.setv({pointer: !a.pointer}, {sync: false}); return }
  a.setv({key: key, presses: a.presses + 1})
}, {signal})
// == help
const words = make("div")
words.innerHTML = `<table>
  <tr><td><kbd>space</kbd></td><td>play or pause; at the end play again</td></tr>
  <tr><td><kbd>→</kbd> <kbd>←</kbd></td><td>one step, one step back</td></tr>
  <tr><td><kbd>R</kbd></td><td>restart with the current settings</td></tr>
  <tr><td><kbd>N</kbd></td><td>new seed</td></tr>
  <tr><td><kbd>I</kbd></td><td>inside this step: what each term of the update does</td></tr>
  <tr><td><kbd>Esc</kbd></td><td>cancel a long computation</td></tr>
  <tr><td><kbd>P</kbd></td><td>presenter mode: large letters, and only question, pictures, sliders and Play</td></tr>
  <tr><td><kbd>T</kbd></td><td>say the coordinates of θ at the mouse, in large letters</td></tr>
  <tr><td><kbd>a</kbd> to <kbd>h</kbd></td><td>in a lesson: choose an answer; a digit begins a number</td></tr>
  <tr><td><kbd>L</kbd></td><td>leave the lesson; the earlier run is shown again</td></tr>
  <tr><td><kbd>PgDn</kbd> <kbd>PgUp</kbd></td><td>in presenter mode: the next part of a lesson's step, and the part before; while the run plays, the next part waits</td></tr>
  <tr><td><kbd>?</kbd></td><td>this help</td></tr></table>
  <h3>What is drawn</h3>
  <p>Solid lines: the exact posterior. Dashed lines: the approximation. Each is drawn as the regions of highest density
  that hold 50, 80 and 95 % of its own mass (in one dimension as a curve). Shades: how high the approximation is.
  Dotted: the prior. Curves along the edges: each coordinate alone. Dots: particles, their area proportional to their weight. Drag to pan, Ctrl and the wheel to zoom; "Reset view", among all settings, restores the view.</p>
  <p>TV (total variation) ranges from 0 (identical) to 1 (no overlap). "Independent draws": the TV you would get with the same
  number of draws from the exact posterior, drawn the same way as the method's own particles.</p>
  <h3>Back in time</h3>
  <p>Drag the bar under the pictures, or click on the traces, to go to any iteration of the run. A setting changed there
  begins a branch, and the run as it was stays in grey: keep the branch, swap the two, or drop it.</p>`
open_dialog("pmdviz-help-dialog", "Help", "Keys", words)
// == glide: Move the dots of a source to where the new frame has them; at once on Pause.
const put = (source, data) => source.move ? source.move(data) : source.setv({data}, {sync: false, check_eq: false})
const land = (source, data) => { source.flight = null; put(source, data) }
const glide = (source, data, origin) => {
  if (a.glide <= 0 || document.hidden || matchMedia("(prefers-reduced-motion: reduce)").matches) return land(source, data)
  const start = starts(source.now ?? source.data, data, origin), began = performance.now(), flight = source.flight = {}
  const move = () => {
    if (source.flight !== flight) return
    const t = a.glide > 0 ? Math.min(1, (performance.now() - began) / a.glide) : 1
    if (t >= 1) return land(source, data)
    put(source, on_the_way(start, data, t))
    requestAnimationFrame(move)
  }
  move()
}
// == unpack: Take the columns of a frame out of one run of bytes; nothing of it goes back to the server.
if (a.parcel > 0) {
  const p = a.packed, bytes = ArrayBuffer.isView(p) ? p.buffer.slice(p.byteOffset, p.byteOffset + p.byteLength) : p
  for (const [k, columns] of JSON.parse(a.layout)) {
    const data = {}
    for (const [name, start, length] of columns) data[name] = new Float32Array(bytes, 4 * start, length)
    const {origin, ...own} = data
    if (origin) glide(sources[k], own, origin); else land(sources[k], own)
  }
}
// == timeline: A range over the bar of the budget, to any iteration so far; the marks above it are read out.
const THUMB = 8, MARK_Y = 4, NEAR = 5, PATIENCE_MS = 2000
const time = a.time ??= {asked: null, held: false, until: 0, width: 0, w: {}}
const SHAPES = {
  triangle: "m0 -3.5l3.5 7h-7z", inverted_triangle: "m0 3.5l3.5 -7h-7z", diamond: "m0 -4l3 4l-3 4l-3 -4z",
  asterisk: "m-0.7 -4h1.4v8h-1.4z m-3.3 3.3h8v1.4h-8z", circle: "m-3 0a3 3 0 1 0 6 0a3 3 0 1 0 -6 0z",
}
const said = (n) => {
  const {iteration, text} = marks.data, there = [...iteration].flatMap((at, k) => at === n ? [text[k]] : [])
  return there.map((words) => words.replace(/^iteration [\d,]+: /, "")).join("; ")
}
const put_attribute = (part, name, value) => { if (part.getAttribute(name) !== `${value}`) part.setAttribute(name,
  value) }
const tell = (input, n, place) => put_attribute(input, "aria-valuetext", [place, said(n)].filter(Boolean).join(": "))

// The iteration that a user drags to stays under the pointer until it is shown, or is given up.
function go(input, exactly) {
  const n = Math.min(input.valueAsNumber, time.w.last)
  input.value = n
  Object.assign(time, {asked: n, until: performance.now() + PATIENCE_MS})
  tell(input, n, `${time.w.counts} ${n.toLocaleString("en")} of ${time.w.last.toLocaleString("en")}`)
  a.setv({place: n, exactly, places: a.places + 1})
}

function name_under(input, e) {
  const x = e.offsetX, span = (time.width - THUMB) / time.w.end, n = Math.round((x - THUMB / 2) / span)
  const near = [...marks.data.iteration].filter((at) => Math.abs(THUMB / 2 + at * span - x) < NEAR)
  const found = near.length ? near.reduce((one, two) => Math.abs(two - n) < Math.abs(one - n) ? two : one) : n
  const at = Math.max(0, Math.min(found, time.w.last))
  input.title = [`${time.w.counts} ${at.toLocaleString("en")}`, said(at)].filter(Boolean).join(": ")
}

function listen(root, input) {
  input.pmdviz = true
  input.addEventListener("input", () => go(input, false))
  input.addEventListener("change", () => go(input, true))
  input.addEventListener("pointerdown", () => { time.held = true })
  for (const name of ["pointerup", "pointercancel", "blur"]) input.addEventListener(name, () => { time.held = false })
  input.addEventListener("pointermove", (e) => name_under(input, e))
  new ResizeObserver(() => { time.width = input.clientWidth; draw_marks(root) }).observe(input)
  for (const button of root.querySelectorAll(".past button"))
    button.addEventListener("click", () => a.setv({key: button.dataset.act, presses: a.presses + 1}))
}

function draw_marks(root) {
  const {iteration, marker} = marks.data, path = root.querySelector(".time path")
  if (!path || !(time.width > THUMB)) return
  const at = (k) => (THUMB / 2 + iteration[k] * (time.width - THUMB) / time.w.end).toFixed(1)
  const drawn = [...marker].map((name, k) => `M${at(k)} ${MARK_Y}${SHAPES[name] ?? SHAPES.circle}`).join("")
  put_attribute(path, "d", drawn)
  time.drawn = [marks.data, time.w.end, time.width, path]
}

function show_time(root, w) {
  const input = root.querySelector(".pmdviz-time")
  if (!input || !marks) return
  time.w = w
  if (!input.pmdviz) listen(root, input)
  if (time.asked === w.at || performance.now() > time.until) time.asked = null
  put_attribute(input, "max", w.end)
  put_attribute(input, "aria-label", w.counts[0].toUpperCase() + w.counts.slice(1))
  if (!time.held && time.asked === null) {
    input.value = w.at
    input.setAttribute("value", w.at)  // what the panel is rendered again from
    tell(input, w.at, w.place)
  }
  root.querySelector(".ran").style.backgroundSize = (100 * w.last / w.end).toFixed(2) + "% 100%"
  const now = [marks.data, w.end, time.width, root.querySelector(".time path")]
  if (!time.drawn || now.some((one, k) => one !== time.drawn[k])) draw_marks(root)
  for (const button of root.querySelectorAll(".past button")) button.hidden = w.branch === (button.dataset.act === "what_if")
}
// == words: Write the state into the status panel; only changed elements are touched, so nothing is laid out again. The model of
// this side takes the words too, in silence: a new class or stylesheet has the panel rendered again from its text.
const seen = a.seen ??= {}  // a search through all views costs more than the words
if (!seen.root?.isConnected) {
  seen.root = Bokeh.index.find_one(status)?.shadow_el
  seen.picture = Bokeh.index.find_one(figure)?.canvas_view.events_el
  seen.words = ""
}
const root = seen.root
if (root && a.words !== seen.words) {
  seen.words = a.words
  const w = JSON.parse(a.words)
  // While it plays the words are plain: a button among numbers that change would move at every frame.
  const put = (name, text) => {
    const e = root.querySelector(name)
    if (e && w.live !== "off") explanations.write(e, text)
    else if (e && e.textContent !== text) Object.assign(e, { textContent: text, pmdvizWords: undefined })
  }
  for (const name of ["pmdviz-status", "passes", "step", "more"]) put("." + name, w[name])
  root.querySelector(".pmdviz-status").setAttribute("aria-live", w.live)
  const bar = root.querySelector(".bar")
  bar.setAttribute("aria-valuenow", Math.round(w.share))
  bar.setAttribute("aria-valuetext", w.of)
  const picture = seen.picture ??= Bokeh.index.find_one(figure)?.canvas_view.events_el
  if (picture) {  // the text alternative follows the run
    picture.dataset.now = w["pmdviz-status"]
    picture.setAttribute("aria-label", [picture.dataset.what, w["pmdviz-status"]].filter(Boolean).join(". "))
  }
  root.querySelector(".fill").style.width = (100 * w.at / w.end).toFixed(2) + "%"
  show_time(root, w)
  status.setv({text: root.querySelector(".grid").outerHTML}, {sync: false, silent: true})
}
// == copy
const shared = (query) => query.startsWith("?lesson=") ? query : window.pmdvizAddress?.(query, true) ?? query  // the link of an attempt is whole
const mine = a.copies, text = a.text.startsWith("?") ? new URL(shared(a.text), window.location.href).href : a.text
if (a.text.startsWith("?")) a.address = text
const by_hand = () => {
  const box = Object.assign(document.createElement("textarea"), { value: text, style: "position:fixed;opacity:0" })
  document.body.append(box)
  box.select()
  let good = false
  try { good = document.execCommand("copy") } catch (e) {}
  box.remove()
  if (good) a.copied = mine; else a.refused = mine
}
if (navigator.clipboard && window.isSecureContext)
  navigator.clipboard.writeText(text).then(() => { a.copied = mine }, by_hand)
else by_hand()
// == link: A reload, or a bookmark, brings back the picture; in a notebook the address is not ours.
if (a.keyboard) {
  const address = a.link || window.location.pathname
  history.replaceState(history.state, "", window.pmdvizAddress?.(address) ?? address)
}
// == pointer: Where the mouse is over the stage, in large letters next to it and in the names of its axes: for a lecture hall, or by T.
const box = figure.pmdvizPointer ??= (() => {
  const style = "position:fixed;z-index:1300;pointer-events:none;padding:4px 12px;border-radius:6px;white-space:nowrap;" +
    "font:600 clamp(20px,2vw,32px)/1.3 Roboto,system-ui,sans-serif;font-variant-numeric:tabular-nums;border:1px solid #8a8a8a"
  return document.body.appendChild(make("div", { class: "pmdviz-pointer", "aria-hidden": "true", style }))
})()
const on = a.presenter !== a.pointer && cb_obj.event_name === "mousemove" && a.keyboard
box.hidden = !on
if (on) {
  const name = (axis) => axis[0]?.axis_label || ""
  const digits = (range) => Math.max(0, Math.min(6, 2 - Math.floor(Math.log10(Math.abs(range.end - range.start) || 1))))
  const words = [[figure.below, figure.x_range, cb_obj.x], [figure.left, figure.y_range, cb_obj.y]]
    .filter(([axis]) => name(axis))
    .map(([axis, range, at]) => `${name(axis)} = ${at.toFixed(digits(range)).replace("-", "−")}`)
  box.textContent = words.join(", ")
  box.hidden = !words.length
  const dark = document.documentElement.dataset.pmdviz === "dark"
  Object.assign(box.style, { color: dark ? "#f2f2f2" : "#1a1a1a", background: dark ? "#1e1e1e" : "#ffffff" })
  const at = Bokeh.index.find_one(figure)?.canvas_view.events_el.getBoundingClientRect()
  if (at) {
    box.style.left = `${Math.max(8, Math.min(at.left + cb_obj.sx + 18, innerWidth - box.offsetWidth - 8))}px`
    box.style.top = `${Math.max(8, at.top + cb_obj.sy - 48)}px`
  }
}
// == save_png: The page has a legend of its own, the file needs the figure's.
const view = Bokeh.index.find_one(stage), legend = stage.above.find((model) => model.type === "Legend")
const show = (items) => legend.setv({items, visible: items.length > 0}, {sync: false})
show(legend.tags)
requestAnimationFrame(() => requestAnimationFrame(() => view.export("png").canvas.toBlob((blob) => {  // once it is laid out
  show([])
  download(blob, "pmdviz-stage.png")
})))
// == lost: The server or the network is gone: a message over the page offers to open it again once the server answers.
if (!document.querySelector(".pmdviz-lost")) {
  const open = () => { // while a run plays the address is updated rarely: open the iteration on the screen
    const url = new URL(location)
    const seen = Bokeh.documents[0].get_model_by_name("acknowledge")?.words.match(/iteration ([\d,]+)/)
    if (seen && url.searchParams.has("run")) {
      url.searchParams.set("at", seen[1].replaceAll(",", ""))
      url.searchParams.delete("frame")
      history.replaceState(null, "", url)
    }
    location.reload()
  }
  const look = "min-height:40px;padding:0 16px;font:inherit;border-radius:4px;border:1px solid #fff;background:#fff;color:#b00020"
  const again = make("button", { disabled: true, onclick: open, style: look }, "Waiting for the server …")
  const style = `position:fixed;top:0;left:0;right:0;z-index:99999;padding:10px 16px;display:flex;gap:16px;
    align-items:center;justify-content:center;background:#b00020;color:#fff;font:16px/1.4 system-ui,sans-serif`
  document.body.append(make("div", { class: "pmdviz-lost", role: "alert", style },
    make("span", {}, "The connection to the server was lost. The run is paused at this frame."), again))
  const ask = () => fetch("static/js/bokeh.min.js", { method: "HEAD", cache: "no-store" }).then((answer) => {
    if (!answer.ok) throw new Error()
    Object.assign(again, { textContent: "Open again", disabled: false })
  }).catch(() => setTimeout(ask, 1000))
  ask()
}
