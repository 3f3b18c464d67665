"use strict"
// The kernels: numba's own code as WebAssembly. Arrays are copied in and out; memory is reset before each call.

const ARRAYS = {f8: Float64Array, f4: Float32Array, i8: Int32Array, u8: BigUint64Array}
const IN_MEMORY = {...ARRAYS, i8: BigInt64Array}
const LINE = 64 // bytes, of a cache line
const PAGE = 65536
let call = null // kernels by name, once `loadKernels` is done

const shaped = (array, ...shape) => Object.assign(array, {shape})
const matrix = (rows, columns) => shaped(new Float64Array(rows * columns), rows, columns)
const shapeOf = (array) => array.shape ?? [array.length]

function erfc(x) { // a series near 0, a continued fraction beyond: 1e-14 of itself
  if (x < 0) return 2 - erfc(-x)
  if (x > 27) return 0
  if (x < 2) {
    let term = x, sum = x
    for (let n = 1; term > 1e-18 * sum; n++) sum += term *= 2 * x * x / (2 * n + 1)
    return 1 - 2 / Math.sqrt(Math.PI) * Math.exp(-x * x) * sum
  }
  let fraction = 0
  for (let n = 120; n > 0; n--) fraction = n / 2 / (x + fraction)
  return Math.exp(-x * x) / Math.sqrt(Math.PI) / (x + fraction)
}

function nextAfter(x, towards) {
  const number = new Float64Array([x]), bits = new BigInt64Array(number.buffer)
  if (x === 0) return towards > 0 ? Number.MIN_VALUE : -Number.MIN_VALUE
  bits[0] += (towards > x) === (x > 0) ? 1n : -1n
  return number[0]
}

/** Start a compiled module; `declared` has each kernel's arguments and result in words. Sets `call`. */
async function loadKernels(module, declared) {
  let exports = null, top = 0, running = ""
  const allocate = (size) => {
    const start = (top + LINE - 1) & ~(LINE - 1)
    top = start + size
    const missing = top - exports.memory.buffer.byteLength
    if (missing > 0) exports.memory.grow(Math.ceil(missing / PAGE) + 16)
    return start
  }
  const known = {
    exp: Math.exp, log: Math.log, log1p: Math.log1p, erfc, numba_nextafter: nextAfter, NRT_Free() {},
    NRT_MemInfo_alloc_aligned(size) { // a header as numba's, of 64-bit pointers, then the data
      const start = allocate(LINE + Number(size)), view = new DataView(exports.memory.buffer)
      view.setBigInt64(start, 1n, true)
      view.setUint32(start + 24, start + LINE, true)
      view.setBigInt64(start + 32, BigInt(size), true)
      return start
    },
    __multi3(to, lowA, highA, bLow, bHigh) {
      const whole = (low, high) => BigInt.asUintN(64, low) | (high << 64n), product = whole(lowA, highA) * whole(bLow, bHigh)
      new BigUint64Array(exports.memory.buffer, to, 2).set([product, product >> 64n])
    },
  }
  const env = {}
  for (const {name} of WebAssembly.Module.imports(module)) {
    env[name] = known[name] ?? (() => { throw new Error(`The kernel ${running} failed in ${name}. Reload the page.`) })
  }
  exports = (await WebAssembly.instantiate(module, {env})).exports

  const view = (kind, start, length) => new IN_MEMORY[kind](exports.memory.buffer, start, length)
  const room = (kind, length) => allocate(length * IN_MEMORY[kind].BYTES_PER_ELEMENT)
  const put = (kind, array) => {
    const start = room(kind, array.length)
    view(kind, start, array.length).set(kind === "i8" ? Array.from(array, BigInt) : array)
    return start
  }
  const take = (kind, start, array) => {
    const found = view(kind, start, array.length)
    array.set(kind === "i8" ? Array.from(found, Number) : found)
    return array
  }
  const made = {}
  for (const [name, [words, result]] of Object.entries(declared)) {
    const kinds = words.split(" ").filter((word) => word !== "none"), kernel = exports[name]
    made[name] = (...given) => {
      top = exports.__heap_base.value
      running = name
      const flat = [], written = []
      kinds.forEach((word, place) => {
        const value = given[place], kind = word.replace(">", "").slice(0, 2)
        if (!word.includes("[")) return flat.push(value)
        const shape = shapeOf(value)
        if (word.split(",").length !== shape.length) throw new Error(`${name} was given an array of another shape. Reload the page.`)
        const start = put(kind, value)
        if (word.startsWith(">")) written.push([kind, start, value])
        return flat.push(start, ...shape)
      })
      let out = null
      if (result.includes("[")) {
        const shape = [given[kinds.length]].flat(), kind = result.slice(0, 2)
        const array = shaped(new ARRAYS[kind](shape.reduce((a, b) => a * b, 1)), ...shape)
        out = [kind, room(kind, array.length), array]
        flat.push(out[1])
      }
      const found = kernel(...flat)
      for (const each of written) take(...each)
      if (out) return take(...out)
      return result ? Number(found) : null
    }
  }
  made.memory = () => exports.memory.buffer.byteLength
  call = made
}

/** What Python wrote as JSON: arrays again, and the words for numbers that JSON has not. */
function revived(value) {
  if (value === "Infinity" || value === "-Infinity") return Number(value)
  if (Array.isArray(value)) return value.map(revived)
  if (value === null || typeof value !== "object") return value
  if (value.data && value.shape) return shaped(Float64Array.from(value.data, (x) => x === null ? NaN : Number(x)), ...value.shape)
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, revived(each)]))
}

// NumPy's random numbers: SeedSequence, Generator(PCG64), and the batches of a run, drawn by the kernels.

const multiplied = (a, b) => Math.imul(a, b) >>> 0
const folded = (value) => (value ^ (value >>> 16)) >>> 0
const hasher = (factor, by) => (value) => {
  value ^= factor
  factor = multiplied(factor, by)
  return folded(multiplied(value, factor))
}

/** The 32-bit words of entropy of a seed, a whole number below 2^53 or a list of them. */
function seedWords(seed) {
  if (Array.isArray(seed)) return seed.flatMap(seedWords)
  const words = [seed >>> 0], high = Math.floor(seed / 2 ** 32)
  return high ? [...words, ...seedWords(high)] : words
}

/** `numpy.random.SeedSequence(seed, spawn_key=key)`: a pool of four words. */
function seedPool(seed, key = []) {
  const entropy = seedWords(seed)
  while (key.length && entropy.length < 4) entropy.push(0)
  entropy.push(...key)
  const hashed = hasher(0x43b0d7e5, 0x931e8875)
  const mixed = (x, y) => folded((multiplied(0xca01f9dd, x) - multiplied(0x4973f715, y)) >>> 0)
  const pool = [0, 1, 2, 3].map((k) => hashed(entropy[k] ?? 0))
  for (let from = 0; from < 4; from++) {
    for (let to = 0; to < 4; to++) if (from !== to) pool[to] = mixed(pool[to], hashed(pool[from]))
  }
  for (const word of entropy.slice(4)) for (let to = 0; to < 4; to++) pool[to] = mixed(pool[to], hashed(word))
  return pool
}

/** `generate_state(count, uint64)` of a pool. */
function seedState(pool, count) {
  const hashed = hasher(0x8b51f9dd, 0x58f38ded)
  const words = Array.from({length: 2 * count}, (_, k) => BigInt(hashed(pool[k % 4])))
  return Array.from({length: count}, (_, k) => words[2 * k] | (words[2 * k + 1] << 32n))
}

class Generator {
  constructor(seed, key = []) {
    const [high, low, incHigh, incLow] = seedState(seedPool(seed, key), 4)
    const multiplier = (2549297995355413924n << 64n) | 4865540595714422341n
    const increment = BigInt.asUintN(128, (((incHigh << 64n) | incLow) << 1n) | 1n)
    let state = BigInt.asUintN(128, increment + ((high << 64n) | low))
    state = BigInt.asUintN(128, state * multiplier + increment)
    const half = (value) => BigInt.asUintN(64, value)
    this.stream = BigUint64Array.of(state >> 64n, half(state), increment >> 64n, half(increment), 0n, 0n)
  }
  drawn(kernel, out, ...more) {
    call[kernel](this.stream, ...more, out)
    return out
  }
  uniforms(n) { return this.drawn("uniforms", new Float64Array(n)) }
  uniform() { return this.uniforms(1)[0] }
  normals(...shape) {
    return shaped(this.drawn("normals", new Float64Array(shape.reduce((a, b) => a * b, 1))), ...shape)
  }
  wholeNumbers(most, n) { return this.drawn("whole_numbers", new Int32Array(n), most) }
  shuffled(n) { return this.drawn("shuffled", new Int32Array(n)) }
}

/** Rows of successive batches, as `BatchStream`. */
class Batches {
  constructor(rng, numData) {
    Object.assign(this, {rng, numData, permutation: new Int32Array(0), position: 0})
  }
  /** Row numbers of the next batch; null: all rows. */
  draw(size, kind) {
    if (kind === "whole") return null
    if (kind === "replacement") return this.rng.wholeNumbers(this.numData, size)
    const rows = new Int32Array(size)
    for (let k = 0; k < size; k++) {
      if (this.position === this.permutation.length) {
        this.permutation = this.rng.shuffled(this.numData)
        this.position = 0
      }
      rows[k] = this.permutation[this.position++]
    }
    return rows
  }
}
