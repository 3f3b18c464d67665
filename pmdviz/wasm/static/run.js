"use strict"
// A run on the page: its worker, its pictures, its words.

const find = (id) => document.getElementById(id)
const make = (name, more = {}, ...inside) => {
  const made = Object.assign(document.createElement(name), more)
  made.append(...inside)
  return made
}
const whole = (value) => Math.round(value).toLocaleString("en-US")
const digits = (value) => value >= 0.0995 ? value.toPrecision(3) : value.toFixed(3)
const given = JSON.parse(find("lab").textContent)
const driver = URL.createObjectURL(new Blob([find("driver").textContent], {type: "text/javascript"}))
const runs = []  // one, or two that are compared
let lab = null  // the run on show: its entry in `given`, with its target
let module = null, playing = false, wanted = false
const BORDER = {left: 58, right: 26, top: 6, bottom: 42}  // px around the axes; a legend makes its own room
let until = Infinity  // so many observations a lesson plays to

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
    Object.assign(this, {method, place, title, specs: settings, look, history: [], kept: {}, floor: null})
    this.canvas = make("canvas", {className: "stage"})
    this.caption = make("p", {className: "caption"})
    this.tile = make("section", {className: "tile"}, this.caption, this.canvas)
    find("stages").append(this.tile)
    this.worker = new Worker(driver)
    this.worker.onmessage = ({data}) => this.heard(data)
    this.worker.onerror = (event) => complain(event.message)
    const first = runs[0]?.frame, {target} = lab
    const knobs = own ? lab.knobs : method === lab.compare ? lab.compared : target.knobs[method]
    this.ask("open", {module, declared: given.declared, drawing: given.drawing, look, until, target, method, knobs,
      seed: first ? first.seed : lab.seed, planned: own ? lab.planned : [], floor: own ? lab.floor : null})
    if (first && JSON.stringify(first.options) !== JSON.stringify(target.options)) this.ask("target", {options: first.options})
    this.handles = target.simulated.length && !lab.controls ? HANDLES[target.name] ?? [] : []
    this.draggable()  // before the picture answers the pointer: who drags a mode does not move the picture
    pmdvizWatch(this.canvas, {zoom: "both"})
  }
  ask(kind, more = {}) { this.worker.postMessage({kind, ...more}) }
  end() {
    this.worker.terminate()
    this.tile.remove()
  }
  heard(data) {
    if (data.kind === "frame") {
      if (this.frame && data.iteration < this.frame.iteration) this.history = []
      Object.assign(this.kept, {image: null}, data.marks)
      this.frame = data
      this.floor = data.floor ?? this.floor
      this.history = this.history.filter((row) => row.iteration < data.iteration)
      this.history.push({iteration: data.iteration, visited: data.visited, tv: data.tv, kl: data.kl})
      if (this.history.length > 4000) this.history = this.history.filter((_, k) => k % 2 === 0)
      this.fresh = true
    } else if (data.kind === "floor") this.floor = data
    else if (data.kind === "memory") this.grown = data.grown
    else if (data.kind === "paused" && runs.every((run) => run === this || run.over)) setPlaying(false)
    else if (data.kind === "error") complain(data.words)
    wanted = true
  }
  get over() { return Boolean(this.frame?.ended) || this.frame?.visited >= until }
  draw(theme) {
    pmdvizDraw(this.canvas, this.stage, {theme, borders: BORDER})
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
    const roles = runs.length > 1 ? {exact: "floor", approximate: own, particles: own} : {}
    const marks = {}
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
    const reach = 14, place = ({offsetX, offsetY}) => {
      const {X, Y} = this.canvas.pmdviz
      return [(offsetX - X(0)) / (X(1) - X(0)), (offsetY - Y(0)) / (Y(1) - Y(0))]
    }
    const on = (name, act) => this.canvas.addEventListener(name, act)
    on("pointerdown", (event) => {
      const {X, Y} = this.canvas.pmdviz
      held = this.handles.find(({at}) => {
        const [x, y] = at(this.frame.options)
        return Math.hypot(X(x) - event.offsetX, Y(y) - event.offsetY) < reach
      })
      if (!held) return
      this.canvas.setPointerCapture(event.pointerId)
      event.stopImmediatePropagation()
    })
    on("pointermove", (event) => {
      if (!held) return
      event.stopImmediatePropagation()
      this.frame.options = {...this.frame.options, ...clipped(held.moved(...place(event), this.frame.options.dim))}
      wanted = true
    })
    on("pointerup", (event) => {
      if (held) setTarget(clipped(held.moved(...place(event), this.frame.options.dim)))
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

// Words.

function statusOf({frame, floor}) {
  const of = frame.visited <= lab.budget ? ` of ${whole(lab.budget)}` : ""
  const parts = [`iteration ${whole(frame.iteration)}`, `${whole(frame.visited)}${of} ${lab.unit} used`]
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
