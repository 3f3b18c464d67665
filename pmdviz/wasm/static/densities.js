// Weighted particles and density estimates, as `pmdviz.densities` has them. Each array of points has the shape (n, d) and is stored by rows.

const LOG2E = 1.4426950408889634, SCALE = Math.sqrt(LOG2E / 2), PADDED = 64
const LOG_ZERO = -1e300, LOG_ZERO_SINGLE = -1e30, UNDERFLOW_SINGLE = 1e-25, FARTHEST_SINGLE = 100
const SPREAD_FLOOR = 1e-4, PRIOR_FLOOR = 1e-9, WIDEST = 0.95, THIN = 1e-9, FLAT = 1e-4
const LOCAL_SCALE = [[1, 0.023], [2, 0.11], [3, 0.217], [5, 0.35], [7, 0.448], [10, 0.536], [15, 0.616], [20, 0.667],
  [30, 0.727], [50, 0.791]]

// Loops: `reduce` calls a function for each number of a grid.
function sum(values) {
  let total = 0
  for (let k = 0; k < values.length; k++) total += values[k]
  return total
}

function largest(values) {
  let top = -Infinity
  for (let k = 0; k < values.length; k++) top = Math.max(top, values[k])
  return top
}

const zip = (a, b, f) => a.map((value, k) => f(value, b[k]))
const range = (n) => Int32Array.from({length: n}, (_, k) => k)

const where = (values, test) => range(values.length).filter((k) => test(values[k], k))

/** The matrix of f(row, column). */
function table(rows, columns, f) {
  const out = matrix(rows, columns)
  for (let i = 0, at = 0; i < rows; i++) for (let k = 0; k < columns; k++) out[at++] = f(i, k)
  return out
}

const transposed = (a, scale = 1) => table(...a.shape.toReversed(), (k, i) => a[i * a.shape[1] + k] * scale)

/** Some rows, by number: of points, or of numbers. */
function rowsAt(values, rows) {
  const [, d = 1] = shapeOf(values), out = new values.constructor(rows.length * d)
  for (let i = 0; i < rows.length; i++) for (let k = 0; k < d; k++) out[i * d + k] = values[rows[i] * d + k]
  return shaped(out, ...[rows.length, ...shapeOf(values).slice(1)])
}

/** sum_i w_i values_i: (d,). */
function weightedSum(weights, values) {
  const d = values.shape[1]
  return Float64Array.from({length: d}, (_, k) => sum(weights.map((w, i) => w * values[i * d + k])))
}

const equalWeights = (n) => new Float64Array(n).fill(1 / n)
const meanOf = (points) => weightedSum(equalWeights(points.shape[0]), points)
const centredAt = (values, centre) => shaped(values.map((x, i) => x - centre[i % centre.length]), ...values.shape)
const squared = (values) => shaped(values.map((x) => x * x), ...values.shape)

/** Log-weights with logsumexp 0. */
function normalised(logWeights) {
  const top = largest(logWeights)
  if (top === -Infinity) throw new Error("Every particle has probability 0 after this batch. Restart the run.")
  const total = logSum(logWeights)
  return logWeights.map((x) => x - top - (total - top))
}

/** log sum exp, to the last digits however far below 0 the values are. */
function logSum(values) {
  const top = largest(values)
  return top + Math.log(sum(values.map((value) => Math.exp(value - top))))
}

const logAddExp = (a, b) => a === -Infinity && b === -Infinity ? a
  : Math.max(a, b) + Math.log1p(Math.exp(-Math.abs(a - b)))
const essOf = (logWeights) => 1 / sum(logWeights.map((x) => Math.exp(2 * x)))
const equalLogWeights = (m) => new Float64Array(m).fill(-Math.log(m))

const diagonal = (values) => table(values.length, values.length, (i, k) => i === k ? values[i] : 0)
const identity = (d, value = 1) => diagonal(new Float64Array(d).fill(value))
const added = (a, b) => shaped(a.map((x, k) => x + b[k]), ...a.shape)
const scaled = (a, by) => shaped(a.map((x) => x * by), ...a.shape)
const diagonalOf = (a) => Float64Array.from({length: a.shape[0]}, (_, k) => a[k * a.shape[0] + k])

/** L with L L' = a; null where there is none. */
function factorOf(a) {
  const out = shaped(Float64Array.from(a), 1, ...a.shape)
  return call.factorise(out) ? shaped(out, ...a.shape) : null
}

function cholesky(a) {
  const found = factorOf(a)
  if (!found) throw new Error("The covariance of the particles has no Cholesky factor. Restart with more particles.")
  return found
}

function inverseOf(factor) {
  const out = identity(factor.shape[0])
  call.solve(factor, out)
  return out
}

/** values (n, d) times the transpose of a (d, d). */
const timesTransposed = (values, a) => table(...values.shape, (i, j) => productOf(values, i, a, j))

function productOf(a, i, b, j) {
  const d = b.shape[1]
  let total = 0
  for (let k = 0; k < d; k++) total += a[i * d + k] * b[j * d + k]
  return total
}

const gram = (a) => timesTransposed(a, a)

/** The smallest singular value of a (d, d) for d = 1 and 2, its rows divided by `unit`. */
function narrowestOf(a, unit) {
  if (a.shape[0] === 1) return Math.abs(a[0] / unit[0])
  const [p, q, r, s] = [a[0] / unit[0], a[1] / unit[0], a[2] / unit[1], a[3] / unit[1]]
  const squares = p * p + q * q + r * r + s * s, det = Math.abs(p * s - q * r)
  return det / Math.sqrt(0.5 * (squares + Math.sqrt(Math.max(squares * squares - 4 * det * det, 0))))
}

const systematic = (weights, n, u) => bySearch(weights, Float64Array.from({length: n}, (_, k) => (k + u) / n))

const RESAMPLERS = {
  systematic: (rng, weights, n) => systematic(weights, n, rng.uniform()),
  stratified: (rng, weights, n) => bySearch(weights, rng.uniforms(n).map((u, k) => (k + u) / n)),
  multinomial: (rng, weights, n) => bySearch(weights, rng.uniforms(n).sort()),
  residual(rng, weights, n) {
    const u = rng.uniforms(n), top = largest(weights), raised = weights.map((w) => w / top), total = sum(raised)
    const shares = raised.map((w) => n * (w / total)), counts = shares.map((s) => Math.floor(s * (1 + 1e-12)))
    const missing = n - sum(counts), certain = []
    counts.forEach((count, k) => { for (let c = 0; c < count; c++) certain.push(k) })
    if (missing === 0) return Int32Array.from(certain)
    const left = zip(shares, counts, (s, c) => Math.max(s - c, 0))
    return Int32Array.from([...certain, ...call.search(left, u.slice(0, missing).sort(), missing)]).sort()
  },
}

function bySearch(weights, positions) {
  const top = largest(weights)
  return call.search(weights.map((w) => w / top), positions, positions.length)
}

/** One of the candidates (k n, d) for each of n cells. */
const thinned = (candidates, n, u) => call.thinned(transposed(candidates), n, u, n)

function countsOf(sorted) { // numbers and how often, of an ascending array
  const counts = new Map()
  for (const value of sorted) counts.set(value, (counts.get(value) ?? 0) + 1)
  return {at: Int32Array.from(counts.keys()), counts: Float64Array.from(counts.values())}
}

function momentsOf(points, weights) {
  const d = points.shape[1], mean = new Float64Array(d), covariance = matrix(d, d)
  call.moments(transposed(points), weights, 1, mean, covariance)
  for (let i = 0; i < d; i++) for (let k = 0; k < i; k++) covariance[k * d + i] = covariance[i * d + k]
  return {mean, covariance}
}

const spreadOf = (particles, weights) =>
  weightedSum(weights, squared(centredAt(particles, weightedSum(weights, particles)))).map(Math.sqrt)
const ownScale = (sd, scale) => zip(sd, scale, (s, unit) => s > PRIOR_FLOOR * unit ? s : unit)

function covarianceOf(particles, weights) {
  const d = particles.shape[1], c = centredAt(particles, weightedSum(weights, particles))
  return table(d, d, (j, k) => sum(weights.map((w, i) => w * c[i * d + j] * c[i * d + k])))
}

function floorOf(particles, weights, scale) {
  return diagonal(zip(spreadOf(particles, weights), scale, (s, unit) => (SPREAD_FLOOR * s + PRIOR_FLOOR * unit) ** 2))
}

function localScale(d) {
  const after = LOCAL_SCALE.findIndex(([known]) => known >= d)
  if (after < 0) return LOCAL_SCALE.at(-1)[1]
  const [high, there] = LOCAL_SCALE[after], [low, here] = LOCAL_SCALE[Math.max(after - 1, 0)]
  return high === low ? there : here + (there - here) * (Math.log(d) - Math.log(low)) / (Math.log(high) - Math.log(low))
}

function neighbourhoodCovariance(particles, weights, scale) {
  const [m, d] = particles.shape, unit = ownScale(spreadOf(particles, weights), scale)
  if (m < d + 2) return diagonal(unit.map((u) => localScale(d) * u * u))
  const centres = systematic(weights, 60, 0.5), count = Math.min(m, Math.max(Math.ceil(0.1 * m), d + 2))
  const columns = transposed(shaped(particles.map((x, i) => x / unit[i % d]), m, d)), enough = 0.1 * sum(weights)
  const distances = call.distances(columns, centres, [centres.length, m]), total = matrix(d, d)
  let counted = 0
  centres.forEach((centre, row) => {
    const own = distances.slice(row * m, (row + 1) * m), limit = Float64Array.from(own).sort()[count - 1]
    const chosen = call.nearest(own, limit, count, count)
    const ordered = Int32Array.from(Array.from(chosen).sort((a, b) => own[a] - own[b] || a - b))
    const kept = ordered.slice(0, call.extent(rowsAt(weights, ordered), enough, 25)), part = matrix(d, d)
    counted += call.covariance(particles, weights, kept, particles.slice(centre * d, (centre + 1) * d), part)
    part.forEach((value, k) => { total[k] += value })
  })
  return scaled(total, 1 / Math.max(counted, 1))
}

function medianDistance(points, leaveOut = 0) {
  const n = points.shape[0], top = largest(points.map(Math.abs)) || 1
  const distances = call.squared_distances(scaled(points, 1 / top), n * (n - 1) / 2).sort()
  const middle = (distances.length + leaveOut) >> 1
  if ((distances.length - leaveOut) % 2) return top * Math.sqrt(distances[middle])
  return top * 0.5 * (Math.sqrt(distances[middle - 1]) + Math.sqrt(distances[middle]))
}

function typicalDistance(particles, weights, scale) {
  const m = particles.shape[0], unit = sum(scale) / scale.length
  let chosen = range(m)
  const least = -largest(weights.map((w) => -w))
  if (m > 500 || largest(weights) > least * (1 + PRIOR_FLOOR)) chosen = systematic(weights, 500, 0.5)
  const {counts} = countsOf(chosen)
  if (counts.length < 2) return unit
  const withItself = sum(counts.map((c) => c * (c - 1) / 2))
  return Math.max(medianDistance(rowsAt(particles, chosen), withItself), PRIOR_FLOOR * unit)
}

function factorBy(S, particles, weights, c, scale, smoothness) {
  const [m, d] = particles.shape
  return scaled(cholesky(added(S, floorOf(particles, weights, scale))), c * m ** (-1 / (d + 2 * smoothness)))
}

const RULES = {
  isotropic: (particles, weights, h) => identity(particles.shape[1], h),
  median: (particles, weights, h, scale) =>
    identity(particles.shape[1], h * typicalDistance(particles, weights, scale)),
  covariance(particles, weights, c, scale, smoothness) {
    const [m, d] = particles.shape
    const S = m >= d + 2 ? covarianceOf(particles, weights)
      : diagonal(ownScale(spreadOf(particles, weights), scale).map((s) => s * s))
    return factorBy(S, particles, weights, c, scale, smoothness)
  },
  local(particles, weights, c, scale, smoothness) {
    const S = scaled(neighbourhoodCovariance(particles, weights, scale), 1 / localScale(particles.shape[1]))
    return factorBy(S, particles, weights, c, scale, smoothness)
  },
}

function whiten(values, centre, factor) {
  const [n, d] = values.shape, padded = Math.ceil(n / PADDED) * PADDED, out = matrix(d, n)
  call.whiten(values, centre, scaled(factor, 1 / SCALE), out)
  const wide = matrix(d, padded)
  for (let k = 0; k < d; k++) wide.set(out.subarray(k * n, (k + 1) * n), k * padded)
  return wide
}

/** The exponents to the base 2 of weights, of as many as there are columns. */
const baseOf = (logWeights, bound, columns) => Float64Array.from({length: columns.shape[1]},
  (_, k) => Math.max(((logWeights[k] ?? -Infinity) - bound) * LOG2E, LOG_ZERO))
const shortOf = (base) => Float32Array.from(base, (b) => Math.max(b, LOG_ZERO_SINGLE))
const near = (values) => largest(values.map(Math.abs)) <= FARTHEST_SINGLE
const room = (kind) => shaped(new kind(2 * 512), 2, 512)
const single = (values) => shaped(Float32Array.from(values), ...shapeOf(values))

/** log of the sums of 2^(base - |x - y|^2), for targets as rows (n, d). */
function logSums(columns, base, rows, count) {
  const sums = new Float64Array(count), tops = new Float64Array(count)
  if (columns.shape[0] > 3) call.add_rows_many(columns, base, rows, sums, 0, count, room(Float64Array))
  else call.add_rows(columns, base, rows, sums, 0, count)
  call.redo_faint(columns, base, rows, sums, tops, 0, count)
  return sums.map((s, k) => Math.log(s) + tops[k] / LOG2E)
}

function logSumsSingle(columns, base, rows, count) {
  if (columns.shape[0] > 3) return logSums(columns, base, rows, count)
  const sums = new Float64Array(count)
  call.add_rows_single(single(columns), shortOf(base), single(rows), sums, 0, count)
  const faint = where(sums, (s) => !(s > UNDERFLOW_SINGLE)), out = sums.map(Math.log)
  if (faint.length) {
    const even = Int32Array.from([...faint, ...(faint.length % 2 ? [faint[0]] : [])])
    logSums(columns, base, rowsAt(rows, even), faint.length).forEach((value, k) => { out[faint[k]] = value })
  }
  return out
}

/** q(theta) = sum_i w_i N(theta | centre_i, L L'). */
class KernelDensity {
  constructor(particles, logWeights, factor, few = false) {
    Object.assign(this, {particles, centres: particles, logWeights, factor, few})
  }
  get weights() { return this.logWeights.map(Math.exp) }
  get peak() {
    return (2 * Math.PI) ** (-this.factor.shape[0] / 2) / diagonalOf(this.factor).reduce((a, b) => a * b, 1)
  }
  alive() {
    const rows = where(this.logWeights, (w) => w > -Infinity)
    return rows.length === this.logWeights.length ? [this.particles, this.logWeights]
      : [rowsAt(this.particles, rows), rowsAt(this.logWeights, rows)]
  }
  logDensity(points, singly = false) {
    const [particles, logWeights] = this.alive(), bound = largest(logWeights), d = particles.shape[1]
    const heaviest = logWeights.indexOf(bound), centre = particles.slice(heaviest * d, (heaviest + 1) * d)
    const columns = whiten(particles, centre, this.factor), targets = whiten(points, centre, this.factor)
    const sums = singly && near(columns) && near(targets) ? logSumsSingle : logSums
    const base = baseOf(logWeights, bound, columns)
    const away = bound - (0.5 * d * Math.log(2 * Math.PI) + sum(diagonalOf(this.factor).map(Math.log)))
    return sums(columns, base, transposed(targets), points.shape[0]).map((value) => value + away)
  }
  onGrid(grid) {
    const [particles, logWeights] = this.alive(), axes = grid.axes, factor = this.factor
    if (axes.length === 1) {
      const out = new Float64Array(axes[0].length), less = Math.log(Math.sqrt(2 * Math.PI) * factor[0])
      call.scatter_line(Float64Array.from(particles), logWeights.map((w) => (w - less) * LOG2E), factor[0], axes[0], out)
      return out
    }
    const [gx, gy] = axes, sdY = Math.hypot(factor[2], factor[3]), slope = factor[0] * factor[2] / sdY ** 2
    const sdX = factor[0] * factor[3] / sdY, less = Math.log(2 * Math.PI * factor[0] * factor[3])
    const peaks = logWeights.map((w) => (w - less) * LOG2E), out = matrix(gy.length, gx.length)
    const rows = rowsPerBlock(slope, sdX, factor[0], gx, gy)
    const reached = call.rows_reached(particles, 8 * sdY, gy, [particles.shape[0], 2])
    const scatter = rows ? call.scatter_blocks : call.scatter_rows, step = rows || gy.length
    for (let start = 0; start < gy.length; start += step) { // each block by itself: the whole is long to copy
      const rows = gy.slice(start, start + step), block = matrix(rows.length, gx.length)
      const own = shaped(reached.map((row) => row - start), ...reached.shape)
      scatter(particles, peaks, own, slope, sdX, sdY, gx, rows, block, 0, rows.length)
      out.set(block, start * gx.length)
    }
    return out
  }
  displaced(parents, noise) { return added(rowsAt(this.particles, parents), timesTransposed(noise, this.factor)) }
  inKernels(parents, noise) {
    return added(timesTransposed(rowsAt(this.particles, parents), inverseOf(this.factor)), noise)
  }
  narrowest(unit) { return narrowestOf(this.factor, unit) }
  widened(least, unit) {
    if (this.narrowest(unit) >= least) return this
    const wide = cholesky(added(gram(this.factor), diagonal(unit.map((u) => (least * u) ** 2))))
    return new KernelDensity(this.particles, this.logWeights, wide, this.few)
  }
}

function rowsPerBlock(slope, sdX, reachX, gx, gy) {
  const stepOf = (axis) => (axis.at(-1) - axis[0]) / (axis.length - 1)
  const half = 0.5 * (gx.at(-1) - gx[0]) + 8 * reachX + stepOf(gx)
  return [32, 16, 8].find((rows) => {
    const block = 0.5 * rows * stepOf(gy)
    return Math.abs(slope) / sdX ** 2 * block * (half + Math.abs(slope) * block) <= 550
  }) ?? 0
}

/** Kernels of the shape of each particle's cluster, which leave mean and covariance alone. */
class ShapedDensity {
  constructor(particles, logWeights, labels, centres, factors, few) {
    Object.assign(this, {particles, logWeights, labels, centres, factors, few})
  }
  get weights() { return this.logWeights.map(Math.exp) }
  get parts() {
    return this.known ??= this.factors.flatMap((factor, c) => {
      const rows = where(this.labels, (label, k) => label === c && this.logWeights[k] > -Infinity)
      return rows.length ? [new KernelDensity(rowsAt(this.centres, rows), rowsAt(this.logWeights, rows), factor)] : []
    })
  }
  get peak() { return Math.max(...this.parts.map((part) => part.peak)) }
  logDensity(points, singly = false) {
    return this.parts.map((part) => part.logDensity(points, singly)).reduce((a, b) => zip(a, b, logAddExp))
  }
  onGrid(grid) {
    const [first, ...others] = this.parts.map((part) => part.onGrid(grid))
    for (const other of others) for (let k = 0; k < first.length; k++) first[k] += other[k]
    return first
  }
  displaced(parents, noise) {
    const factorOf = (i) => this.factors[this.labels[parents[i]]]
    return added(rowsAt(this.centres, parents), table(...noise.shape, (i, j) => productOf(noise, i, factorOf(i), j)))
  }
  inKernels(parents, noise) {
    const weights = this.weights, shares = new Float64Array(this.factors.length)
    this.labels.forEach((label, k) => { shares[label] += weights[k] })
    const within = this.factors.map((factor, c) => scaled(gram(factor), shares[c])).reduce(added)
    return timesTransposed(this.displaced(parents, noise), inverseOf(cholesky(within)))
  }
  narrowest(unit) { return Math.min(...this.parts.map((part) => part.narrowest(unit))) }
  widened(least, unit) {
    const wide = new ShapedDensity(this.particles, this.logWeights, this.labels, this.centres, this.factors, this.few)
    wide.known = this.parts.map((part) => part.widened(least, unit))
    return wide
  }
}

// The choice of the shaped kernel: clusters, and the width by leaving one out.

const WIDTHS = [0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.65, 0.8, 0.95], START = 4

/** `places` keeps where the widths were found, and the next search begins there. */
function chosenShape(particles, weights, each = 1, places = null) {
  const [m, d] = particles.shape, centred = centredAt(particles, weightedSum(weights, particles))
  const sd = spreadOf(particles, weights), ess = 1 / sum(weights.map((w) => w * w))
  if (ess < d + 2 || !sd.every((s) => s > 0)) return {labels: new Int32Array(m), width: WIDTHS[8], shared: false}
  const learned = representatives(weights, 250 * (d + 1))
  const best = bestShape(shaped(centred.map((x, i) => x / sd[i % d]), m, d), weights, learned, ess, places ?? {})
  const usual = (sum(learned.map((w) => w * w)) * ess * each) ** (-1 / (d + 4))
  return {labels: best.labels, width: WIDTHS[best.place] * usual, shared: best.shared}
}

function representatives(weights, most) {
  if (weights.length <= most) return weights
  const out = new Float64Array(weights.length)
  for (const k of systematic(weights, most, 0.5)) out[k] += 1
  return out.map((count) => count / most)
}

function price(k, d, shared) { return k * d + (shared ? 1 : k) * d * (d + 1) / 2 }

function kindsOf(k, d, ess) {
  if (k === 1) return [false]
  const own = price(k, d, false), shared = price(k, d, true), most = price(1, d, false) + ess
  return [...(own <= most ? [false] : []), ...(shared <= most && own - shared > 0.01 * ess ? [true] : [])]
}

function bestShape(z, weights, learned, ess, places) {
  const [m, d] = z.shape, {at: seeds} = countsOf(systematic(learned, 30, 0.5))
  const judged = countsOf(systematic(learned, 400, 0.5))
  let best = {value: -Infinity, labels: new Int32Array(m), place: START, shared: false}
  for (let k = 1; k <= 4; k++) {
    const kinds = kindsOf(k, d, ess), labels = kinds.length ? clustersOf(z, weights, seeds, k, learned) : best.labels
    let here = null
    for (const shared of kinds) {
      const parts = whitenedClusters(z, learned, labels, judged.at, shared)
      if (!parts) continue
      const key = `${k} ${shared}`, [value, place] = bestWidth(parts, judged.counts, places[key] ?? Math.max(best.place, START))
      places[key] = place
      const found = {value: value - price(k, d, shared) / ess, labels, place, shared}
      if (!here || found.value > here.value) here = found
    }
    if (here && here.value <= best.value) break
    best = here ?? best
  }
  return best
}

function clustersOf(z, weights, seeds, k, learned) {
  const m = z.shape[0]
  if (k === 1) return new Int32Array(m)
  const chosen = where(learned, (w) => w !== 0), few = transposed(rowsAt(z, chosen)), their = rowsAt(learned, chosen)
  const places = Int32Array.from(seeds, (seed) => {
    const found = chosen.findIndex((row) => row >= seed)
    return found < 0 ? chosen.length : found
  })
  const found = call.clustered(few, their, places, k, chosen.length)
  const labels = call.assigned(transposed(z), few, their, found, k, m)
  const used = Array.from({length: k}, (_, c) => labels.includes(c))
  const fresh = used.map((_, c) => used.slice(0, c + 1).filter(Boolean).length - 1)
  return labels.map((label) => fresh[label])
}

function whitenedClusters(z, weights, labels, at, shared) {
  const d = z.shape[1], parts = []
  for (let c = 0; c <= largest(labels); c++) {
    const inside = where(labels, (label, k) => label === c && weights[k] > 0), own = rowsAt(weights, inside)
    const share = sum(own)
    if (!inside.length || (!shared && share ** 2 < 10 * (d + 1) * sum(own.map((w) => w * w)))) return null
    const {mean, covariance} = momentsOf(rowsAt(z, inside), own.map((w) => w / share))
    parts.push({inside, own, share, mean, covariance})
  }
  const within = parts.map((part) => scaled(part.covariance, part.share)).reduce(added)
  return parts.map(({inside, own, mean, covariance}) => {
    const factor = cholesky(added(shared ? within : covariance, identity(d, 1e-9)))
    const place = new Int32Array(z.shape[0]).fill(-1)
    inside.forEach((row, k) => { place[row] = k })
    const columns = whiten(rowsAt(z, inside), mean, factor), judged = whiten(rowsAt(z, at), mean, factor)
    return {kernels: kernelsOf(columns, own.map(Math.log), judged, rowsAt(place, at)),
      logScale: -sum(diagonalOf(factor).map(Math.log))}
  })
}

function kernelsOf(columns, logWeights, judged, own) {
  const bound = largest(logWeights), base = baseOf(logWeights, bound, columns), [d, wide] = judged.shape
  const rows = table(own.length + 2, d, (i, k) => i < own.length ? judged[k * wide + i] : 0)
  return {columns, base, single: shortOf(base), bound, rows, own}
}

function leaveOneOut({columns, base, single: short, bound, rows, own}, h, exact = false) {
  const d = columns.shape[0], n = own.length, kind = exact ? Float64Array : Float32Array
  const times = exact ? call.times : call.times_single
  const drawn = shaped(new kind(columns.length), ...columns.shape), places = shaped(new kind(rows.length), ...rows.shape)
  times(columns, Math.sqrt(1 - h * h) / h, drawn)
  times(rows, 1 / h, places)
  const sums = new Float64Array(n), tops = new Float64Array(n)
  if (exact) call.left_out_exactly(drawn, base, places, own, sums, tops)
  else if (d > 3) call.left_out_many(drawn, short, places, own, sums, room(Float32Array))
  else call.left_out(drawn, short, places, own, sums)
  const away = bound - d * (0.5 * Math.log(2 * Math.PI) + Math.log(h))
  return sums.map((s, k) => Math.log(!exact && !(s > UNDERFLOW_SINGLE) ? 0 : s) + tops[k] / LOG2E + away)
}

function leftOut(parts, h) {
  const every = (exact, of) => of.map((part) => leaveOneOut(part.kernels, h, exact).map((x) => x + part.logScale))
    .reduce((a, b) => zip(a, b, logAddExp))
  const total = every(false, parts), faint = where(total, (value) => value === -Infinity)
  if (faint.length) {
    const only = ({rows, own, ...all}) =>
      ({...all, rows: rowsAt(rows, [...faint, own.length, own.length + 1]), own: rowsAt(own, faint)})
    const few = parts.map((part) => ({...part, kernels: only(part.kernels)}))
    every(true, few).forEach((value, k) => { total[faint[k]] = value })
  }
  return total
}

function bestWidth(parts, counts, place) {
  const total = sum(counts), known = new Map()
  const value = (at) => {
    if (at < 0 || at >= WIDTHS.length) return -Infinity
    if (!known.has(at)) known.set(at, sum(leftOut(parts, WIDTHS[at]).map((x, k) => x * (counts[k] / total))))
    return known.get(at)
  }
  const way = value(place + 1) > value(place) ? 1 : -1
  while (value(place + way) > value(place)) place += way
  return [value(place), place]
}

function shapedDensity(particles, logWeights, shape, factor, scale) {
  const [m, d] = particles.shape, h = Math.min(shape.width * factor, WIDEST), weights = logWeights.map(Math.exp)
  const beyond = Math.max(1, Math.min(factor, shape.width * factor / WIDEST))
  const centres = shaped(Float64Array.from(particles), m, d), few = m < d + 2, found = [], shares = []
  for (let c = 0; c <= largest(shape.labels); c++) {
    const inside = where(shape.labels, (label) => label === c), own = rowsAt(weights, inside)
    const {mean, covariance} = clusterShape(rowsAt(particles, inside), own, scale, few), drawn = Math.sqrt(1 - h * h)
    for (const row of inside) for (let k = 0; k < d; k++)
      centres[row * d + k] = mean[k] + drawn * (particles[row * d + k] - mean[k])
    found.push(covariance)
    shares.push(sum(own))
  }
  const within = shape.shared ? found.map((each, c) => scaled(each, shares[c])).reduce(added) : null
  const covariances = found.map((each) => within ?? each)
  let factors = covariances.map(factorOf)
  if (factors.includes(null)) {
    factors = covariances.map((each) => cholesky(added(each, diagonal(diagonalOf(each).map((v) => FLAT ** 2 * v)))))
  }
  return new ShapedDensity(particles, logWeights, shape.labels, centres, factors.map((f) => scaled(f, beyond * h)), few)
}

function clusterShape(particles, weights, scale, few) {
  const [m, d] = particles.shape, share = sum(weights), w = share > 0 ? weights.map((x) => x / share) : equalWeights(m)
  let {mean, covariance} = momentsOf(particles, w)
  if (few) covariance = diagonal(ownScale(diagonalOf(covariance).map(Math.sqrt), scale).map((s) => s * s))
  else if (sum(w.map((x) => x * x)) * (d + 2) > 1) {
    covariance = added(covariance, diagonal(diagonalOf(covariance).map((v) => FLAT ** 2 * v)))
  }
  return {mean, covariance: added(covariance, diagonal(scale.map((s) => (THIN * s) ** 2)))}
}

function smoothed(particles, logWeights, knobs, scale, each = 1, places = null) {
  const weights = logWeights.map(Math.exp), [m, d] = particles.shape
  if (knobs.bandwidth_rule === "shaped") {
    return shapedDensity(particles, logWeights, chosenShape(particles, weights, each, places), knobs.bandwidth, scale)
  }
  const factor = RULES[knobs.bandwidth_rule](particles, weights, knobs.bandwidth, scale, knobs.smoothness)
  return new KernelDensity(particles, logWeights, factor, m < d + 2 && knobs.bandwidth_rule !== "isotropic")
}
