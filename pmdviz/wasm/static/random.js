"use strict"
// NumPy's random numbers: SeedSequence, Generator(PCG64), and the batches of a run. The kernels draw them.

const multiplied = (a, b) => Math.imul(a, b) >>> 0

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
  let factor = 0x43b0d7e5
  const hashed = (value) => {
    value = (value ^ factor) >>> 0
    factor = multiplied(factor, 0x931e8875)
    value = multiplied(value, factor)
    return (value ^ (value >>> 16)) >>> 0
  }
  const mixed = (x, y) => {
    const value = (multiplied(0xca01f9dd, x) - multiplied(0x4973f715, y)) >>> 0
    return (value ^ (value >>> 16)) >>> 0
  }
  const pool = [0, 1, 2, 3].map((k) => hashed(entropy[k] ?? 0))
  for (let from = 0; from < 4; from++) {
    for (let to = 0; to < 4; to++) if (from !== to) pool[to] = mixed(pool[to], hashed(pool[from]))
  }
  for (const word of entropy.slice(4)) for (let to = 0; to < 4; to++) pool[to] = mixed(pool[to], hashed(word))
  return pool
}

/** `generate_state(count, uint64)` of a pool. */
function seedState(pool, count) {
  let factor = 0x8b51f9dd
  const words = []
  for (let k = 0; k < 2 * count; k++) {
    let value = (pool[k % 4] ^ factor) >>> 0
    factor = multiplied(factor, 0x58f38ded)
    value = multiplied(value, factor)
    words.push(BigInt((value ^ (value >>> 16)) >>> 0))
  }
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
  uniforms(n) {
    const out = new Float64Array(n)
    call.uniforms(this.stream, out)
    return out
  }
  uniform() { return this.uniforms(1)[0] }
  normals(...shape) {
    const out = new Float64Array(shape.reduce((a, b) => a * b, 1))
    call.normals(this.stream, out)
    return shaped(out, ...shape)
  }
  wholeNumbers(most, n) {
    const out = new Int32Array(n)
    call.whole_numbers(this.stream, most, out)
    return out
  }
  shuffled(n) {
    const out = new Int32Array(n)
    call.shuffled(this.stream, out)
    return out
  }
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
