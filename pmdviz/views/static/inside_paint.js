// The pictures of a step on canvases: where its dots lie, and what each term does to them.
const LONGEST = 0.16, MOST_ARROWS = 90, DEAD = 8  // an arrow's share of the side; arrows drawn; nats below that nobody sees

function sharp(canvas) {
  const {clientWidth: width, clientHeight: height} = canvas, ratio = window.devicePixelRatio || 1
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio)
    canvas.height = Math.round(height * ratio)
  }
  const ink = canvas.getContext("2d")
  ink.setTransform(ratio, 0, 0, ratio, 0, 0)
  ink.clearRect(0, 0, width, height)
  return {ink, width, height}
}

// Pixels of coordinates: a square in the middle for a plane, all of the canvas for a curve.
function mapping(size, x, y, equal) {
  const side = Math.min(size.width, size.height)
  const [w, h] = equal ? [side, side] : [size.width, size.height]
  const left = (size.width - w) / 2, top = (size.height - h) / 2
  return {
    X: (value) => left + w * (value - x[0]) / (x[1] - x[0]),
    Y: (value) => top + h * (y[1] - value) / (y[1] - y[0]),
    box: [left, top, w, h],
  }
}

function framed({ink}, map, colours) {
  ink.strokeStyle = colours.grid
  ink.lineWidth = 1
  ink.strokeRect(map.box[0] + 0.5, map.box[1] + 0.5, map.box[2] - 1, map.box[3] - 1)
  ink.save()
  ink.beginPath()
  ink.rect(...map.box)
  ink.clip()
}

// Lines with gaps (NaN) between them.
function draw_lines({ink}, map, line, colour, {width = 1.5, dash = [], opacity = 1} = {}) {
  if (!line?.x) return
  ink.save()
  ink.globalAlpha = opacity
  ink.strokeStyle = colour
  ink.lineWidth = width
  ink.setLineDash(dash)
  ink.beginPath()
  let down = false
  for (let i = 0; i < line.x.length; i++) {
    if (Number.isNaN(line.x[i]) || Number.isNaN(line.y[i])) { down = false; continue }
    down ? ink.lineTo(map.X(line.x[i]), map.Y(line.y[i])) : ink.moveTo(map.X(line.x[i]), map.Y(line.y[i]))
    down = true
  }
  ink.stroke()
  ink.restore()
}

function draw_dot(ink, x, y, radius, colour, opacity = 1) {
  ink.globalAlpha = opacity
  ink.fillStyle = colour
  ink.beginPath()
  ink.arc(x, y, radius, 0, 7)
  ink.fill()
  ink.globalAlpha = 1
}

function draw_ring(ink, x, y, colours) {
  for (const [width, colour] of [[4, colours.paper], [2, colours.text]]) {
    ink.strokeStyle = colour
    ink.lineWidth = width
    ink.beginPath()
    ink.arc(x, y, 7, 0, 7)
    ink.stroke()
  }
}

function draw_arrow(ink, x0, y0, x1, y1, colour, width = 1.5) {
  const length = Math.hypot(x1 - x0, y1 - y0), angle = Math.atan2(y1 - y0, x1 - x0), head = Math.min(7, 0.45 * length)
  ink.strokeStyle = colour
  ink.lineWidth = width
  ink.beginPath()
  ink.moveTo(x0, y0)
  ink.lineTo(x1, y1)
  for (const turn of [0.5, -0.5]) {
    ink.moveTo(x1, y1)
    ink.lineTo(x1 - head * Math.cos(angle + turn), y1 - head * Math.sin(angle + turn))
  }
  ink.stroke()
}

function mixed(one, other, share) {
  const parts = (colour) => [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16))
  const [a, b] = [parts(one), parts(other)]
  return `rgb(${a.map((value, k) => Math.round(value + (b[k] - value) * share)).join(",")})`
}

// Blue below the middle, orange above: their difference is seen by colour-blind people too.
function diverging(value, most, colours) {
  const share = Math.max(-1, Math.min(1, value / (most || 1)))
  return mixed(colours.middle, share < 0 ? colours.loss : colours.gain, Math.abs(share))
}

function quantile(values, share) {
  const finite = Float64Array.from(values).filter(Number.isFinite).sort()
  return finite.length ? finite[Math.min(finite.length - 1, Math.floor(share * finite.length))] : 0
}

// The number that is taken off each term, so that what is left can be seen and still adds up: the mean under the new weights.
function centre(step, values) {
  const {weight} = step.dots
  let sum = 0, mass = 0
  values.forEach((value, i) => {
    if (!Number.isFinite(value) || (weight && !(weight[i] > 0))) return
    sum += value * (weight ? weight[i] : 1)
    mass += weight ? weight[i] : 1
  })
  return mass ? sum / mass : 0
}

// All that the small pictures share, worked out once a step: what is drawn of each term, and one scale for all.
function prepared(step) {
  const all = [...step.terms.map((term) => term.values), step.total]
  const by = !step.placed || step.kind === "ratio" ? "bars" : step.flat ? "curve" : step.kind === "move" ? "arrows" : "dots"
  const off = step.kind === "weights"
  const middle = (columns) => by === "dots" || by === "bars" ? quantile(columns[0], 0.5) : centre(step, columns[0])
  const shown = all.map((columns) => off ? [columns[0].map((value) => value - middle(columns))] : columns)
  const lengths = shown.flatMap((columns) => [...columns[0]].map((value, i) => Math.hypot(...columns.map((c) => c[i]))))
  const most = by === "arrows" ? Math.max(...lengths, 0) : quantile(lengths, 0.95) || Math.max(...lengths.filter(Number.isFinite), 0)
  const order = [...step.total[0].keys()].sort((a, b) => step.total[0][b] - step.total[0][a])
  const seen = order.filter((i) => !off || shown.at(-1)[0][i] > -DEAD)
  const heights = seen.flatMap((i) => shown.map((columns) => columns[0][i])).filter(Number.isFinite)
  const span = [Math.min(0, ...heights), Math.max(0, ...heights)], pad = 0.06 * (span[1] - span[0] || 1)
  const across = [...(step.dots.x ?? [])].keys()
  const along = [...across].sort((a, b) => step.dots.x[a] - step.dots.x[b])
  return {by, shown, most, order, along, span: [span[0] - pad, span[1] + pad], rank: ranks(order)}
}

function ranks(order) {
  const rank = new Array(order.length)
  order.forEach((row, k) => { rank[row] = k })
  return rank
}

// How many times as long as the moves the arrows are drawn; never shorter than they are but for one that would not fit.
function stretch(step, look) {
  const side = step.axes.x[1] - step.axes.x[0]
  const wanted = look.most > 0 ? LONGEST * side / look.most : 1
  return wanted > 1.5 ? Math.max(1, Math.floor(wanted)) : Math.min(1, 2.5 * wanted)
}

function every(n, most) {
  const step = Math.max(1, Math.ceil(n / most))
  return Array.from({length: Math.ceil(n / step)}, (_, k) => k * step)
}

// One small picture. `which` is the place of a term, or of the sum, which comes last; returns where each dot is.
function paint_term(canvas, step, look, which, colours, picked) {
  const size = sharp(canvas), colour = which < step.terms.length ? colours.terms[which % colours.terms.length] : colours.text
  return {bars: paint_bars, curve: paint_curve, arrows: paint_arrows, dots: paint_dots}[look.by](
    size, step, look, [[look.shown[which], colour]], colours, picked)
}

function paint_bars(size, step, look, [[[values], colour, below = colour]], colours, picked) {
  const n = values.length, top = Math.max(look.most, 1e-9)
  const map = mapping(size, [-0.5, n - 0.5], [-1.1 * top, 1.1 * top], false), width = Math.max(1, 0.8 * map.box[2] / n)
  framed(size, map, colours)
  look.order.forEach((row, k) => {
    const value = Math.max(-1.1 * top, Math.min(1.1 * top, Number.isNaN(values[row]) ? 0 : values[row]))
    size.ink.fillStyle = value < 0 ? below : colour
    size.ink.fillRect(map.X(k) - Math.min(width, 40) / 2, Math.min(map.Y(0), map.Y(value)), Math.min(width, 40), Math.max(1, Math.abs(map.Y(value) - map.Y(0))))
  })
  draw_lines(size, map, {x: [-0.5, n - 0.5], y: [0, 0]}, colours.muted, {width: 1})
  const x = (row) => map.X(look.rank[row]), y = () => map.Y(0)
  if (n > 1) draw_ring(size.ink, x(picked), y(), colours)
  size.ink.restore()
  return {x, y, across: true}
}

function paint_curve(size, step, look, lines, colours, picked) {
  const map = mapping(size, step.axes.x, look.span, false)
  framed(size, map, colours)
  draw_lines(size, map, {x: step.axes.x, y: [0, 0]}, colours.grid, {width: 1})
  for (const [[values], colour] of lines) {
    const line = {x: look.along.map((i) => step.dots.x[i]), y: look.along.map((i) => Math.max(-1e6, values[i]))}
    if (line.x.length > 9) draw_lines(size, map, line, colour, {width: 2})
    else line.x.forEach((x, i) => draw_arrow(size.ink, map.X(x), map.Y(0), map.X(x), map.Y(line.y[i]), colour, 2))
  }
  const values = lines.at(-1)[0][0], x = (row) => map.X(step.dots.x[row])
  draw_ring(size.ink, x(picked), map.Y(Math.max(look.span[0], Math.min(look.span[1], values[picked]))), colours)
  size.ink.restore()
  return {x, y: () => 0, across: true}
}

function paint_dots(size, step, look, [[[values]]], colours, picked) {
  const map = mapping(size, step.axes.x, step.axes.y, true), {x, y} = step.dots
  framed(size, map, colours)
  draw_lines(size, map, step.lines.after, colours.muted, {width: 1, opacity: 0.6})
  const order = [...values.keys()].sort((a, b) => Math.abs(values[a]) - Math.abs(values[b]))
  for (const i of order) draw_dot(size.ink, map.X(x[i]), map.Y(y[i]), 2.6, diverging(values[i], look.most, colours), 0.9)
  const at = {x: (row) => map.X(x[row]), y: (row) => map.Y(y[row])}
  draw_ring(size.ink, at.x(picked), at.y(picked), colours)
  size.ink.restore()
  return at
}

function paint_arrows(size, step, look, [[columns, colour]], colours, picked) {
  const map = mapping(size, step.axes.x, step.axes.y, true), {x0, y0} = step.dots, scale = stretch(step, look)
  framed(size, map, colours)
  draw_lines(size, map, step.lines.after, colours.muted, {width: 1, opacity: 0.6})
  for (const i of new Set([...every(x0.length, MOST_ARROWS), picked]))
    draw_arrow(size.ink, map.X(x0[i]), map.Y(y0[i]), map.X(x0[i] + scale * columns[0][i]), map.Y(y0[i] + scale * columns[1][i]), colour)
  const at = {x: (row) => map.X(x0[row]), y: (row) => map.Y(y0[row])}
  draw_ring(size.ink, at.x(picked), at.y(picked), colours)
  size.ink.restore()
  return at
}

// The nearest of n dots to a place on a canvas; of a curve or bars the nearest along it.
function nearest(at, n, x, y) {
  let best = 0, least = Infinity
  for (let i = 0; i < n; i++) {
    const away = (at.x(i) - x) ** 2 + (at.across ? 0 : (at.y(i) - y) ** 2)
    if (away < least) { least = away; best = i }
  }
  return best
}
