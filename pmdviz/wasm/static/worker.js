"use strict"
// A run in a worker: it steps and measures, and sends a frame when the page has drawn the one before.

const SPEEDS = {slow: [1, 250], usual: [1, 0], fast: [Infinity, 60]} // steps a frame; ms to wait, or to step
const FLOOR_SETS = 16
let session = null, exact = null, playing = false, waiting = false, speed = "usual", floor = null, sent = ""
let drawing = null, look = null // numbers and method of the pictures
let drawn = null, known = null // what is drawn of the exact posterior; that which the page has
let until = Infinity // so many observations it plays to
let again = 0, frames = 0 // which loop is running; how many frames were sent
let resume = () => {} // goes on when the page has drawn

const told = (what) => self.postMessage(what)

function open({target, method, knobs, seed, planned, floor: known, ...more}) {
  const made = new Target(revived(target));
  ({drawing, look, until} = more)
  session = new Session(made, method, knobs, seed, planned)
  exact = made.box ? new Exact(made) : null
  floor = known && {...known, done: FLOOR_SETS}
  show()
  baseline(++again)
}

function newFrame() {
  const {iteration, visited, state, ended, changes, start, seed, target, knobs, method} = session
  const draws = method.draws?.(state, knobs) ?? state.particles, weights = state.log_weights
  const frame = {kind: "frame", iteration, visited, ended, changes, start, seed, knobs, options: target.options,
    floor: floor?.done ? floor : null, left: state.prior_left ?? 0, marks: {}, particles: draws.shape[0]}
  if (weights) frame.ess = 1 / weights.reduce((total, each) => total + Math.exp(2 * each), 0)
  if (exact) {
    const {grid, q, tv, kl} = judged(session.densities, target, exact), key = JSON.stringify([target.options, grid.side])
    if (key !== sent) drawn = exactMarks(exact.onGrid(grid).p, grid, target, drawing)
    sent = key
    Object.assign(frame, {tv, kl, top: drawn.top})
    frame.marks.approximate = asColumns(regionLines(q, grid, target, drawing.OUTLINE, drawn.tops, drawing))
    if (look.heat && target.dim === 2) frame.marks.image = heatImage(q, grid, drawing)
  }
  frame.marks.particles = dotColumns(draws, weights, look.largest, drawn?.top ?? 1, drawing)
  return frame
}

function send(frame) {
  if (drawn !== known) Object.assign(frame.marks, drawn.marks)
  known = drawn
  waiting = true
  frames++
  told(frame)
}

const show = () => send(newFrame())

// Messages are heard before what comes next; a timer would take 4 ms.
const turn = () => new Promise((done) => {
  const {port1, port2} = new MessageChannel()
  port1.onmessage = done
  port2.postMessage(null)
})

function stepped() {
  if (!session.ended && session.visited < until) session.step()
  if (session.ended || session.visited >= until) playing = false
}

async function play() {
  const mine = ++again
  while (playing && mine === again) {
    const [most, ms] = SPEEDS[speed], began = performance.now(), sent = frames
    stepped()
    for (let k = 1; k < most && playing && performance.now() - began < ms; k++) stepped()
    const next = newFrame() // while the page draws the one before
    await turn()
    while (waiting && mine === again) await new Promise((done) => { resume = done })
    if (mine !== again) return
    if (sent === frames) send(next) // else something else has been shown meanwhile
    if (!playing) told({kind: "paused"})
    if (speed === "slow") await new Promise((done) => setTimeout(done, ms))
  }
  if (!playing) baseline(mine)
}

/** The value of independent draws, one set after the other while nothing else is done. */
async function baseline(mine) {
  if (!exact || !session.state.particles) return
  const m = session.state.particles.shape[0], each = session.state.each ?? 1
  const rule = session.knobs.bandwidth_rule === "shaped" ? "shaped" : "local", key = JSON.stringify([m, each, rule])
  if (floor?.done === FLOOR_SETS && (floor.key === key || !floor.key)) return
  if (floor?.key !== key) floor = {key, tv: 0, kl: 0, done: 0}
  while (floor.done < FLOOR_SETS && mine === again) {
    const {tv, kl} = drawnSet(exact, session.target, m, floor.done, rule, each), k = floor.done
    floor = {key, tv: (floor.tv * k + tv) / (k + 1), kl: (floor.kl * k + kl) / (k + 1), done: k + 1}
    await new Promise((done) => setTimeout(done, 0))
  }
  if (floor.done === FLOOR_SETS) told({kind: "floor", tv: floor.tv, kl: floor.kl})
}

const renew = () => {
  if (floor) floor.key ??= "of the exported run"
  show()
  baseline(++again)
}

const ASKED = {
  drawn() {
    waiting = false
    resume()
  },
  speed({value}) { speed = value },
  play() {
    playing = true
    return play()
  },
  pause() {
    playing = false
  },
  step() {
    stepped()
    show()
  },
  restart({seed}) {
    session.seed = seed ?? session.seed
    session.restart()
    show()
  },
  set({knobs, restart}) {
    if (restart) session.knobs = {...session.knobs, ...knobs}
    if (restart) session.restart()
    else session.set(knobs)
    if (!playing) renew()
  },
  target({options}) {
    session.target = session.target.changed(options)
    exact = session.target.box ? new Exact(session.target) : null
    session.restart()
    floor = null
    sent = ""
    if (!playing) renew()
  },
  jump({steps}) { // many steps without pictures, for tests
    const before = call.memory()
    for (let k = 0; k < steps && !session.ended; k++) session.step()
    told({kind: "memory", grown: call.memory() - before})
    show()
  },
}

self.onmessage = async ({data}) => {
  try {
    if (data.kind === "open") {
      await loadKernels(data.module, data.declared)
      open(data)
    } else await ASKED[data.kind](data)
  } catch (error) {
    playing = false
    told({kind: "error", words: error.message})
  }
}
