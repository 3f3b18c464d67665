// A run in a worker. First its pictures, as pmdviz/scenes/columns.py has them: outlines, marginal curves, cells, dots.

/** Lines [[x...], [y...]] as columns, with a gap after each. */
function asColumns(lines) {
  const n = lines.reduce((total, [x]) => total + x.length + 1, 0), x = new Float32Array(n).fill(NaN), y = x.slice()
  let at = 0
  for (const [xs, ys] of lines) {
    x.set(xs, at)
    y.set(ys, at)
    at += xs.length + 1
  }
  return {x, y}
}

/** Values of a density whose upper level sets hold these shares of its mass. */
function densityLevels(density, masses) {
  const least = 1e-6 * largest(density), sorted = density.filter((value) => value > least).sort().reverse(), levels = []
  const total = sum(sorted)
  let inside = 0
  for (const value of sorted) {
    inside += value
    while (levels.length < masses.length && inside >= masses[levels.length] * total) levels.push(value)
  }
  return levels
}

// Of a cell with corners a, b (below) and d, c (above): by which of them are inside, where an outline comes in and goes out.
const SOUTH = 0, EAST = 1, NORTH = 2, WEST = 3
const WAYS = [
  [], [[SOUTH, WEST]], [[EAST, SOUTH]], [[EAST, WEST]], [[NORTH, EAST]], [[SOUTH, WEST], [NORTH, EAST]], [[NORTH, SOUTH]], [[NORTH, WEST]],
  [[WEST, NORTH]], [[SOUTH, NORTH]], [[EAST, SOUTH], [WEST, NORTH]], [[EAST, NORTH]], [[WEST, EAST]], [[SOUTH, EAST]], [[WEST, SOUTH]], [],
]

/** Closed outlines [[x...], [y...]] of a density above a level, its inside to the left; nothing lies beyond the grid. */
function outlines(density, {axes: [gx, gy], side}, level) {
  const [dx, dy] = [gx[1] - gx[0], gy[1] - gy[0]], wide = side + 2
  const value = (i, j) => i < 0 || j < 0 || i >= side || j >= side ? 0 : density[j * side + i]
  const edge = (i, j, upright) => 2 * ((j + 1) * wide + i + 1) + upright  // from node (i, j) to the right, or up
  const next = new Map(), inside = new Uint8Array(wide * wide)
  for (let k = 0; k < density.length; k++) if (density[k] > level) inside[(Math.floor(k / side) + 1) * wide + k % side + 1] = 1
  for (let j = -1, k = 0; j < side; j++, k++) for (let i = -1; i < side; i++, k++) {
    const code = inside[k] | inside[k + 1] << 1 | inside[k + wide + 1] << 2 | inside[k + wide] << 3
    if (code === 0 || code === 15) continue
    const edges = [edge(i, j, 0), edge(i + 1, j, 1), edge(i, j + 1, 0), edge(i, j, 1)]
    for (const [from, to] of WAYS[code]) next.set(edges[from], edges[to])
  }
  const place = (id) => {
    const upright = id % 2, node = (id - upright) / 2, i = node % wide - 1, j = Math.floor(node / wide) - 1
    const one = value(i, j), other = upright ? value(i, j + 1) : value(i + 1, j), share = (level - one) / (other - one)
    const within = (index) => Math.min(side - 1, Math.max(0, index))
    return [gx[0] + dx * within(i + (upright ? 0 : share)), gy[0] + dy * within(j + (upright ? share : 0))]
  }
  const found = []
  while (next.size) {
    const [start] = next.keys(), x = [], y = []
    let at = start
    do {
      const [px, py] = place(at), after = next.get(at)
      x.push(px)
      y.push(py)
      next.delete(at)
      at = after
    } while (at !== start && at !== undefined)
    x.push(x[0])
    y.push(y[0])
    found.push([x, y])
  }
  return found
}

function marginals(density, {axes, side}) {
  const curves = axes.map(() => new Float64Array(side)), [dx, dy] = axes.map((axis) => axis[1] - axis[0])
  density.forEach((value, k) => {
    curves[0][k % side] += value * dy
    curves[1][Math.floor(k / side)] += value * dx
  })
  return curves
}

/** Outlines of regions with these shares of the mass, and both marginals on the strips; in one dimension the curve. */
function regionLines(density, grid, target, masses, tops, {WIDE, HIGH}) {
  if (grid.axes.length === 1) return [[grid.axes[0], density]]
  const [[x0, x1], [y0, y1]] = target.square, curves = marginals(density, grid)
  const heights = curves.map((curve, k) => Array.from(curve, (value) => Math.min(HIGH * value / (tops[k] || 1), 1)))
  const beyond = (at, low, high) => at >= low && at <= high ? at : NaN
  const above = [grid.axes[0].map((x) => beyond(x, x0, x1)), heights[0].map((h) => y1 + WIDE * (y1 - y0) * h)]
  const beside = [heights[1].map((h) => x1 + WIDE * (x1 - x0) * h), grid.axes[1].map((y) => beyond(y, y0, y1))]
  return [...densityLevels(density, masses).flatMap((level) => outlines(density, grid, level)), above, beside]
}

function regionAreas(density, grid, masses) {
  const [gx] = grid.axes, last = gx.length - 1
  const parts = grid.axes.length === 1
    ? [[[[...gx, gx[last], gx[0]], [...density, 0, 0]]]]
    : densityLevels(density, masses).map((level) => outlines(density, grid, level))
  const lines = asColumns(parts.flat()), level = new Float32Array(lines.x.length)
  let at = 0
  parts.forEach((part, k) => part.forEach(([x]) => { level.fill(k, at, at += x.length + 1) }))
  return {...lines, level}
}

/** A density of the plane as cells, brightest at its own peak. */
function heatImage(density, grid, {SIDE, BRIGHTEN}) {
  const cells = new Float64Array(SIDE * SIDE), counts = new Float64Array(SIDE * SIDE), n = grid.side
  density.forEach((value, k) => {
    const cell = Math.floor(Math.floor(k / n) * SIDE / n) * SIDE + Math.floor(k % n * SIDE / n)
    cells[cell] += value
    counts[cell]++
  })
  const means = cells.map((value, k) => value / counts[k]), top = largest(means) || 1
  const values = Float32Array.from(means, (value) => 0.5 - 0.5 * (value / top) ** BRIGHTEN)
  return {values, x: grid.box[0], y: grid.box[1], ends: ["approximate", "exact"], shape: [SIDE, SIDE]}
}

/** Dots whose areas are proportional to their weights, at most so many; in one dimension a rug below the curves. */
function dotColumns(draws, logWeights, largestPx, top, {MAX_DRAWN, INK, GOLDEN}) {
  const [m, d] = draws.shape, n = Math.min(m, MAX_DRAWN), found = {}
  for (const name of ["x", "y", "size", "weight"]) found[name] = new Float32Array(n)
  for (let k = 0; k < n; k++) {
    const row = n < m ? Math.floor(k * (m - 1) / (n - 1)) : k, weight = logWeights ? Math.exp(logWeights[row]) : 1 / m
    found.x[k] = draws[row * d]
    found.y[k] = d > 1 ? draws[row * d + 1] : -top * (0.02 + 0.06 * (row * GOLDEN % 1))
    found.size[k] = Math.min(Math.sqrt(weight * INK * m / n), largestPx)
    found.weight[k] = weight
  }
  return found
}

/** Marks of the exact posterior, the heights of its marginals, and in one dimension its peak. */
function exactMarks(p, grid, target, drawing) {
  const plane = grid.axes.length > 1, tops = plane ? marginals(p, grid).map(largest) : null
  const exact = asColumns(regionLines(p, grid, target, drawing.MASSES, tops, drawing))
  return {tops, top: plane ? null : largest(p), marks: {exact, areas: regionAreas(p, grid, drawing.MASSES)}}
}

// Then the run: it steps and measures, and sends a frame when the page has drawn the one before.

const SPEEDS = {slow: [1, 250], usual: [1, 33], fast: [Infinity, 60]} // steps per frame; the least ms of one, or the most of all
const FLOOR_SETS = 16, FLOOR_EVERY = 20, FIRST_MS = 1000 // frames between two sets; a page that opens waits for Play
let session = null, exact = null, playing = false, waiting = false, speed = "usual", floor = null, sent = ""
let drawing = null, look = null // numbers and method of the pictures
let drawn = null, known = null // the drawn part of the exact posterior; the part that the page has
let until = Infinity // it plays to this number of observations
let again = 0, frames = 0 // which loop is running; how many frames were sent
let resume = () => {} // goes on when the page has drawn
const told = (what) => self.postMessage(what)
const rested = (ms) => new Promise((done) => { setTimeout(done, ms) })

function open({target, method, knobs, seed, planned, floor: known, ...more}) {
  const made = new Target(revived(target));
  ({drawing, look, until} = more)
  session = new Session(made, method, knobs, seed, planned)
  exact = made.box ? new Exact(made) : null
  floor = known && {...known, done: FLOOR_SETS}
  show()
  baseline(++again, FIRST_MS)
}

function newFrame() {
  const {iteration, visited, state, ended, changes, start, seed, target, knobs, method} = session
  const draws = method.draws?.(state, knobs) ?? state.particles, weights = state.log_weights
  const frame = {kind: "frame", iteration, visited, ended, changes, start, seed, knobs, options: target.options,
    floor: floor?.done ? floor : null, left: state.prior_left ?? 0, marks: {}, particles: draws.shape[0], memory: call.memory()}
  if (weights) frame.ess = essOf(weights)
  if (exact) {
    const {grid, q, tv, kl} = judged(session.densities, target, exact), key = JSON.stringify([target.options, grid.side])
    if (key !== sent) drawn = exactMarks(exact.onGrid(grid).p, grid, target, drawing)
    sent = key
    Object.assign(frame, {tv, kl, top: drawn.top})
    frame.marks.approximate = asColumns(regionLines(q, grid, target, drawing.OUTLINE, drawn.tops, drawing))
    if (look.heat && target.dim === 2) frame.marks.image = heatImage(q, grid, drawing)
  }
  frame.marks.particles = dotColumns(draws, weights, look.largest, drawn?.top ?? 1, drawing)
  if (draws.shape[0] <= drawing.MAX_DRAWN) frame.origin = session.origin  // else another part of them is drawn each time
  return frame
}

function send(frame) {
  if (drawn !== known) Object.assign(frame.marks, drawn.marks)
  known = drawn
  waiting = true
  frames++
  session.follow()
  told(frame)
}

const show = () => send(newFrame())

// Messages are handled before the next step; a timer would take 4 ms.
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
    if (frames % FLOOR_EVERY === 0) moreFloor()
    if (!playing) told({kind: "paused"})
    const rest = most === 1 ? ms - (performance.now() - began) : 0 // the page moves the dots meanwhile
    if (rest > 0) await rested(rest)
  }
  if (!playing) baseline(mine)
}

/** One more set of independent draws for their value; whether there are more to come. */
function moreFloor() {
  if (!exact || !session.state.particles) return false
  const m = session.state.particles.shape[0], each = session.state.each ?? 1
  const rule = session.knobs.bandwidth_rule === "shaped" ? "shaped" : "local", key = JSON.stringify([m, each, rule])
  if (floor?.done === FLOOR_SETS && (floor.key === key || !floor.key)) return false
  if (floor?.key !== key) floor = {key, tv: 0, kl: 0, done: 0}
  const {tv, kl} = drawnSet(exact, session.target, m, floor.done, rule, each), k = floor.done
  floor = {key, tv: (floor.tv * k + tv) / (k + 1), kl: (floor.kl * k + kl) / (k + 1), done: k + 1}
  if (floor.done === FLOOR_SETS) told({kind: "floor", tv: floor.tv, kl: floor.kl})
  return floor.done < FLOOR_SETS
}

async function baseline(mine, ms = 0) {
  await rested(ms)
  while (mine === again && moreFloor()) await rested(0)
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
  pause() { playing = false },
  step({steps = 1}) {
    for (let k = 0; k < steps; k++) stepped()
    show()
  },
  restart({seed}) {
    session.seed = seed ?? session.seed
    session.restart()
    show()
  },
  set({knobs, restart}) {
    if (restart) {
      session.knobs = {...session.knobs, ...knobs}
      session.restart()
    } else session.set(knobs)
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
