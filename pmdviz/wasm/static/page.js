// The live page. First a run on it: its worker, its pictures, its words.

const find = (id) => document.getElementById(id)
const option = (value, words = value) => make("option", {value}, words)
const whole = (value) => Math.round(value).toLocaleString("en-US")
const digits = (value) => value >= 0.0995 ? value.toPrecision(3) : value.toFixed(3)
const given = JSON.parse(find("lab").textContent)
const compiled = unpacked(bytes_of(given.module), "deflate").arrayBuffer().then(WebAssembly.compile)  // while the page is laid out
const driver = URL.createObjectURL(new Blob([find("driver").textContent], {type: "text/javascript"}))
const runs = []  // one, or two that are compared
let lab = null  // the run on show: its entry in `given`, with its target
let module = null, spare = new Worker(driver), playing = false, wanted = false
const BORDER = {left: 58, right: 26, top: 6, bottom: 42}  // px around the axes; a legend makes its own room
const LONGEST_MS = 250  // duration of the dots' motion between two frames
const LONGER = 1.6, FADING = 0.7  // times as long as the last frame took, or as the last way was: the next may come later
const calm = matchMedia("(prefers-reduced-motion: reduce)")
let until = Infinity  // a lesson plays to this number of observations

// Points that a person drags: where they are, and the options when one of them is moved.
const HANDLES = {
  mixture: [
    {name: "first mode", at: (o) => [o.theta1, o.theta2], moved: (x, y) => ({theta1: x, theta2: y})},
    {name: "second mode", at: (o) => [o.theta1 + o.theta2, -o.theta2], moved: (x, y) => ({theta1: x + y, theta2: -y})},
  ],
  banana: [
    {name: "true θ", at: (o) => [o.theta1, o.theta2], moved: (x, y) => ({theta1: x, theta2: y})},
    {name: "its mirror image", at: (o) => [o.theta1, -o.theta2], moved: (x, y) => ({theta1: x, theta2: -y})},
  ],
  bimodal1d: [
    {name: "right mode", at: (o) => [o.theta, 0], moved: (x) => ({theta: Math.abs(x)})},
    {name: "left mode", at: (o) => [-o.theta, 0], moved: (x) => ({theta: Math.abs(x)})},
  ],
  gaussian: [{name: "true θ", at: (o) => [o.theta, o.dim > 1 ? o.theta : 0],
    moved: (x, y, dim) => ({theta: dim > 1 ? (x + y) / 2 : x})}],
}

class Run {
  constructor(method, place) {
    const {title, settings, ...look} = given.methods[method], own = method === lab.method
    Object.assign(this, {method, place, title, specs: settings, look, history: [], kept: {}, floor: null, lasts: 0, arrived: 0})
    this.canvas = make("canvas", {class: "stage"})
    this.caption = make("p", {class: "caption"})
    this.tile = make("section", {class: "tile"}, this.caption, this.canvas)
    find("stages").append(this.tile)
    this.worker = spare ?? new Worker(driver)
    spare = null
    this.worker.onmessage = ({data}) => this.heard(data)
    this.worker.onerror = (event) => complain(event.message)
    const first = runs[0]?.frame, {target} = lab
    const knobs = own ? lab.knobs : method === lab.compare ? lab.compared : target.knobs[method]
    this.ask("open", {module, declared: given.declared, drawing: given.drawing, look, until, target, method, knobs,
      seed: first ? first.seed : lab.seed, planned: own ? lab.planned : [], floor: own ? lab.floor : null})
    if (first && JSON.stringify(first.options) !== JSON.stringify(target.options)) this.ask("target", {options: first.options})
    this.handles = target.simulated.length && !lab.controls ? HANDLES[target.name] ?? [] : []
    this.draggable()  // before the picture handles the pointer: dragging modes does not move the picture
    pmdvizWatch(this.canvas, {zoom: "both"})
  }
  ask(kind, more = {}) { this.worker.postMessage({kind, ...more}) }
  end() {
    this.worker.terminate()
    this.tile.remove()
  }
  heard(data) {
    if (data.kind === "frame") {
      this.set_out(data)
      Object.assign(this.kept, {image: null}, data.marks)
      this.frame = data
      this.floor = data.floor ?? this.floor
      const {iteration, visited, tv, kl} = data
      this.history = [...this.history.filter((row) => row.iteration < iteration), {iteration, visited, tv, kl}]
      if (this.history.length > 4000) this.history = this.history.filter((_, k) => k % 2 === 0)
      this.fresh = true
    } else if (data.kind === "floor") this.floor = data
    else if (data.kind === "paused" && runs.every((run) => run === this || run.over)) setPlaying(false)
    else if (data.kind === "error") complain(data.words)
    wanted = true
  }
  /** The dots will move from the frame on show to the next one, for about as long as that one took to come. */
  set_out({iteration, origin, marks}) {
    const moves = origin && iteration > (this.frame?.iteration ?? Infinity) && !calm.matches, now = performance.now()
    const took = playing ? now - this.arrived : LONGEST_MS
    this.lasts = Math.min(LONGEST_MS, Math.max(LONGER * took, FADING * this.lasts))
    this.arrived = now
    this.previous = moves && this.canvas.pmdviz ? {marks: this.canvas.pmdviz.moved} : null
    if (moves) marks.particles.origin = origin
  }
  get way() { return this.previous ? Math.min(1, (performance.now() - this.arrived) / this.lasts) : 1 }
  /** The picture, of two frames the one in between. */
  paint(t = this.way) {
    pmdvizDraw(this.canvas, this.picture, {theme: theme(), borders: BORDER, previous: this.previous, t})
    if (t === 1) this.previous = null
  }
  get over() { return Boolean(this.frame?.ended) || this.frame?.visited >= until }
  draw() {
    this.picture = this.stage
    this.paint()
    this.caption.textContent = runs.length > 1 ? `${this.title}: ${statusOf(this)}` : ""
    if (this.fresh && !this.ahead) {
      this.ask("drawn")
      this.fresh = false
    }
  }
  /** The picture of the newest frame; of a comparison each approximation has its own colour, and the exact one none. */
  get stage() {
    const {stage} = lab.target, {particles: count, top, options} = this.frame, drawn = this.kept.particles.x.length
    const {OPACITY_DOTS, OPACITY_POWER} = given.drawing, own = `entrant-${this.place}`
    const roles = runs.length > 1 ? {exact: "floor", approximate: own, particles: own} : {}, marks = {}
    for (const [key, mark] of Object.entries(stage.marks)) {
      const columns = key in this.kept ? this.kept[key] : key === "image" ? null : mark.columns
      if (columns) marks[key] = {...mark, role: roles[mark.role] ?? mark.role, columns}
    }
    marks.particles.look = {thin: (OPACITY_DOTS / drawn) ** OPACITY_POWER}
    if (marks.image && roles.exact) marks.image.columns = {...marks.image.columns, ends: [own, "exact"]}
    const places = this.handles.map(({at}) => at(options))
    if (places.length) marks.handles.columns = {x: places.map(([x]) => x), y: places.map(([, y]) => y)}
    else delete marks.handles
    const some = drawn < count ? ` (${whole(drawn)} of ${whole(count)} drawn)` : ""
    const y = top ? {...stage.y, low: -0.1 * top, high: 1.12 * top, ticks: null} : stage.y
    return {...stage, y, marks, legend: {...stage.legend, particles: this.look.dots + some}}
  }
  /** Whether another run of a comparison has used fewer observations, and will go on. */
  get ahead() {
    return playing && runs.some((run) => run !== this && !run.over && run.frame.visited < this.frame.visited)
  }
  /** Drag a mode: its data are simulated again where it is let go. */
  draggable() {
    let held = null
    const reach = 14, {canvas} = this, moved = ({offsetX, offsetY}) => {
      const {X, Y} = canvas.pmdviz, x = (offsetX - X(0)) / (X(1) - X(0)), y = (offsetY - Y(0)) / (Y(1) - Y(0))
      return clipped(held.moved(x, y, this.frame.options.dim))
    }
    const near = ({offsetX, offsetY}, [x, y], {X, Y}) => Math.hypot(X(x) - offsetX, Y(y) - offsetY) < reach
    canvas.addEventListener("pointerdown", (event) => {
      held = this.handles.find(({at}) => near(event, at(this.frame.options), canvas.pmdviz))
      if (!held) return
      canvas.setPointerCapture(event.pointerId)
      event.stopImmediatePropagation()
    })
    canvas.addEventListener("pointermove", (event) => {
      if (!held) return
      event.stopImmediatePropagation()
      this.frame.options = {...this.frame.options, ...moved(event)}
      wanted = true
    })
    canvas.addEventListener("pointerup", (event) => {
      if (held) setTarget(moved(event))
      held = null
    })
  }
}

function clipped(options) {
  return Object.fromEntries(Object.entries(options).map(([name, value]) => {
    const {low, high} = lab.target.simulated.find((spec) => spec.name === name) ?? {}
    return [name, Math.min(high ?? Infinity, Math.max(low ?? -Infinity, Number(value.toPrecision(4))))]
  }))
}

/** TV or forward KL of the runs, with the value of independent draws. */
function tracePicture(name) {
  const made = lab.target.traces[name], {clock, metric} = made, {low} = made.y, marks = {}, legend = {}
  const last = Math.max(...runs.map((run) => run.frame.visited)), floor = runs[0].floor?.[name]
  let end = 1.02 * (lab.budget ?? 1000)
  while (end < last) end *= 2
  if (floor) {
    marks.floor = {...made.marks.floor, columns: {x: [0, end], y: [floor, floor]}}
    legend.floor = `${made.legend.floor}: ${digits(floor)}`
  }
  for (const run of runs) {
    const rows = run.history.filter((row) => Number.isFinite(row[name])), used = rows.map((row) => row.visited)
    const columns = {[clock]: used, iteration: rows.map((row) => row.iteration), [metric]: rows.map((row) => Math.max(low, Math.min(made.y.high, row[name])))}
    const several = runs.length > 1, key = `line-${run.place}`
    marks[key] = {...made.marks.line, role: several ? `entrant-${run.place}` : made.marks.line.role, columns}
    legend[key] = several ? run.title : made.legend.line
  }
  return {...made, x: {...made.x, high: end, ticks: null}, marks, legend}
}

function statusOf({frame, floor}) {
  const of = frame.visited <= lab.budget ? ` of ${whole(lab.budget)}` : ""
  return [`iteration ${whole(frame.iteration)}`, `${whole(frame.visited)}${of} ${lab.unit} used`,
    ...(Number.isFinite(frame.tv) ? [`TV ${digits(frame.tv)}`] : []),
    ...(floor ? [`independent draws ${digits(floor.tv)}`] : [])].join(", ")
}

function verdictOf({frame, floor}) {
  if (frame.iteration === 0) return "These are draws from the prior. Press Play."
  if (!Number.isFinite(frame.tv)) return "The picture shows the first two coordinates. No distance is measured here."
  if (frame.left > 0.05) return `The starting density still makes up ${Math.round(100 * frame.left)} % of log q: more steps are needed.`
  if (!floor) return `Half of the absolute difference between the two densities is ${digits(frame.tv)}.`
  const times = frame.tv / floor.tv
  if (times <= 1.25) return "The particles are as good as independent draws of the posterior."
  return `The distance is ${times.toPrecision(2)} times that of independent draws.`
}

// Then its controls and settings, and which run is on show.

let speed = "usual"

function complain(words) {
  find("trouble").textContent = words
  setPlaying(false)
}

const theme = () => document.documentElement.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")

function draw() {
  requestAnimationFrame(draw)
  if (!runs.length || runs.some((run) => !run.frame)) return
  if (!wanted) return runs.filter((run) => run.previous).forEach((run) => run.paint())
  wanted = false
  for (const run of runs) run.draw()
  const status = statusOf(runs[0])
  if (find("status").textContent !== status) find("status").textContent = status
  find("verdict").textContent = verdictOf(runs[0])
  for (const name of Object.keys(lab.target.traces)) pmdvizDraw(find(name), tracePicture(name),
    {theme: theme(), borders: BORDER})
  showSettings()
  follow(runs[0])
}

function setPlaying(on) {
  playing = on
  find("play").textContent = on ? "Pause" : "Play"
}

const every = (kind, more) => runs.forEach((run) => run.ask(kind, more))
function play() {
  find("trouble").textContent = ""
  setPlaying(!playing)
  if (playing && step) find("picture").scrollIntoView({block: "nearest"})  // a lesson's text may be longer than the screen
  every(playing ? "play" : "pause")
}

function restart(seed) {
  find("trouble").textContent = ""
  every("restart", {seed})
}

const setTarget = (options) => every("target", {options})
function setKnob(run, spec, value) {
  const knobs = {[spec.name]: value}
  for (const {name, default_by: by} of run.specs) if (by?.[0] === spec.name && value in by[1]) knobs[name] = by[1][value]
  run.ask("set", {knobs, restart: spec.acts === "restart"})
}

function compare(method) {
  for (const gone of runs.splice(1)) gone.end()
  if (method) {
    runs.push(new Run(method, 1))
    every("restart")
    if (playing) every("play")
  }
  listSettings()
  wanted = true
}

function python() {
  const {frame} = runs[0], recipe = {...lab.recipe, seed: frame.seed, target_options: frame.options, knobs: frame.start,
    changes: frame.changes.map(({iteration, knobs}) => [iteration, knobs]), budget: Math.max(lab.budget, frame.visited)}
  return `import pmdviz\n\nrecipe = pmdviz.Recipe.from_json(r'''${JSON.stringify(recipe)}''')\n`
    + `session = pmdviz.Session(recipe)\nsession.advance(${frame.iteration})  # where the page was\nrun = session.run\n`
}

async function copyPython() {
  find("python").textContent = python()
  find("python").hidden = false
  try {
    await navigator.clipboard.writeText(python())
    find("copy").textContent = "Copied"
  } catch {
    getSelection().selectAllChildren(find("python")) // a file may not write to the clipboard: it is ready to be copied
  }
}

const controls = []
const PLACES = 1000

function control(spec, valueOf, change) {
  const {name, kind, choices, words, unit} = spec, shown = make("output"), scale = slider_scale(spec, PLACES)
  const say = (value) => {
    const words = Math.abs(value) >= 1000 ? whole(value) : String(Number(value.toPrecision(3)))
    shown.textContent = `${words.replace("-", "\u2212")} ${unit}`
  }
  const rounded = kind === "whole" ? Math.round : (value) => Number(value.toPrecision(3))
  const range = {type: "range", min: 0, max: PLACES, step: "any", oninput: () => say(read())}
  const input = kind === "choice" ? make("select", {name}, ...choices.map((value) => option(value, words[value])))
    : make("input", {name, ...(kind === "flag" ? {type: "checkbox"} : range)})
  const put = kind === "flag" ? "checked" : "value"
  const read = () => input.type === "range" ? rounded(scale.at(input.value)) : input[put]
  input.onchange = () => change(read())
  const label = make("label", {title: spec.help}, make("span", {}, spec.label), input, shown)
  const show = (value) => {
    input[put] = input.type === "range" ? scale.of(value) : value
    if (input.type === "range") say(value)
  }
  controls.push({label, spec, input, show, valueOf, last: undefined})
  return label
}

const isOffered = ({name}) => !lab.controls || lab.controls.includes(name)

function listSettings() {
  controls.length = 0
  for (const id of ["basic", "more", "data"]) find(id).replaceChildren()
  for (const run of runs) {
    if (runs.length > 1) find("basic").append(make("h3", {}, run.title))
    for (const spec of run.specs.filter(isOffered)) {
      find(spec.basic || lab.controls ? "basic" : "more").append(control(spec, () => run.frame?.knobs, (value) => setKnob(run, spec, value)))
    }
  }
  for (const spec of lab.target.simulated.filter(isOffered)) {
    find(lab.controls ? "basic" : "data").append(control(spec, () => runs[0].frame?.options, (value) => setTarget({[spec.name]: value})))
  }
}

function showSettings() {
  for (const id of ["more", "data"]) find(id).parentElement.hidden = !find(id).childElementCount
  for (const each of controls) {
    const values = each.valueOf()
    if (!values) continue
    const {only_if: only} = each.spec, matters = ([name, wanted]) => wanted.includes(values[name])
    each.label.hidden = Boolean(only) && !Object.entries(only).some(matters)
    const value = values[each.spec.name]
    if (value !== each.last && document.activeElement !== each.input) each.show(each.last = value)
  }
}

function keys(event) {
  if (event.target.closest("input, select, textarea") || event.ctrlKey || event.metaKey || event.altKey) return
  const step = () => every("step"), command = {" ": play, s: step, ArrowRight: step, r: () => restart()}[event.key]
  if (!command || (event.key === " " && event.target.closest("button, summary"))) return
  event.preventDefault()
  command()
}

/** Show a run: one of the page, and of a lesson its few controls. */
function show(run, controls = null) {
  for (const gone of runs.splice(0)) gone.end()
  lab = {...run, target: given.targets[run.target], controls}
  until = controls ? lab.budget ?? Infinity : Infinity
  setPlaying(false)
  find("trouble").textContent = ""
  find("python").hidden = true
  document.title = find("title").textContent = lab.title || `${given.methods[lab.method].title} on ${lab.target.title}`
  find("question").textContent = lab.question
  find("traces").hidden = !Object.keys(lab.target.traces).length
  const others = Object.keys(lab.target.knobs).filter((name) => name !== lab.method)
  find("compare").replaceChildren(option("", "no other method"),
    ...others.map((name) => option(name, given.methods[name].title)))
  find("compare").parentElement.hidden = Boolean(controls)
  runs.push(new Run(lab.method, 0))
  find("compare").value = lab.compare
  if (lab.compare) compare(lab.compare)
  else listSettings()
  if (speed !== "usual") every("speed", {value: speed})
}

/** What the address names: a run, `embed/` and a run, or `lesson/` and a lesson. All else is left alone. */
function visit() {
  const [, frame, lesson, name] = location.hash.match(/^#(embed\/)?(lesson\/)?([\w-]+)$/) ?? []
  document.documentElement.classList.toggle("embed", Boolean(frame) || find("site").hidden)
  if (lesson && Object.hasOwn(given.lessons ?? {}, name)) return openLesson(name)
  leaveLesson()
  show(name && Object.hasOwn(given.runs, name) ? given.runs[name] : Object.values(given.runs)[0])
  find("presets").value = name ?? given.menu?.[0] ?? ""
}

function listSite() {
  if (!given.menu) return
  find("site").hidden = false
  find("presets").append(...given.menu.map((name) => option(name, given.runs[name].title)))
  find("lessons").append(option("", "no lesson"),
    ...Object.entries(given.lessons).map(([name, {title}]) => option(name, title)))
  find("presets").onchange = ({target}) => { location.hash = target.value }
  find("lessons").onchange = ({target}) => { location.hash = target.value ? `lesson/${target.value}` : given.menu[0] }
}

async function open() {
  module = await compiled
  find("play").onclick = play
  find("step").onclick = () => every("step")
  find("restart").onclick = () => restart()
  find("seed").onclick = () => restart(Math.floor(Math.random() * 2 ** 31))
  find("speed").onchange = ({target}) => every("speed", {value: speed = target.value})
  find("theme").onclick = () => {
    document.documentElement.dataset.theme = theme() === "dark" ? "light" : "dark"
    wanted = true
  }
  find("copy").onclick = copyPython
  find("compare").onchange = (event) => compare(event.target.value)
  for (const name of ["tv", "kl"]) pmdvizWatch(find(name), {zoom: "width"})
  document.onkeydown = keys
  matchMedia("(prefers-color-scheme: dark)").onchange = () => { wanted = true }
  listSite()
  visit()
  onhashchange = visit
  requestAnimationFrame(draw)
}

open().catch((error) => complain(error.message))
