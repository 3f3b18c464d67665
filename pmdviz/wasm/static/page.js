"use strict"
// The live page: its controls, its runs, each in a worker of its own, and the words.

const given = JSON.parse(document.getElementById("lab").textContent)
const find = (id) => document.getElementById(id)
const make = (name, more = {}, ...inside) => {
  const made = Object.assign(document.createElement(name), more)
  made.append(...inside)
  return made
}
const whole = (value) => Math.round(value).toLocaleString("en-US")
const digits = (value) => value >= 0.0995 ? value.toPrecision(3) : value.toFixed(3)
const said = (value) => number(Math.abs(value) >= 1000 ? whole(value) : Number(value.toPrecision(3)))
let playing = false, speed = "usual", module = null, wanted = false
const runs = []

async function inflated(text) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0))
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).arrayBuffer()
}

// A run, and what is shown of it.

class Run {
  constructor(method, place) {
    const value = given.methods[method], own = method === given.method
    Object.assign(this, {method, place, title: value.title, specs: value.settings, history: [], kept: {}, floor: null})
    this.canvas = make("canvas", {tabIndex: 0, className: "stage"})
    this.canvas.setAttribute("role", "img")
    this.caption = make("p", {className: "caption"})
    this.tile = make("section", {className: "tile"}, this.caption, this.canvas)
    find("stages").append(this.tile)
    this.worker = new Worker(URL.createObjectURL(new Blob([find("driver").textContent], {type: "text/javascript"})))
    this.worker.onmessage = ({data}) => this.heard(data)
    this.worker.onerror = (event) => complain(event.message)
    const first = runs[0]?.frame
    this.ask("open", {module, declared: given.declared, target: given.target, method, knobs: own ? given.knobs : value.knobs,
      seed: first ? first.seed : given.seed, planned: own ? given.planned : [], floor: own ? given.floor : null})
    if (first && JSON.stringify(first.options) !== JSON.stringify(given.target.options)) {
      this.ask("target", {options: first.options})
    }
    this.draggable()
  }
  ask(kind, more = {}) { this.worker.postMessage({kind, ...more}) }
  heard(data) {
    if (data.kind === "frame") {
      if (this.frame && data.iteration < this.frame.iteration) this.history = []
      if (data.p) this.kept.p = data.p
      this.frame = data
      this.floor = data.floor ?? this.floor
      this.history = this.history.filter((row) => row.iteration < data.iteration)
      this.history.push({iteration: data.iteration, visited: data.visited, tv: data.tv, kl: data.kl})
      if (this.history.length > 4000) this.history = this.history.filter((_, k) => k % 2 === 0)
      this.fresh = true
    } else if (data.kind === "floor") this.floor = data
    else if (data.kind === "memory") this.grown = data.grown
    else if (data.kind === "paused" && runs.every((run) => run === this || run.frame?.ended)) setPlaying(false)
    else if (data.kind === "error") complain(data.words)
    wanted = true
  }
  draw(colours) {
    const handles = given.target.own_data ? [] : HANDLES[given.target.name] ?? []
    this.map = drawStage(this.canvas, this.frame, this.kept, given.target.names, {...colours, belief: colours.entrants[this.place]}, handles)
    this.caption.textContent = runs.length > 1 ? `${this.title}: ${statusOf(this)}` : ""
    this.canvas.setAttribute("aria-label", `${this.title}, ${statusOf(this)}`)
    if (this.fresh && !this.ahead) {
      this.ask("drawn")
      this.fresh = false
    }
  }
  /** Whether another run of a comparison has used fewer observations, and will go on. */
  get ahead() {
    return playing && runs.some((run) => run !== this && !run.frame.ended && run.frame.visited < this.frame.visited)
  }
  /** Drag a mode: its data are simulated again where it is let go. */
  draggable() {
    let held = null
    const handles = given.target.own_data ? [] : HANDLES[given.target.name] ?? []
    const place = (event) => {
      const box = this.canvas.getBoundingClientRect(), {left, top, wide, high} = this.map, view = this.frame.view
      const share = [(event.clientX - box.left - left) / wide, 1 - (event.clientY - box.top - top) / high]
      return share.map((s, k) => view[k] ? view[k][0] + s * (view[k][1] - view[k][0]) : 0)
    }
    this.canvas.onpointerdown = (event) => {
      if (!this.map) return
      const [x, y] = place(event), reach = this.frame.view.map(([low, high]) => (high - low) / 20)
      held = handles.find(({at}) => at(this.frame.options).every((value, k) => !reach[k] || Math.abs(value - [x, y][k]) < reach[k]))
      if (held) this.canvas.setPointerCapture(event.pointerId)
    }
    this.canvas.onpointermove = (event) => {
      if (!held) return
      this.frame.options = {...this.frame.options, ...clipped(held.moved(...place(event), this.frame.options.dim))}
      wanted = true
    }
    this.canvas.onpointerup = (event) => {
      if (held) setTarget(clipped(held.moved(...place(event), this.frame.options.dim)))
      held = null
    }
  }
}

function clipped(options) {
  return Object.fromEntries(Object.entries(options).map(([name, value]) => {
    const {low, high} = given.options.find((spec) => spec.name === name) ?? {}
    return [name, Math.min(high ?? Infinity, Math.max(low ?? -Infinity, Number(value.toPrecision(4))))]
  }))
}

// Words.

function statusOf({frame, floor}) {
  const of = frame.visited <= given.budget ? ` of ${whole(given.budget)}` : ""
  const parts = [`iteration ${whole(frame.iteration)}`, `${whole(frame.visited)}${of} ${given.unit} used`]
  if (Number.isFinite(frame.tv)) parts.push(`TV ${digits(frame.tv)}`)
  if (floor) parts.push(`independent draws ${digits(floor.tv)}`)
  return parts.join(", ")
}

/** One sentence about how good the run is. */
function verdictOf({frame, floor}) {
  if (frame.iteration === 0) return "These are draws from the prior. Press Play."
  if (!Number.isFinite(frame.tv)) return "The picture shows the first two coordinates. No distance is measured here."
  if (frame.left > 0.05) return `The starting density still has ${Math.round(100 * frame.left)} % of the exponent: more steps are needed.`
  if (!floor) return `Half of the absolute difference between the two densities is ${digits(frame.tv)}.`
  const times = frame.tv / floor.tv
  if (times <= 1.25) return "The particles are as good as independent draws of the posterior."
  return `The distance is ${times.toPrecision(2)} times that of independent draws.`
}

function complain(words) {
  find("trouble").textContent = words
  setPlaying(false)
}

// Drawing, once a frame of the screen.

const dark = () => (document.documentElement.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark"

function draw() {
  requestAnimationFrame(draw)
  if (!wanted || !runs.length || runs.some((run) => !run.frame)) return
  wanted = false
  const colours = given.colours[dark() ? "dark" : "light"]
  for (const run of runs) run.draw(colours)
  const status = statusOf(runs[0])
  if (find("status").textContent !== status) find("status").textContent = status
  find("verdict").textContent = verdictOf(runs[0])
  if (given.target.exact) {
    drawTrace(find("tv"), runs, "tv", "TV", colours)
    drawTrace(find("kl"), runs, "kl", "forward KL (nats)", colours)
  }
  showSettings()
}

// Commands.

function setPlaying(on) {
  playing = on
  find("play").textContent = on ? "Pause" : "Play"
}

const every = (kind, more) => runs.forEach((run) => run.ask(kind, more))
function play() {
  find("trouble").textContent = ""
  setPlaying(!playing)
  every(playing ? "play" : "pause")
}

function restart(seed) {
  find("trouble").textContent = ""
  every("restart", {seed})
}

function setTarget(options) {
  every("target", {options})
}

function setKnob(run, spec, value) {
  const knobs = {[spec.name]: value}
  for (const other of run.specs) {
    if (other.default_by && other.default_by[0] === spec.name && value in other.default_by[1]) knobs[other.name] = other.default_by[1][value]
  }
  run.ask("set", {knobs, restart: spec.acts === "restart"})
}

function compare(method) {
  while (runs.length > 1) {
    const gone = runs.pop()
    gone.worker.terminate()
    gone.tile.remove()
  }
  if (method) {
    runs.push(new Run(method, 1))
    every("restart")
    if (playing) every("play")
  }
  listSettings()
  wanted = true
}

/** The Python that continues the run. */
function python() {
  const {frame} = runs[0], recipe = {...given.recipe, seed: frame.seed, target_options: frame.options, knobs: frame.start,
    changes: frame.changes.map(({iteration, knobs}) => [iteration, knobs]), budget: Math.max(given.budget, frame.visited)}
  const lines = ["import pmdviz", "", `recipe = pmdviz.Recipe.from_json(r'''${JSON.stringify(recipe)}''')`,
    "session = pmdviz.Session(recipe)", `session.advance(${frame.iteration})  # where the page was`, "run = session.run"]
  return lines.join("\n") + "\n"
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

// Settings: one control each, from the declarations.

const controls = []

function matters(spec, values) {
  return !spec.only_if || Object.entries(spec.only_if).some(([name, wanted]) => wanted.includes(values[name]))
}

/** Places on a slider: 0 to 1,000, by the value or by its logarithm. */
function scaleOf({low, high, log}) {
  const [a, b] = log ? [Math.log(low), Math.log(high)] : [low, high]
  return {
    place: (value) => 1000 * ((log ? Math.log(Math.max(value, low)) : value) - a) / (b - a),
    value: (place) => log ? Math.exp(a + (b - a) * place / 1000) : a + (b - a) * place / 1000,
  }
}

function control(spec, valueOf, change) {
  const label = make("label", {title: spec.help}), name = make("span", {textContent: spec.label})
  const shown = make("output")
  let input, put
  if (spec.kind === "choice") {
    input = make("select", {}, ...spec.choices.map((choice) => make("option", {value: choice, textContent: spec.words[choice] ?? choice})))
    input.onchange = () => change(input.value)
    put = (value) => { input.value = value }
  } else if (spec.kind === "flag") {
    input = make("input", {type: "checkbox"})
    input.onchange = () => change(input.checked)
    put = (value) => { input.checked = value }
  } else {
    const scale = scaleOf(spec)
    input = make("input", {type: "range", min: 0, max: 1000, step: "any"})
    const read = () => {
      const value = scale.value(Number(input.value))
      return spec.kind === "whole" ? Math.round(value) : Number(value.toPrecision(3))
    }
    input.oninput = () => { shown.textContent = `${said(read())} ${spec.unit}` }
    input.onchange = () => change(read())
    put = (value) => {
      input.value = scale.place(value)
      shown.textContent = `${said(value)} ${spec.unit}`
    }
  }
  input.name = spec.name
  label.append(name, input, shown)
  controls.push({label, spec, input, put, valueOf, last: undefined})
  return label
}

function listSettings() {
  controls.length = 0
  for (const id of ["basic", "more", "data"]) find(id).replaceChildren()
  for (const run of runs) {
    if (runs.length > 1) find("basic").append(make("h3", {textContent: run.title}))
    for (const spec of run.specs) {
      find(spec.basic ? "basic" : "more").append(control(spec, () => run.frame?.knobs, (value) => setKnob(run, spec, value)))
    }
  }
  for (const spec of given.options) {
    find("data").append(control(spec, () => runs[0].frame?.options, (value) => setTarget({[spec.name]: value})))
  }
}

function showSettings() {
  for (const each of controls) {
    const values = each.valueOf()
    if (!values) continue
    each.label.hidden = !matters(each.spec, values)
    if (values[each.spec.name] !== each.last && document.activeElement !== each.input) each.put(each.last = values[each.spec.name])
  }
}

// The page.

function keys(event) {
  if (event.target.closest("input, select, textarea") || event.ctrlKey || event.metaKey || event.altKey) return
  const commands = {" ": play, s: () => every("step"), ArrowRight: () => every("step"), r: () => restart()}
  const command = commands[event.key]
  if (!command || (event.key === " " && event.target.closest("button, summary"))) return
  event.preventDefault()
  command()
}

async function open() {
  document.title = find("title").textContent = `${given.methods[given.method].title} on ${given.target.title}`
  module = await inflated(given.module)
  runs.push(new Run(given.method, 0))
  find("play").onclick = play
  find("step").onclick = () => every("step")
  find("restart").onclick = () => restart()
  find("seed").onclick = () => restart(Math.floor(Math.random() * 2 ** 31))
  find("speed").onchange = (event) => {
    speed = event.target.value
    every("speed", {value: speed})
  }
  find("theme").onclick = () => {
    document.documentElement.dataset.theme = dark() ? "light" : "dark"
    wanted = true
  }
  find("copy").onclick = copyPython
  find("compare").append(make("option", {value: "", textContent: "no other method"}), ...Object.entries(given.methods)
    .filter(([name]) => name !== given.method).map(([name, {title}]) => make("option", {value: name, textContent: title})))
  find("compare").onchange = (event) => compare(event.target.value)
  find("traces").hidden = !given.target.exact
  document.onkeydown = keys
  new ResizeObserver(() => { wanted = true }).observe(document.body)
  matchMedia("(prefers-color-scheme: dark)").onchange = () => { wanted = true }
  listSettings()
  if (given.compare) {
    find("compare").value = given.compare
    compare(given.compare)
  }
  requestAnimationFrame(draw)
}

open().catch((error) => complain(error.message))
