const KINDS = {f8: Float64Array, f4: Float32Array, i8: Int32Array, u8: BigUint64Array, b1: Int32Array}
const inflated = async (text) => {
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0))
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).arrayBuffer()
}
const start = async (module, declared) => loadKernels(await WebAssembly.compile(await inflated(module)), declared)
const word = (x) => x === "nan" ? NaN : x === "inf" ? Infinity : x === "-inf" ? -Infinity : x

function decoded(value) {
  if (Array.isArray(value)) return value.map(decoded)
  if (value === null || typeof value !== "object") return word(value)
  if (value.items) return Object.fromEntries(Object.entries(value.items).map(([k, v]) => [k, decoded(v)]))
  const read = value.kind === "u8" ? BigInt : word
  return shaped(KINDS[value.kind].from(value.data.map(read)), ...value.shape)
}

function encoded(value) {
  if (ArrayBuffer.isView(value)) {
    const kind = Object.keys(KINDS).find((name) => value instanceof KINDS[name])
    const data = Array.from(value, (x) => typeof x === "bigint" || !Number.isFinite(x) ? String(x).toLowerCase().replace("infinity", "inf") : x)
    return {kind, shape: shapeOf(value), data}
  }
  if (Array.isArray(value)) return value.map(encoded)
  if (value === null || value === undefined) return null
  if (typeof value === "number" && !Number.isFinite(value)) return String(value)
  if (typeof value !== "object") return value
  return Object.fromEntries(Object.entries(value).filter(([name]) => name !== "room").map(([k, v]) => [k, encoded(v)]))
}

const targets = new Map()
/** A target of the exported JSON, made once. */
function targetOf(key, spec) {
  if (!targets.has(key)) targets.set(key, new Target(revived(JSON.parse(spec))))
  return targets.get(key)
}

/** One step of a method from a recorded state, with the random numbers of a stream. */
function stepped(target, method, knobs, {state, stream, batch}) {
  const rng = new Generator(0)
  rng.stream = stream
  const {older, newer, ...rest} = state
  const before = older ? {...rest, draws: joined([older, newer])} : rest
  for (const each of before.chains ?? []) each.draws = joined([each.older, each.newer])
  if (before.enough === undefined) delete before.enough
  const after = METHODS[method].step(rng, before, target, batch, knobs)
  const last = chainsOf(after).filter((chain) => chain.draws).map(placeOf)
  return {particles: after.particles ?? joined(last), log_weights: after.log_weights ?? null, left: rng.stream,
    cost: after.cost}
}
