// Markov chains: their draws, how their step is tuned, and their diagnostics (`pmdviz.methods.mcmc`).
// The state of a chain has `draws` (n, d) and `iteration`; a run of several chains is {chains: [...]}.

const FIRST_TIME_STEP = 0.1, CHAIN_REACH = 1e6
const UNTUNED = {steps: 0, shortfall: 0, log_step: Math.log(FIRST_TIME_STEP), averaged: Math.log(FIRST_TIME_STEP)}

function placeOf(state) {
  const [n, d] = state.draws.shape
  return shaped(state.draws.slice((n - 1) * d), 1, d)
}

/** Draws are kept in an array that doubles, so a long chain is not copied at each step. */
function appendedDraw(state, theta) {
  const [n, d] = state.draws.shape
  let room = state.room
  if (!room || room.used !== n || room.array.length < (n + 1) * d) {
    room = {array: new Float64Array(2 * (n + 1) * d), used: n}
    room.array.set(state.draws)
  }
  room.array.set(theta, n * d)
  room.used = n + 1
  return {...state, room, draws: shaped(room.array.subarray(0, (n + 1) * d), n + 1, d), iteration: state.iteration + 1}
}

function planOf(knobs, patient) {
  if (knobs.burn_in > 0 && knobs.burn_in < 1) return {draws: patient, towards: FIRST_TIME_STEP, gamma: 0.2}
  return {draws: Math.floor(knobs.burn_in), towards: 10 * FIRST_TIME_STEP, gamma: 0.05}
}

function tunedBy(tuning, missing, plan) {
  const t = tuning.steps + 1, shortfall = tuning.shortfall + (missing - tuning.shortfall) / (t + 10)
  const logStep = Math.log(plan.towards) - Math.sqrt(t) / plan.gamma * shortfall
  return {steps: t, shortfall, log_step: logStep, averaged: t ** -0.75 * logStep + (1 - t ** -0.75) * tuning.averaged}
}

const isTuned = (state, knobs, plan) => knobs.tune && state.iteration < plan.draws
function stepOf(state, knobs, plan, fixed) {
  if (!knobs.tune) return fixed
  return Math.exp(state.iteration < plan.draws ? state.tuning.log_step : state.tuning.averaged)
}

/** The judged draws: after the burn-in, thinned. */
function judgedOf(state, knobs) {
  const [n] = state.draws.shape, last = state.iteration
  const left = knobs.burn_in >= 1 ? Math.floor(knobs.burn_in)
    : Math.max(0, Math.min(Math.floor(knobs.burn_in * last), last - 1))
  const rows = range(n).filter((k) => k > left && (k - left - 1) % knobs.thinning === 0)
  return rows.length ? rowsAt(state.draws, rows) : shaped(Float64Array.from(state.draws), ...state.draws.shape)
}

const chainsOf = (state) => state.chains ?? [state]

function joined(parts) {
  const out = matrix(sum(parts.map((part) => part.shape[0])), parts[0].shape[1])
  let at = 0
  for (const part of parts) {
    out.set(part, at)
    at += part.length
  }
  return out
}

const judgedDraws = (state, knobs) => joined(chainsOf(state).map((chain) => judgedOf(chain, knobs)))

function estimateOf(draws, scale) { // kernels of 0.1 median distances: Dai et al. 2016, Appendix H.1
  const [n, d] = draws.shape, row = (i) => draws.subarray(i * d, (i + 1) * d)
  const distinct = range(n).filter((i) => !i || row(i).some((x, k) => x !== row(i - 1)[k])).length
  const measured = distinct > 1 ? draws : rowsAt(draws, [0])
  const factor = RULES.median(measured, equalWeights(measured.shape[0]), 0.1, scale)
  return new KernelDensity(draws, equalLogWeights(n), factor, distinct < d + 2)
}

function gaussianOf(draws, scale) { // one Gaussian with their mean and covariance
  const [n, d] = draws.shape, equal = equalWeights(n)
  const covariance = scaled(covarianceOf(draws, equal), n / Math.max(n - 1, 1))
  const factor = cholesky(added(covariance, floorOf(draws, equal, scale)))
  return new KernelDensity(shaped(meanOf(draws), 1, d), new Float64Array(1), factor)
}

/** A method whose state is the draws of one chain or several; `move` is of one chain, which begins with `start`. */
function chainMethod({move, start = {}, batchSize = () => 0, batches = () => "whole"}) {
  return {
    init(rng, target, knobs) {
      const begun = () => ({draws: target.samplePrior(rng, 1), iteration: 0, ...start})
      const chains = Array.from({length: knobs.num_chains}, begun)
      return chains.length > 1 ? {chains, iteration: 0} : chains[0]
    },
    batchSize: (state, knobs) => batchSize(knobs) * chainsOf(state).length,
    batches,
    step(rng, state, target, batch, knobs) {
      if (!state.chains) return move(rng, state, target, batch, knobs)
      const size = batchSize(knobs)
      const own = (k) => size ? rowsAt(batch, range(size).map((row) => k * size + row)) : batch
      const chains = state.chains.map((chain, k) => move(rng, chain, target, own(k), knobs))
      return {chains, iteration: state.iteration + 1, cost: sum(chains.map((chain) => chain.cost))}
    },
    density: (state, knobs, target) => estimateOf(judgedDraws(state, knobs), target.scale),
    densities: (state, knobs, target) =>
      [estimateOf, gaussianOf].map((made) => made(judgedDraws(state, knobs), target.scale)),
    draws: judgedDraws,
  }
}

const logJointAt = (target, theta, batch) => target.logJoint(theta, batch)[0]
const UNTRIED = {log_joint: null, gradient: null, tuning: UNTUNED}

const RANDOM_WALK = chainMethod({
  start: UNTRIED,
  move(rng, state, target, batch, knobs) {
    const here = placeOf(state), asked = state.log_joint === null ? 2 : 1
    if (asked === 2) state = {...state, log_joint: logJointAt(target, here, batch)}
    const d = target.dim, plan = planOf(knobs, 200), scale = stepOf(state, knobs, plan, knobs.scale)
    const tuning = isTuned(state, knobs, plan), normals = rng.normals(d + 1)
    const uniform = call.uniforms_of(normals.slice(d), 1)[0]
    const there = shaped(here.map((x, k) => x + scale * 2.38 / Math.sqrt(d) * target.scale[k] * normals[k]), 1, d)
    const found = logJointAt(target, there, batch)
    const chance = found > -Infinity ? Math.exp(Math.min(0, found - state.log_joint)) : 0, accepted = uniform < chance
    if (tuning) state = {...state, tuning: tunedBy(state.tuning, 0.234 + (0.44 - 0.234) / d - chance, plan)}
    if (accepted) state = {...state, log_joint: found}
    return {...appendedDraw(state, accepted ? there : here), cost: asked * target.numData}
  },
})

/** A leapfrog trajectory: where it ends, its gradients, and whether it diverged. */
function trajectory(target, theta, momentum, gradient, step, count, batch) {
  const d = target.dim, unit = target.scale
  theta = shaped(Float64Array.from(theta), 1, d)
  momentum = Float64Array.from(momentum)
  for (let taken = 0; taken < count; taken++) {
    for (let k = 0; k < d; k++) {
      momentum[k] += 0.5 * step * unit[k] * gradient[k]
      theta[k] += step * unit[k] * momentum[k]
    }
    if (!theta.every((x, k) => Math.abs(x) <= CHAIN_REACH * unit[k])) return {gradients: taken, diverged: true}
    gradient = target.slopes(theta, batch)
    for (let k = 0; k < d; k++) momentum[k] += 0.5 * step * unit[k] * gradient[k]
    if (!gradient.every(Number.isFinite)) return {gradients: taken + 1, diverged: true}
  }
  return {theta, momentum, gradient, gradients: count, diverged: false}
}

function leapfrogMethod(wanted, lengthOf) {
  return chainMethod({
    start: UNTRIED,
    move(rng, state, target, batch, knobs) {
      const here = placeOf(state), values = Number(!knobs.one_pass)
      let asked = 0
      if (state.gradient === null) {
        state = {...state, log_joint: logJointAt(target, here, batch), gradient: target.slopes(here, batch)}
        asked = 1 + values
      }
      const d = target.dim, plan = planOf(knobs, 50), step = stepOf(state, knobs, plan, knobs.time_step)
      const tuning = isTuned(state, knobs, plan), normals = rng.normals(d + 2), momentum = normals.slice(1, d + 1)
      const [uniform, decides] = call.uniforms_of(Float64Array.of(normals[0], normals[d + 1]), 2)
      const end = trajectory(target, here, momentum, state.gradient, step, lengthOf(uniform, knobs), batch)
      let found = -Infinity, chance = 0
      if (!end.diverged) {
        found = logJointAt(target, end.theta, batch)
        const energy = (p) => 0.5 * sum(p.map((x) => x * x))
        chance = Math.exp(Math.min(0, found - state.log_joint + energy(momentum) - energy(end.momentum)))
      }
      const accepted = decides < chance
      if (tuning) state = {...state, tuning: tunedBy(state.tuning, wanted - chance, plan)}
      if (accepted) state = {...state, log_joint: found, gradient: end.gradient}
      const cost = (end.gradients + (end.diverged ? 0 : values) + asked) * target.numData
      return {...appendedDraw(state, accepted ? end.theta : here), cost}
    },
  })
}

const HMC = leapfrogMethod(0.8, (u, knobs) => Math.min(1 + Math.floor(u * knobs.leapfrog_steps), knobs.leapfrog_steps))
const MALA = leapfrogMethod(0.574, () => 1)

const SGLD = chainMethod({
  batchSize: (knobs) => knobs.batch_size,
  batches: (state, knobs) => knobs.batches,
  move(rng, state, target, batch, knobs) {
    const step = knobs.a * (knobs.b + state.iteration + 1) ** -knobs.g, noise = rng.normals(target.dim)
    const here = placeOf(state), gradient = target.slopes(here, batch)
    const moved = here.map((x, k) => x + 0.5 * step * gradient[k] + Math.sqrt(step) * noise[k])
    if (!moved.every((x, k) => Math.abs(x) <= CHAIN_REACH * target.scale[k])) {
      throw new Error(`The chain diverged. Use a step size smaller than ${step.toPrecision(3)}, and restart.`)
    }
    return {...appendedDraw(state, moved), cost: target.countOf(batch)}
  },
})

const METHODS = {pmd: PMD, svgd: SVGD, smc_mcmc: SMC_MCMC, importance: IMPORTANCE, random_walk: RANDOM_WALK, mala: MALA,
  hmc: HMC, sgld: SGLD}
