// A run: the random streams, the batches, the state; its density on a grid and the distances to the exact posterior.

// The widest cell of a plane is 1.4 sd of the narrowest kernel: TV is then within 0.0003 of its value on a fine grid.
const SIDES = {1: [512, 1024, 2048, 4096, 8192], 2: [112, 160, 224, 320, 448, 640]}, CELL = {1: 1, 2: 1.4}, NEGLIGIBLE = 1e-8, UNDERFLOW = 1e-12
const COARSE = 80, FAR = 8 // cells a side, and sds: what lies further from all modes is looked for on a coarse grid alone

/** Equal cells of a box [[low, high], ...]. */
class Grid {
  constructor(box, side) {
    Object.assign(this, {box, side, extent: box.map(([low, high]) => high - low)})
    this.axes = box.map(([low, high]) => Float64Array.from({length: side}, (_, k) => low + (high - low) * ((k + 0.5) / side)))
    this.volume = this.extent.reduce((a, b) => a * b, 1) / side ** box.length
  }
  /** Cell centres (n, d), row by row. */
  get points() {
    const {axes, side} = this
    return table(side ** axes.length, axes.length, (cell, k) => axes[k][k ? Math.floor(cell / side) : cell % side])
  }
}

/** The exact posterior in one or two dimensions. What Python knew of it comes along; after a change it is a sum. */
class Exact {
  constructor(target) {
    Object.assign(this, {target, box: target.box, kept: new Map()})
    if (target.exact) Object.assign(this, {logZ: target.exact.log_z, narrowest: target.exact.narrowest})
    else {
      const {grid, values} = this.fine
      this.logZ = logSum(values) + Math.log(grid.volume)
      this.narrowest = this.curvatureSd(grid, values)
    }
  }
  get fine() {
    if (!this.known) {
      const grid = new Grid(this.box, this.target.dim === 1 ? 4096 : 320)
      this.known = {grid, values: this.narrowest ? this.logJoint(grid) : this.target.logJoint(grid.points)}
    }
    return this.known
  }
  /** Smallest sd of the highest mode in units of the view's edges, by second differences at its cell. */
  curvatureSd(grid, values) {
    const at = values.indexOf(largest(values)), d = this.target.dim, steps = grid.extent.map((e) => e / grid.side)
    const peak = grid.points.slice(at * d, (at + 1) * d), precision = matrix(d, d)
    const moved = (...moves) => {
      const point = Float64Array.from(peak)
      for (const [axis, sign] of moves) point[axis] += sign * steps[axis]
      return [...point]
    }
    for (let i = 0; i < d; i++) for (let j = 0; j < d; j++) {
      const four = [[1, 1], [1, -1], [-1, 1], [-1, -1]].flatMap(([a, b]) => moved([i, a], [j, b]))
      const [a, b, c, e] = this.target.logJoint(shaped(Float64Array.from(four), 4, d))
      precision[i * d + j] = -(a - b - c + e) / (4 * steps[i] * steps[j])
    }
    const unit = this.target.view_box.map(([low, high]) => high - low)
    const inUnits = precision.map((x, k) => x * unit[Math.floor(k / d)] * unit[k % d])
    const middle = d === 1 ? inUnits[0] : 0.5 * (inUnits[0] + inUnits[3])
    const half = d === 1 ? 0 : Math.hypot(0.5 * (inUnits[0] - inUnits[3]), inUnits[1])
    return 1 / Math.sqrt(Math.max(middle + half, 1))
  }
  /** log p at the cells of a grid; kept for the last few grids. */
  onGrid(grid) {
    const key = JSON.stringify([grid.box, grid.side])
    if (!this.kept.has(key)) {
      if (this.kept.size > 3) this.kept.delete(this.kept.keys().next().value)
      const logP = this.logJoint(grid).map((value) => value - this.logZ), p = logP.map(Math.exp)
      this.kept.set(key, {logP, p, peak: largest(p)})
    }
    return this.kept.get(key)
  }
  /** log joint at the cells of a grid, -Infinity where a coarse grid of the plane has e^-32 of the peak or less. */
  logJoint(grid) {
    const {box, side, points} = grid
    if (box.length === 1) return this.target.logJoint(points)
    const coarse = this.target.logJoint(new Grid(box, COARSE).points), near = new Uint8Array(COARSE ** 2), cells = []
    const least = largest(coarse) - 0.5 * (FAR + 0.7 / (COARSE * this.narrowest)) ** 2, within = (k) => Math.max(0, Math.min(COARSE - 1, k))
    for (let j = 0; j < COARSE; j++) for (let i = 0; i < COARSE; i++) {
      if (coarse[j * COARSE + i] < least) continue
      for (const dj of [-1, 0, 1]) for (const di of [-1, 0, 1]) near[within(j + dj) * COARSE + within(i + di)] = 1
    }
    const where = Array.from({length: side}, (_, k) => Math.floor(k * COARSE / side)), out = new Float64Array(side * side).fill(-Infinity)
    for (let k = 0; k < out.length; k++) if (near[where[Math.floor(k / side)] * COARSE + where[k % side]]) cells.push(k)
    const values = this.target.logJoint(rowsAt(points, cells))
    cells.forEach((cell, k) => { out[cell] = values[k] })
    return out
  }
  /** n independent draws (n, d): a cell by its mass, uniform within it. */
  sample(rng, n) {
    const {grid, values} = this.fine, top = largest(values), d = grid.box.length
    const cells = bySearch(values.map((value) => Math.exp(value - top)), rng.uniforms(n).sort())
    const order = rng.shuffled(n), jitter = rng.uniforms(n * d), out = matrix(n, d)
    for (let i = 0; i < n; i++) {
      const cell = cells[order[i]], places = d === 1 ? [cell] : [cell % grid.side, Math.floor(cell / grid.side)]
      for (let k = 0; k < d; k++) out[i * d + k] = grid.axes[k][places[k]] + (jitter[i * d + k] - 0.5) * grid.extent[k] / grid.side
    }
    return out
  }
}

/** What a run is judged by: the density with the lowest TV. */
function judged(densities, target, exact) {
  const found = densities.map((density) => measured(density, target, exact))
  return densities[0].few ? found[0] : found.reduce((a, b) => b.tv < a.tv ? b : a)
}

/** q on a grid that resolves it and the posterior, TV and forward KL. */
function measured(density, target, exact) {
  const box = target.view_box, extent = box.map(([low, high]) => high - low)
  const narrowest = Math.min(density.narrowest(extent), exact.narrowest)
  const sides = SIDES[target.dim], side = sides.find((one) => CELL[target.dim] * narrowest * one >= 1) ?? sides.at(-1)
  const grid = new Grid(box, side), least = 1 / (CELL[target.dim] * side)
  const shown = density.narrowest(extent) >= least ? density : density.widened(least, extent)
  const q = shown.onGrid(grid), {logP, p, peak} = exact.onGrid(grid), faintest = UNDERFLOW * shown.peak
  let mass = 0, apart = 0, forward = 0
  const faint = []
  for (let k = 0; k < q.length; k++) {
    mass += q[k]
    apart += Math.abs(p[k] - q[k])
    if (p[k] > NEGLIGIBLE * peak) {
      if (q[k] < faintest) faint.push(k)
      else forward += p[k] * (logP[k] - Math.log(q[k]))
    }
  }
  if (faint.length) {
    const logQ = shown.logDensity(rowsAt(grid.points, faint), true)
    faint.forEach((k, at) => { forward += p[k] * (logP[k] - logQ[at]) })
  }
  const outside = Math.max(0, 1 - mass * grid.volume)
  return {grid, q, tv: 0.5 * (apart * grid.volume + outside), kl: forward * grid.volume}
}

/** What independent draws of the posterior get with the best kernel: one of 16 sets. */
function drawnSet(exact, target, m, k, rule, each) {
  const rng = new Generator([m, k])
  let draws = exact.sample(rng, each * m)
  if (each > 1) draws = rowsAt(draws, thinned(dividedBy(draws, spreadOf(draws, equalWeights(each * m))), m, rng.uniforms(m)))
  const knobs = {bandwidth_rule: rule, bandwidth: rule === "shaped" ? 1 : 0.6, smoothness: 2}
  return measured(smoothed(draws, equalLogWeights(m), knobs, target.scale, each), target, exact)
}

/** A live run: as `pmdviz.Session`, with the same random streams. `planned`: the recipe's changes of settings. */
class Session {
  constructor(target, method, knobs, seed, planned = []) {
    Object.assign(this, {target, name: method, method: METHODS[method], knobs, seed, planned})
    this.restart()
  }
  restart() {
    this.rng = new Generator(this.seed, [0])
    this.batches = new Batches(new Generator(this.seed, [1]), this.target.numData)
    this.start = this.knobs = this.fitted(this.knobs)
    this.state = this.method.init(this.rng, this.target, this.knobs)
    this.changes = []
    this.iteration = this.visited = 0
    this.places = {}  // places of the kernels' widths
    this.follow()
  }
  fitted(knobs) {
    return knobs.batch_size > this.target.numData ? {...knobs, batch_size: this.target.numData} : knobs
  }
  get ended() { return this.method.ended?.(this.state, this.knobs, this.target) ?? "" }
  get density() { return this.method.density(this.state, this.knobs, this.target, this.places) }
  get densities() { return this.method.densities?.(this.state, this.knobs, this.target) ?? [this.density] }
  step() {
    const kind = this.method.batches(this.state, this.knobs)
    const size = this.method.batchSize(this.state, this.knobs, this.target.numData)
    const batch = this.target.rows(this.batches.draw(size, kind))
    const {parents, ...state} = this.method.step(this.rng, this.state, this.target, batch, this.knobs)
    this.state = state
    if (parents && this.origin) this.origin = rowsAt(this.origin, parents)
    this.visited += this.state.cost
    this.iteration++
    const change = this.planned.find((each) => each.iteration === this.iteration)
    if (change) this.note(change.knobs)
  }
  /** From now on `origin` has the row from which each particle comes; draws of chains do not move. */
  follow() { this.origin = this.state.particles ? range(this.state.particles.shape[0]) : null }
  /** Change settings here and now; what the recipe had planned for later is dropped. */
  set(changes) {
    this.planned = this.planned.filter((each) => each.iteration <= this.iteration)
    if (this.iteration === 0) {
      this.knobs = {...this.knobs, ...changes}
      this.restart()
    } else this.note(changes)
  }
  note(changes) {
    this.knobs = this.fitted({...this.knobs, ...changes})
    const last = this.changes.at(-1)
    if (last?.iteration === this.iteration) Object.assign(last.knobs, changes)
    else this.changes.push({iteration: this.iteration, knobs: {...changes}})
  }
}
