"use strict"
// What the picture of a frame is made of, as pmdviz/scenes/columns.py has it: outlines of regions, marginal curves, cells, dots.

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
  const least = 1e-6 * largest(density), some = density.filter((value) => value > least).sort().reverse()
  const inside = new Float64Array(some.length)
  let total = 0
  some.forEach((value, k) => { inside[k] = total += value })
  return total > 0 ? masses.map((mass) => some[inside.findIndex((value) => value >= mass * total)]) : []
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
  const next = new Map()
  for (let j = -1; j < side; j++) for (let i = -1; i < side; i++) {
    const code = (value(i, j) > level) | (value(i + 1, j) > level) << 1 | (value(i + 1, j + 1) > level) << 2 | (value(i, j + 1) > level) << 3
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

/** The sums of a density along either axis. */
function marginals(density, {axes: [gx, gy], side}) {
  const across = new Float64Array(side), up = new Float64Array(side)
  for (let j = 0; j < side; j++) for (let i = 0; i < side; i++) {
    across[i] += density[j * side + i] * (gy[1] - gy[0])
    up[j] += density[j * side + i] * (gx[1] - gx[0])
  }
  return [across, up]
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

/** The same regions to be filled. */
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
  for (let j = 0; j < n; j++) for (let i = 0; i < n; i++) {
    const cell = Math.floor(j * SIDE / n) * SIDE + Math.floor(i * SIDE / n)
    cells[cell] += density[j * n + i]
    counts[cell]++
  }
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
