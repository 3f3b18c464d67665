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
  const at = e.composedPath()[0]
  const key = KEYS[e.key.length == 1 ? e.key.toLowerCase() : e.key]
  const on_time_line = at?.matches?.(".pmdviz-time") && !e.key.startsWith("Arrow")
  if (!key || !on_time_line && at?.closest?.("input, select, textarea, [contenteditable], [role=slider], [role=option], [role=combobox]")) return
  if (key == "space" && at?.closest?.("button, a")) return
  if (e.repeat && key != "right" && key != "left") return
  e.preventDefault()
  if (key == "?") { help(); return }
  if (key == "T") { a.setv({pointer: !a.pointer}, {sync: false}); return }
  a.setv({key: key, presses: a.presses + 1})
}, {signal})
