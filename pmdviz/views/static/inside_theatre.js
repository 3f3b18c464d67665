// The step played slowly in four pictures, in the order of the algorithm.
const INK = 20000, LARGEST = 20, PICTURE_MS = 3200, TWEEN_MS = 1300

function diameters(weights, size, share) {
  return Array.from(weights, (w) => Math.min(LARGEST, Math.sqrt(w * INK * size / weights.length)) * share)
}

const between = (a, b, p) => a + (b - a) * p
const eased = (p) => p < 0.5 ? 4 * p ** 3 : 1 - (2 - 2 * p) ** 3 / 2

function paint_picture(canvas, step, look, at, p, colours, picked) {
  const size = sharp(canvas)
  if (!step.placed) return paint_ranks(size, step, look, at, colours, picked)
  const map = mapping(size, step.axes.x, step.axes.y, !step.flat)
  framed(size, map, colours)
  draw_lines(size, map, step.lines.exact, colours.exact, {width: 1.5, opacity: 0.8})
  const now = at === 3 ? p : 0, line = {width: 2, dash: [7, 3]}
  if (now < 1) draw_lines(size, map, step.lines.before, colours.approximate, {...line, opacity: 1 - now})
  if (now > 0) draw_lines(size, map, step.lines.after, colours.approximate, {...line, opacity: now})
  const show = step.kind === "ratio" && at >= 2
  if (show) paint_paths(size, map, step.paths, colours)
  const found = at === 0 && step.old.x ? paint_old(size, map, step, colours) : paint_particles(size, map, step, look, at, p, colours)
  if (at === 2 && step.kind === "move") paint_chains(size, map, step, look, p, colours)
  if (!(at === 0 && step.old.x)) draw_ring(size.ink, found.x(picked), found.y(picked), colours)
  size.ink.restore()
  name_axes(size, map, step, colours)
  return found
}

// In one dimension dots are a rug below the curves.
function height(step, i, column) {
  if (!step.flat) return column[i]
  return step.axes.y[0] * (0.25 + 0.55 * ((i * 0.6180339887) % 1))
}

function paint_old(size, map, step, colours) {
  const {x, y, weight} = step.old, wide = weight ? diameters(weight, step.size, 1) : null
  x.forEach((value, i) => draw_dot(size.ink, map.X(value), map.Y(height(step, i, y)), wide ? wide[i] / 2 : 3, colours.particles, 0.55))
  return {x: (i) => map.X(x[i]), y: (i) => map.Y(height(step, i, y))}
}

function paint_particles(size, map, step, look, at, p, colours) {
  const {x, y, x0, y0, weight, weight0} = step.dots, n = x.length, few = n < 10
  const begun = !step.redrawn ? (at < 3 ? 0 : p) : at === 1 ? p : at < 1 ? 0 : 1
  const X = (i) => map.X(x0 ? between(x0[i], x[i], begun) : x[i])
  const Y = (i) => map.Y(y0 && !step.flat ? between(y0[i], y[i], begun) : height(step, i, y))
  const redrawn = step.redrawn, even = new Float32Array(n).fill(1 / step.size)
  const then = weight && diameters(redrawn ? even : weight0 ?? even, step.size, 1), now = weight && diameters(weight, step.size, 1)
  const first = weight0 && diameters(weight0, step.size, 1)
  const fading = redrawn && !x0 && at === 1 ? p : 1
  const most = step.gain ? Math.max(quantile(step.gain.map(Math.abs), 0.95), 1e-9) : 1
  for (let i = 0; i < n; i++) {
    const wide = !weight ? (few ? 10 : 6) : at === 3 ? between(then[i], now[i], p) : at === 1 && redrawn && first ? between(first[i], then[i], p) : then[i]
    const lit = !step.gain || at < 2 ? 0 : at === 2 ? p : 1 - p
    const plain = few && !weight ? colours.text : colours.particles
    const colour = lit ? mixed(plain, hex(diverging(step.gain[i], most, colours)), lit) : plain
    draw_dot(size.ink, X(i), Y(i), Math.max(at === 2 && weight ? 4 : 1, wide) / 2, colour, (lit ? 0.9 : 0.6) * fading)
  }
  return {x: X, y: Y}
}

function hex(colour) {
  return `#${colour.match(/\d+/g).map((value) => Number(value).toString(16).padStart(2, "0")).join("")}`
}

// The terms of a move, one behind the other: each in its colour.
function paint_chains(size, map, step, look, p, colours) {
  const {x0, y0} = step.dots, scale = stretch(step, look)
  for (const i of every(x0.length, MOST_ARROWS)) {
    let x = x0[i], y = step.flat ? 0 : y0[i]
    const shift = step.flat ? step.axes.y[1] * 0.04 : 0
    step.terms.forEach((term, k) => {
      const [dx, dy] = [scale * p * term.values[0][i], step.flat ? 0 : scale * p * term.values[1][i]]
      draw_arrow(size.ink, map.X(x), map.Y(y + k * shift), map.X(x + dx), map.Y(y + dy + k * shift), colours.terms[k % colours.terms.length], 2)
      x += dx
      y += dy
    })
  }
}

function paint_paths({ink}, map, paths, colours) {
  paths.x0?.forEach((x, i) => {
    ink.globalAlpha = paths.alpha[i]
    ink.strokeStyle = colours.paths[Math.round(paths.kind[i])] ?? colours.text
    ink.lineWidth = 1.6
    ink.beginPath()
    ink.moveTo(map.X(x), map.Y(paths.y0[i]))
    ink.lineTo(map.X(paths.x1[i]), map.Y(paths.y1[i]))
    ink.stroke()
  })
  ink.globalAlpha = 1
}

// Where a state has no place in a plane: bars by rank, of the weights before, of the gains, of the weights after.
function paint_ranks(size, step, look, at, colours, picked) {
  const {weight, weight0} = step.dots
  const values = at === 2 ? step.gain ?? step.total[0] : at === 3 ? weight ?? step.total[0] : weight0 ?? new Float32Array(look.order.length).fill(1 / step.size)
  const colour = at === 2 ? colours.gain : colours.particles
  const most = Math.max(...Array.from(values, Math.abs).filter(Number.isFinite), 1e-12)
  return paint_bars(size, step, {...look, most}, [[[values], colour, at === 2 ? colours.loss : colour]], colours, picked)
}

function name_axes({ink}, map, step, colours) {
  const [left, top, width, high] = map.box
  ink.fillStyle = colours.muted
  ink.font = "12px Roboto, system-ui, sans-serif"
  ink.textAlign = "right"
  ink.fillText(step.axes.labels[0], left + width - 6, top + high - 6)
  ink.textAlign = "left"
  ink.fillText(step.axes.labels[1], left + 6, top + 15)
}
