// The steps of the methods, as `pmdviz.methods` takes them, with the same random numbers: `step(rng, state, target,
// batch, knobs)` gives the next state, a plain object, with `cost`: what the step visited.

const CANDIDATES = {balanced: 16, independent: 1}, MAX_NUMBERS = 4000000, ROUNDING = 1e-9
const candidatesEach = (draws, n, d) => Math.max(1, Math.min(CANDIDATES[draws], Math.floor(MAX_NUMBERS / (n * d))))
const essBelow = (ess, threshold, m) => ess < threshold * m * (1 - ROUNDING)
const dividedBy = (points, scale) => shaped(points.map((x, i) => x / scale[i % scale.length]), ...points.shape)

function fromPrior(rng, target, n, draws = "independent") {
  const each = candidatesEach(draws, n, target.dim), candidates = target.samplePrior(rng, each * n)
  if (each === 1) return candidates
  return rowsAt(candidates, thinned(dividedBy(candidates, target.scale), n, rng.uniforms(n)))
}

function childrenOf(rng, density, n, draws, resampler) {
  const d = density.particles.shape[1], each = candidatesEach(draws, n, d)
  let parents = RESAMPLERS[resampler](rng, density.weights, each * n)
  let noise = rng.normals(each * n, d)
  if (each > 1) {
    const chosen = thinned(density.inKernels(parents, noise), n, rng.uniforms(n))
    parents = rowsAt(parents, chosen)
    noise = rowsAt(noise, chosen)
  }
  return {particles: density.displaced(parents, noise), parents}
}

/** An even number where it is half way between two. */
const roundedHalf = (x) => x % 1 === 0.5 ? Math.floor(x) + Math.floor(x) % 2 : Math.round(x)
const decayed = (t, {eta, n0, kappa}) => Math.min(1, eta / (n0 + t ** kappa))
const SCHEDULES = {
  decay: (t, knobs) => decayed(t, knobs),
  constant: (t, knobs) => knobs.step_size,
  theorem6: (t, {delta, gradient_bound: bound, smoothness: b}, m, d) =>
    Math.min(2 / (t + 1), delta / (bound * m ** (b / (d + 2 * b)))),
}
const GROWTHS = {
  fixed: (t, knobs) => knobs.num_particles,
  power: (t, knobs) => Math.min(knobs.most_particles, roundedHalf(knobs.num_particles * t ** knobs.growth_exponent)),
  jump: (t, knobs) => t <= knobs.until ? knobs.num_particles : knobs.most_particles,
}

const WARM_BATCH = 10, GROWN = 1.5, SINGLE_FROM = 4000

const nextStep = (state) => state.iteration - state.held - state.warm_iterations + 1
const isWarming = (state) => nextStep(state) < 1

/** The largest step along `slope` up to `most` that keeps a share of the effective sample size. */
function limitedStep(logWeights, slope, most, share) {
  const rows = where(logWeights, (w, k) => w > -Infinity && slope[k] > -Infinity)
  if (share === 0 || !rows.length) return most
  return call.largest_step(rowsAt(logWeights, rows), rowsAt(slope, rows), most, share)
}

function rejuvenationDue(state, knobs, wanted) {
  const m = state.particles.shape[0], t = nextStep(state), {policy} = knobs
  if (state.iteration > 0 && (policy === "always" || policy === "until" && t <= knobs.until + 1)) return true
  if (policy === "ess" && essBelow(essOf(state.log_weights), knobs.ess_threshold, m)) return true
  const turned = wanted(state.drawn_at) !== m, grown = policy !== "never" && !(m <= wanted(t) && wanted(t) < GROWN * m)
  return wanted(t) !== m && (turned || grown)
}

const PMD = {
  init(rng, target, knobs) {
    const m = GROWTHS[knobs.growth](1, knobs), particles = fromPrior(rng, target, m, knobs.draws)
    const logPrior = target.logPrior(particles)
    return {particles, log_weights: equalLogWeights(m), log_proposal: logPrior, log_prior: logPrior, iteration: 0,
      warm_iterations: knobs.warm_start ? Math.ceil(target.numData / WARM_BATCH) : 0, drawn_at: 1,
      each: candidatesEach(knobs.draws, m, target.dim), held: 0, rest: 0, rest_rows: null, in_a_row: 0, prior_left: 1}
  },
  batchSize(state, knobs, numData) {
    if (state.rest) return 0
    if (isWarming(state)) return Math.min(WARM_BATCH, numData - WARM_BATCH * (state.iteration - state.held))
    return knobs.batch_size
  },
  batches: (state, knobs) => isWarming(state) ? "epochs" : knobs.batches,
  step(rng, state, target, batch, knobs) {
    const wanted = (t) => GROWTHS[knobs.growth](Math.max(t, 1), knobs)
    if (rejuvenationDue(state, knobs, wanted)) state = this.rejuvenated(rng, state, target, knobs, wanted(nextStep(state)))
    const warm = isWarming(state), rows = state.rest ? state.rest_rows : batch, count = target.countOf(rows)
    const likelihood = target.logLikelihood(state.particles, rows), old = state.log_weights
    let most, slope, size, logWeights
    if (warm) {
      most = state.rest || 1
      size = limitedStep(old, likelihood, most, knobs.step_limit)
      logWeights = old.map((w, k) => w + size * likelihood[k])
    } else {
      const [m, d] = state.particles.shape, by = target.numData / count
      most = SCHEDULES[knobs.schedule](nextStep(state), knobs, m, d)
      slope = old.map((_, k) => state.log_prior[k] + by * likelihood[k] - state.log_proposal[k])
      const moves = slope.map((pull, k) => pull - (old[k] > -Infinity ? old[k] : 0))
      size = limitedStep(old, moves, most, knobs.step_limit)
      logWeights = slope.map((pull, k) => (size < 1 ? (1 - size) * old[k] : 0) + size * pull)
    }
    const limited = Number(size < most), rest = warm ? most - size : 0
    const left = warm ? state.prior_left - size * count / target.numData : (1 - size) * state.prior_left
    return {...state, log_weights: normalised(logWeights), iteration: state.iteration + 1, held: state.held + limited,
      in_a_row: (state.in_a_row + 1) * limited, prior_left: Math.max(left, 0), rest, rest_rows: rest ? rows : null,
      cost: state.rest ? 0 : target.countOf(batch)}
  },
  rejuvenated(rng, state, target, knobs, m) {
    const travels = state.in_a_row && !isWarming(state)
    const density = this.density(travels ? {...state, each: 1} : state, knobs, target)
    const {particles, parents} = childrenOf(rng, density, m, knobs.draws, knobs.resampler)
    return {...state, particles, parents, log_weights: equalLogWeights(m), log_prior: target.logPrior(particles),
      log_proposal: density.logDensity(particles, m >= SINGLE_FROM), drawn_at: Math.max(nextStep(state), 1),
      each: candidatesEach(knobs.draws, m, target.dim)}
  },
  density: (state, knobs, target, places = null) =>
    smoothed(state.particles, state.log_weights, knobs, target.scale, state.each ?? 1, places),
}

const IMPORTANCE = {
  init: (rng, target, {num_particles: m}) =>
    ({particles: fromPrior(rng, target, m), log_weights: equalLogWeights(m), iteration: 0, seen: 0}),
  batchSize: (state, knobs, numData) => Math.min(knobs.batch_size, numData - state.seen),
  batches: () => "epochs",
  ended: (state, knobs, target) => state.seen >= target.numData ? "one pass only" : "",
  step(rng, state, target, batch) {
    const likelihood = target.logLikelihood(state.particles, batch), count = target.countOf(batch)
    const raised = zip(state.log_weights, likelihood, (w, l) => w + l)
    return {...state, log_weights: normalised(raised), iteration: state.iteration + 1, seen: state.seen + count, cost: count}
  },
  density: PMD.density,
}

const RELATED = 0.1, HALVINGS = 60

function temperedEss(state, beta) {
  const top = largest(state.log_likelihood)
  const raised = zip(state.log_weights, state.log_likelihood, (w, l) => w + (beta - state.beta) * (l - top))
  const most = largest(raised), weights = raised.map((x) => Math.exp(x - most))
  return sum(weights) ** 2 / sum(weights.map((w) => w * w))
}

function nextBeta(state, knobs) {
  const {num_temperatures: count, power} = knobs
  const rungs = Array.from({length: count}, (_, k) => ((k + 1) / count) ** power)
  const next = knobs.ladder === "fixed" && rungs.find((beta) => beta > state.beta)
  if (next) return next
  const wanted = knobs.ess_threshold * state.log_weights.length
  let low = state.beta, high = 1
  if (temperedEss(state, 1) >= wanted) return 1
  for (let k = 0; k < HALVINGS; k++) {
    const middle = 0.5 * (low + high)
    if (temperedEss(state, middle) >= wanted) low = middle
    else high = middle
  }
  return high
}

function correlationOf({particles, starts, log_weights: logWeights}) {
  const weights = logWeights.map(Math.exp), centred = (x) => centredAt(x, weightedSum(weights, x))
  const now = centred(particles), start = centred(starts), n = now.shape[0], d = now.shape[1]
  const both = weightedSum(weights, shaped(now.map((x, k) => x * start[k]), n, d))
  const squares = zip(weightedSum(weights, squared(now)), weightedSum(weights, squared(start)), (a, b) => a * b)
  return squares.every((s) => s > 0) ? largest(both.map((b, k) => b / Math.sqrt(squares[k]))) : 1
}

const SMC_MCMC = {
  init(rng, target, {num_particles: m}) {
    const particles = fromPrior(rng, target, m)
    return {particles, log_weights: equalLogWeights(m), log_prior: target.logPrior(particles),
      log_likelihood: new Float64Array(m), beta: 0, moves: 0, iteration: 0, starts: particles, enough: 0}
  },
  batchSize: () => 0,
  batches: () => "whole",
  ended: (state, knobs) =>
    state.enough && state.moves >= Math.max(state.enough, knobs.num_moves) ? "temperature 1 reached" : "",
  step(rng, state, target, batch, knobs) {
    const m = state.particles.shape[0], threshold = knobs.ladder === "adaptive" ? 1 : knobs.ess_threshold
    const due = knobs.num_particles !== m || essBelow(essOf(state.log_weights), threshold, m)
    if (due) state = this.resampled(rng, state, knobs.num_particles)
    if (state.iteration === 0) state = {...state, log_likelihood: target.logLikelihood(state.particles, batch)}
    else {
      state = this.moved(rng, state.moves ? state : {...state, starts: state.particles}, target, batch, knobs)
      if (state.beta === 1 && !state.enough && correlationOf(state) < RELATED) state.enough = 2 * state.moves
    }
    if (state.beta < 1 && (state.iteration === 0 || state.moves >= knobs.num_moves)) {
      const beta = nextBeta(state, knobs)
      const raised = zip(state.log_weights, state.log_likelihood, (w, l) => w + (beta - state.beta) * l)
      state = {...state, log_weights: normalised(raised), beta, moves: 0}
    }
    return {...state, iteration: state.iteration + 1, cost: target.numData}
  },
  resampled(rng, state, m) {
    const parents = systematic(state.log_weights.map(Math.exp), m, rng.uniform()), out = {...state, parents}
    for (const name of ["particles", "log_prior", "log_likelihood", "starts"]) out[name] = rowsAt(state[name], parents)
    return {...out, log_weights: equalLogWeights(m), moves: 0, enough: 0}
  },
  moved(rng, state, target, batch, knobs) {
    const [m, d] = state.particles.shape, weights = state.log_weights.map(Math.exp)
    const shape = knobs.move_shape === "local"
      ? scaled(neighbourhoodCovariance(state.particles, weights, target.scale), 1 / localScale(d))
      : covarianceOf(state.particles, weights)
    const factor = scaled(cholesky(added(shape, floorOf(state.particles, weights, target.scale))),
      knobs.move_scale * 2.38 / Math.sqrt(d))
    const proposed = added(state.particles, timesTransposed(rng.normals(m, d), factor))
    const logU = rng.uniforms(m).map((u) => Math.log1p(-u))
    const logPrior = target.logPrior(proposed), likelihood = target.logLikelihood(proposed, batch)
    const old = zip(state.log_prior, state.log_likelihood, (p, l) => p + state.beta * l)
    const accepted = logU.map((u, i) => u < logPrior[i] + state.beta * likelihood[i] - old[i])
    const next = (now, found, each = 1) => now.map((x, k) => accepted[Math.floor(k / each)] ? found[k] : x)
    return {...state, moves: state.moves + 1, particles: shaped(next(state.particles, proposed, d), m, d),
      log_prior: next(state.log_prior, logPrior), log_likelihood: next(state.log_likelihood, likelihood)}
  },
  density: PMD.density,
}

const GOLDEN = 0.6180339887498949, CLOSEST = 1e-6
const DIVISORS = {liu_wang: (m) => Math.log(m + 1), thesis: (m) => 2 * Math.log(m + 1), median: () => 1,
  local: (m) => Math.log(m + 1)}

function sampledMedianDistance(points, pairs = 20000) {
  const m = points.shape[0]
  if (m * (m - 1) / 2 <= pairs) return medianDistance(points)
  const count = Math.ceil(pairs / m), top = largest(points.map(Math.abs)) || 1
  const steps = Int32Array.from({length: count}, (_, r) => 1 + Math.floor((r + 1) * GOLDEN % 1 * ((m - 1) >> 1)))
  const sorted = call.squared_at_steps(scaled(points, 1 / top), steps, count * m).sort(), half = sorted.length >> 1
  return top * Math.sqrt(sorted.length % 2 ? sorted[half] : 0.5 * (sorted[half - 1] + sorted[half]))
}

function distanceInModes(particles, scale) {
  const [m, d] = particles.shape
  const S = scaled(neighbourhoodCovariance(particles, equalWeights(m), scale), 1 / localScale(d))
  const floor = diagonal(zip(scale, diagonalOf(S), (s, v) => CLOSEST ** 2 * (s * s + v)))
  const logs = diagonalOf(cholesky(added(S, floor))).map(Math.log)
  return Math.sqrt(2 * d * (1 - 2 / (9 * d)) ** 3) * Math.exp(mean(logs))
}

function squaredWidth(particles, knobs, target) {
  if (knobs.length_scale_rule === "given") return knobs.length_scale ** 2
  const m = particles.shape[0], sd = mean(target.scale)
  let distance = sd
  if (knobs.length_scale_rule === "local") distance = distanceInModes(particles, target.scale)
  else if (m > 1) distance = knobs.median === "exact" ? medianDistance(particles) : sampledMedianDistance(particles)
  return Math.max(distance, CLOSEST * sd) ** 2 / DIVISORS[knobs.length_scale_rule](m)
}

const FORCES = {
  rbf(particles, scores, h) {
    const [m, d] = particles.shape, sums = new Float64Array(m), out = matrix(m, d)
    const centred = centredAt(particles, meanOf(particles))
    const pulls = shaped(scores.map((s, k) => s - 2 / h * centred[k]), m, d)
    call.stein_rows(transposed(centred, Math.sqrt(LOG2E / h)), transposed(pulls), out, sums, 0, m)
    return shaped(out.map((f, k) => (f + 2 / h * centred[k] * sums[Math.floor(k / d)]) / m), m, d)
  },
  imq(particles, scores, h) {
    const [m, d] = particles.shape, sums = new Float64Array(m), drive = matrix(m, d), apart = matrix(m, d)
    const root = Math.sqrt(h), centred = scaled(centredAt(particles, meanOf(particles)), 1 / root)
    const columns = transposed(centred)
    call.imq_rows(columns, transposed(scores), columns, drive, apart, sums, 0, m)
    return shaped(drive.map((f, k) => (f + (centred[k] * sums[Math.floor(k / d)] - apart[k]) / root) / m), m, d)
  },
}

const OPTIMISERS = {
  adam(g, first, second, t) {
    const a = first.map((x, k) => 0.9 * x + (1 - 0.9) * g[k]), b = second.map((x, k) => 0.99 * x + (1 - 0.99) * g[k] ** 2)
    return [a.map((x, k) => x / (1 - 0.9 ** t) / (Math.sqrt(b[k] / (1 - 0.99 ** t)) + 1e-8)), a, b]
  },
  adagrad(g, first, second) {
    const b = second.map((x, k) => x + g[k] ** 2)
    return [g.map((x, k) => x / (Math.sqrt(b[k]) + 1e-8)), first, b]
  },
  plain: (g, first, second) => [g, first, second],
}

function temperatureOf(iteration, knobs) {
  if (knobs.annealing === "off") return 1
  const rung = Math.min(1 + Math.floor(iteration / knobs.steps_per_temperature), knobs.num_temperatures)
  return (rung / knobs.num_temperatures) ** knobs.power
}

const SVGD = {
  init(rng, target, {num_particles: m}) {
    const particles = fromPrior(rng, target, m), zeros = () => matrix(m, target.dim)
    return {particles, log_weights: equalLogWeights(m), first: zeros(), second: zeros(), iteration: 0}
  },
  batchSize: (state, knobs) => knobs.batch_size,
  batches: (state, knobs) => knobs.batches,
  /** Another number of particles: a random subset, or all and copies, moved by the noise of their kernel. */
  resized(rng, state, target, knobs) {
    const old = state.particles.shape[0], m = knobs.num_particles, out = {...state, log_weights: equalLogWeights(m)}
    if (m === old) return state
    const keys = rng.uniforms(old), order = [...range(old)].sort((a, b) => keys[a] - keys[b])
    const rows = Int32Array.from({length: m}, (_, k) => m < old ? 0 : k < old ? k : order[(k - old) % old])
    if (m < old) rows.set(order.slice(0, m).sort((a, b) => a - b))
    for (const name of ["particles", "first", "second"]) out[name] = rowsAt(state[name], rows)
    out.parents = rows
    if (m > old) {
      const d = target.dim, density = this.density(state, knobs, target)
      const moved = density.displaced(rows.slice(old), rng.normals(m - old, d)), inside = target.logPrior(moved)
      moved.forEach((x, k) => { if (inside[Math.floor(k / d)] > -Infinity) out.particles[old * d + k] = x })
    }
    return out
  },
  step(rng, state, target, batch, knobs) {
    state = this.resized(rng, state, target, knobs)
    const t = state.iteration + 1, x = state.particles, [m, d] = x.shape, beta = temperatureOf(state.iteration, knobs)
    let scores = target.slopes(x, batch)
    if (beta !== 1) scores = added(scaled(scores, beta), scaled(target.priorSlopes(x), 1 - beta))
    if (!scores.every(Number.isFinite)) throw new Error("The gradient of the log density is not finite. Restart with a smaller step size.")
    const h = squaredWidth(x, knobs, target), force = FORCES[knobs.kernel](x, scores, h)
    const inUnits = force.map((f, k) => f * target.scale[k % d])
    const [direction, first, second] = OPTIMISERS[knobs.optimiser](inUnits, state.first, state.second, t)
    const rho = decayed(t, knobs), count = target.countOf(batch)
    const particles = shaped(x.map((value, k) => value + rho * target.scale[k % d] * direction[k]), m, d)
    return {...state, particles, first: shaped(first, m, d), second: shaped(second, m, d), iteration: t, cost: count}
  },
  density: PMD.density,
}
