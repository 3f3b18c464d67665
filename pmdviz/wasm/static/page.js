"use strict"
// The live page: its controls and settings, and which run is on show.

let speed = "usual"
const minus = (words) => words.replace("-", "\u2212")
const said = (value) => minus(Math.abs(value) >= 1000 ? whole(value) : String(Number(value.toPrecision(3))))

async function inflated(text) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0))
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).arrayBuffer()
}

function complain(words) {
  find("trouble").textContent = words
  setPlaying(false)
}

// Drawing, once a frame of the screen.

const theme = () => document.documentElement.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")

function draw() {
  requestAnimationFrame(draw)
  if (!wanted || !runs.length || runs.some((run) => !run.frame)) return
  wanted = false
  const chosen = theme(), status = statusOf(runs[0])
  for (const run of runs) run.draw(chosen)
  if (find("status").textContent !== status) find("status").textContent = status
  find("verdict").textContent = verdictOf(runs[0])
  for (const name of Object.keys(lab.target.traces)) pmdvizDraw(find(name), tracePicture(name), {theme: chosen, borders: BORDER})
  showSettings()
  follow(runs[0])
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
    runs.pop().end()
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
  const {frame} = runs[0], recipe = {...lab.recipe, seed: frame.seed, target_options: frame.options, knobs: frame.start,
    changes: frame.changes.map(({iteration, knobs}) => [iteration, knobs]), budget: Math.max(lab.budget, frame.visited)}
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

/** A step of a lesson has a few controls. */
const isOffered = ({name}) => !lab.controls || lab.controls.includes(name)

function listSettings() {
  controls.length = 0
  for (const id of ["basic", "more", "data"]) find(id).replaceChildren()
  for (const run of runs) {
    if (runs.length > 1) find("basic").append(make("h3", {textContent: run.title}))
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
  find("compare").replaceChildren(make("option", {value: "", textContent: "no other method"}),
    ...others.map((name) => make("option", {value: name, textContent: given.methods[name].title})))
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

/** The menus of a site. */
function listSite() {
  if (!given.menu) return
  find("site").hidden = false
  find("presets").append(...given.menu.map((name) => make("option", {value: name, textContent: given.runs[name].title})))
  find("lessons").append(make("option", {value: "", textContent: "no lesson"}),
    ...Object.entries(given.lessons).map(([name, {title}]) => make("option", {value: name, textContent: title})))
  find("presets").onchange = ({target}) => { location.hash = target.value }
  find("lessons").onchange = ({target}) => { location.hash = target.value ? `lesson/${target.value}` : given.menu[0] }
}

async function open() {
  module = await inflated(given.module)
  find("play").onclick = play
  find("step").onclick = () => every("step")
  find("restart").onclick = () => restart()
  find("seed").onclick = () => restart(Math.floor(Math.random() * 2 ** 31))
  find("speed").onchange = (event) => {
    speed = event.target.value
    every("speed", {value: speed})
  }
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
