// The time line: a range over the bar of the budget. It goes to any iteration of the run so far, by pointer, finger and
// keyboard; the marks of the traces stand above it, and are read out where they are.
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
const place_at = (n) => `iteration ${n.toLocaleString("en")} of ${time.w.last.toLocaleString("en")}`
const tell = (input, n, place) => {
  const words = [place, said(n)].filter(Boolean).join(": ")
  if (input.getAttribute("aria-valuetext") !== words) input.setAttribute("aria-valuetext", words)
}

// What a person asks for stays under their finger until it is shown, or is given up.
function go(input, exactly) {
  const n = Math.min(input.valueAsNumber, time.w.last)
  input.value = n
  Object.assign(time, {asked: n, until: performance.now() + PATIENCE_MS})
  tell(input, n, place_at(n))
  a.setv({place: n, exactly, places: a.places + 1})
}

function name_under(input, e) {
  const x = e.offsetX, span = (time.width - THUMB) / time.w.end, n = Math.round((x - THUMB / 2) / span)
  const near = [...marks.data.iteration].filter((at) => Math.abs(THUMB / 2 + at * span - x) < NEAR)
  const found = near.length ? near.reduce((one, two) => Math.abs(two - n) < Math.abs(one - n) ? two : one) : n
  const at = Math.max(0, Math.min(found, time.w.last))
  input.title = [`iteration ${at.toLocaleString("en")}`, said(at)].filter(Boolean).join(": ")
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
  if (path.getAttribute("d") !== drawn) path.setAttribute("d", drawn)
  time.drawn = [marks.data, time.w.end, time.width, path]
}

function show_time(root, w) {
  const input = root.querySelector(".pmdviz-time")
  if (!input || !marks) return
  time.w = w
  if (!input.pmdviz) listen(root, input)
  if (time.asked === w.at || performance.now() > time.until) time.asked = null
  if (input.getAttribute("max") !== String(w.end)) input.setAttribute("max", w.end)
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
