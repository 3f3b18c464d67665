// Targets: a Gaussian prior or q0, and the likelihood by the kernels, or a formula that is interpreted.

const FEW = 16, LARGEST_EXPONENT = 700
const ROOT_TWO_PI = Math.sqrt(2 * Math.PI)
const mean = (values) => sum(values) / values.length

/** What the two targets of one number and Gaussian noise share: the constant of the batch. */
function noiseOf(batch, sigma) {
  const centre = mean(batch), scatter = sum(batch.map((x) => (x - centre) ** 2))
  return {centre, precision: batch.length / sigma ** 2,
    constant: -0.5 * scatter / sigma ** 2 - batch.length * Math.log(sigma * ROOT_TWO_PI)}
}

const logShares = (p) => [p > 0 ? Math.log(p) * LOG2E : LOG_ZERO, p < 1 ? Math.log1p(-p) * LOG2E : LOG_ZERO]

function mixtureMeans(theta) {
  const first = theta.filter((_, k) => k % 2 === 0)
  return [first, first.map((x, i) => x + theta[2 * i + 1])]
}

/** A target of numbers with Gaussian noise around a curve of theta, by kernels that take `more` of its options. */
const noisy = (name, curve, more = () => []) => ({
  simulate: (o, rng) => rng.normals(o.num_data).map((x) => curve(o) + o.sigma_x * x),
  logLikelihood({options: o}, theta, batch) {
    const {centre, precision, constant} = noiseOf(batch, o.sigma_x)
    return call[name](theta, centre, ...more(o), precision, constant, theta.shape[0])
  },
  slopes({options: o}, theta, batch) {
    const {centre, precision} = noiseOf(batch, o.sigma_x)
    return call[`${name}_slopes`](theta, centre, ...more(o), precision, theta.shape)
  },
})

const MODELS = {
  mixture: {
    simulate({p, theta1, theta2, sigma_x: sigma, num_data: n}, rng) {
      const second = rng.uniforms(n).map((u) => u >= p), noise = rng.normals(n)
      return second.map((other, k) => theta1 + theta2 * other + sigma * noise[k])
    },
    logLikelihood({options: o}, theta, batch) {
      const [first, second] = mixtureMeans(theta), out = new Float64Array(first.length)
      const kernel = first.length >= FEW ? call.mixture : call.mixture_few
      kernel(first, second, batch, SCALE / o.sigma_x, ...logShares(o.p), out)
      return out.map((value) => value - batch.length * Math.log(o.sigma_x * ROOT_TWO_PI))
    },
    slopes({options: o}, theta, batch) {
      const [first, second] = mixtureMeans(theta), out = matrix(first.length, 2)
      const kernel = first.length >= FEW ? call.mixture_slopes : call.mixture_slopes_few
      kernel(first, second, batch, SCALE / o.sigma_x, ...logShares(o.p), out)
      return out
    },
  },
  gaussian: {
    simulate: ({theta, dim, sigma_x: sigma, num_data: n}, rng) => {
      const noise = rng.normals(n, dim)
      return shaped(noise.map((x) => theta + sigma * x), n, dim)
    },
    logLikelihood({options: o}, theta, batch) {
      const [n, d] = batch.shape, centre = meanOf(batch), s2 = o.sigma_x ** 2
      const scatter = sum(squared(centredAt(batch, centre)))
      const constant = -0.5 * scatter / s2 - n * d * Math.log(o.sigma_x * ROOT_TWO_PI)
      return call.gaussian(theta, centre, n / s2, constant, theta.shape[0])
    },
    slopes: ({options: o}, theta, batch) =>
      scaled(centredAt(theta, meanOf(batch)), -batch.shape[0] / o.sigma_x ** 2),
  },
  banana: noisy("banana", ({theta1, theta2, bend}) => theta1 + bend * theta2 ** 2, ({bend}) => [bend]),
  bimodal1d: noisy("bimodal", ({theta}) => theta ** 2),
  gmm: {
    logP: ({given, options: o}, x) => gaussiansAt(x, given.means, given.log_weights, o.variance),
    slopesP: ({given, options: o}, x) => gaussiansSlopes(x, given.means, given.log_weights, o.variance),
  },
  warped_gmm: {
    logP: ({given, options: o}, x) => gaussiansAt(unbent(x, o.curvature), given.means, given.log_weights, o.variance),
    slopesP({given, options: o}, x) {
      const out = gaussiansSlopes(unbent(x, o.curvature), given.means, given.log_weights, o.variance)
      for (let i = 0; i < out.length; i += 2) out[i] -= 2 * o.curvature * x[i] * out[i + 1]
      return out
    },
  },
  funnel: {
    logP: ({options: o}, x) => eachPoint(x, ([v, ...others]) => {
      const squares = sum(others.map((z) => z * z)) * Math.exp(Math.min(-v, LARGEST_EXPONENT))
      const ofV = -0.5 * (v / o.sd) ** 2 - Math.log(o.sd * ROOT_TWO_PI)
      return ofV - 0.5 * (squares + others.length * (v + Math.log(2 * Math.PI)))
    }),
    slopesP: ({options: o}, x) => eachRow(x, ([v, ...others]) => {
      const precision = Math.exp(Math.min(-v, LARGEST_EXPONENT)), squares = sum(others.map((z) => z * z))
      return [-v / o.sd ** 2 + 0.5 * (precision * squares - others.length), ...others.map((z) => -z * precision)]
    }),
  },
  formula: {
    logP: ({given}, x) => eachPoint(x, (point) => computed(given.tree, point, false)[0]),
    slopesP: ({given}, x) => eachRow(x, (point) => {
      const [value, ...slopes] = computed(given.tree, point, true)
      return value > -Infinity || Number.isNaN(value) ? slopes : []
    }),
  },
}

/** f of each point (d,): a number, or a row of a matrix. */
function eachPoint(x, f) {
  const [n, d] = x.shape
  return Float64Array.from({length: n}, (_, i) => f(x.subarray(i * d, (i + 1) * d)))
}

function eachRow(x, f) {
  const [n, d] = x.shape, out = matrix(n, d)
  for (let i = 0; i < n; i++) out.set(f(x.subarray(i * d, (i + 1) * d)), i * d)
  return out
}

const unbent = (x, curvature) => eachRow(x, ([a, b]) => [a, b - curvature * a ** 2 + 2])

function gaussiansAt(x, means, logWeights, variance) {
  const out = new Float64Array(x.shape[0]), away = 0.5 * x.shape[1] * Math.log(2 * Math.PI * variance)
  call.gaussians(x, means, logWeights, variance, out)
  return out.map((value) => value - away)
}

function gaussiansSlopes(x, means, logWeights, variance) {
  const out = matrix(...x.shape)
  call.gaussians_slopes(x, means, logWeights, variance, out)
  return out
}

// Formulas: trees of [function, argument, ...], numbers and coordinates, each with its derivatives. A value and its
// slopes are [value, by x, by y].

const orZero = (zero, otherwise) => zero ? 0 : otherwise
const firstIsLarger = (a, b) => a === b ? 0.5 : Number(a > b)
const FUNCTIONS = {
  negative: [(a) => -a, [() => -1]], exp: [Math.exp, [(a, v) => v]], expm1: [Math.expm1, [(a, v) => v + 1]],
  log: [Math.log, [(a) => 1 / a]], log1p: [Math.log1p, [(a) => 1 / (1 + a)]],
  sqrt: [Math.sqrt, [(a, v) => orZero(v === 0, 0.5 / v)]], square: [(a) => a * a, [(a) => 2 * a]],
  sin: [Math.sin, [(a) => Math.cos(a)]], cos: [Math.cos, [(a) => -Math.sin(a)]],
  tan: [Math.tan, [(a, v) => 1 + v * v]], sinh: [Math.sinh, [(a) => Math.cosh(a)]],
  cosh: [Math.cosh, [(a) => Math.sinh(a)]], tanh: [Math.tanh, [(a, v) => 1 - v * v]],
  arctan: [Math.atan, [(a) => 1 / (1 + a * a)]], abs: [Math.abs, [(a) => Math.sign(a)]],
  hypot: [Math.hypot, [(a, b, v) => orZero(v === 0, a / v), (a, b, v) => orZero(v === 0, b / v)]],
  maximum: [Math.max, [firstIsLarger, (a, b) => 1 - firstIsLarger(a, b)]],
  minimum: [Math.min, [(a, b) => 1 - firstIsLarger(a, b), firstIsLarger]],
  logaddexp: [logAddExp, [(a, b, v) => Math.exp(a - v), (a, b, v) => Math.exp(b - v)]],
  add: [(a, b) => a + b, [() => 1, () => 1]], subtract: [(a, b) => a - b, [() => 1, () => -1]],
  multiply: [(a, b) => a * b, [(a, b) => b, (a) => a]],
  divide: [(a, b) => a / b, [(a, b) => 1 / b, (a, b, v) => -v / b]],
  power: [power, [(a, b) => orZero(b === 0, b * power(a, b - 1)), (a, b, v) => orZero(v === 0, v * Math.log(a))]],
}

function power(a, b) { return a === 1 ? 1 : a ** b } // like C: 1 to any power is 1
function computed(tree, point, withSlopes) {
  if (typeof tree === "number") return [tree]
  if (typeof tree === "string") {
    const at = tree === "y" ? 1 : 0
    return withSlopes ? [point[at], ...Array.from(point, (_, k) => Number(k === at))] : [point[at]]
  }
  const [value, partials] = FUNCTIONS[tree[0]], found = tree.slice(1).map((each) => computed(each, point, withSlopes))
  const values = found.map((each) => each[0]), out = [value(...values)]
  if (!withSlopes) return out
  out.push(...point.map(() => 0))
  found.forEach((argument, place) => {
    if (argument.length === 1) return
    const by = partials[place](...values, out[0])
    for (let k = 1; k <= point.length; k++) if (argument[k] !== 0 && by !== 0) out[k] += by * argument[k]
  })
  return out
}

class Target {
  /** From what Python exported: name, options, arrays that are given, and where it is drawn. */
  constructor(spec) {
    Object.assign(this, spec, {model: MODELS[spec.name]})
    this.scale = new Float64Array(this.dim).fill(this.prior_sd)
    this.numData = this.data ? shapeOf(this.data)[0] : 1
  }
  /** Another one with other options: its data are simulated again, as Python does; its box holds view and prior. */
  changed(options) {
    const next = {...this.options, ...options}, simulate = this.model.simulate
    const data = simulate && !this.own_data ? simulate(next, new Generator(next.data_seed)) : this.data
    const sd = next.prior_sd ?? next.q0_sd
    const box = this.view_box.map(([low, high]) => [Math.min(low, -5 * sd), Math.max(high, 5 * sd)])
    return new Target({...this, prior_sd: sd, q0_mean: next.q0_mean ?? 0, options: next, data, exact: null, box})
  }
  /** Rows of the data, by number; null: all. Without data one empty row. */
  rows(numbers) {
    if (!this.data) return new Float64Array(1)
    return numbers ? rowsAt(this.data, numbers) : this.data
  }
  samplePrior(rng, n) {
    return shaped(rng.normals(n, this.dim).map((x) => this.q0_mean + this.prior_sd * x), n, this.dim)
  }
  logPrior(theta) {
    const constant = this.dim * Math.log(this.prior_sd * ROOT_TWO_PI)
    return eachPoint(theta, (x) => -0.5 * sum(x.map((v) => ((v - this.q0_mean) / this.prior_sd) ** 2)) - constant)
  }
  priorSlopes(theta) {
    return shaped(theta.map((x) => -(x - this.q0_mean) / this.prior_sd ** 2), ...theta.shape)
  }
  /** Of the rows of a batch, not scaled. */
  logLikelihood(theta, batch) {
    if (this.model.logLikelihood) return this.model.logLikelihood(this, theta, batch)
    return zip(this.model.logP(this, theta), this.logPrior(theta), (p, q) => batch.length * (p - q))
  }
  likelihoodSlopes(theta, batch) {
    if (this.model.slopes) return this.model.slopes(this, theta, batch)
    return added(this.model.slopesP(this, theta), scaled(this.priorSlopes(theta), -1))
  }
  countOf(batch) { return shapeOf(batch)[0] }
  /** Gradient of log prior + N/B log likelihood. */
  slopes(theta, batch) {
    const found = scaled(this.likelihoodSlopes(theta, batch), this.numData / this.countOf(batch))
    return added(this.priorSlopes(theta), found)
  }
  logJoint(theta, batch = this.rows(null)) {
    const by = this.numData / this.countOf(batch)
    return zip(this.logPrior(theta), this.logLikelihood(theta, batch), (p, l) => p + by * l)
  }
}
