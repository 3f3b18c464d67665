// == make: Elements with attributes and children; scripts that draw themselves begin with it, and the lab's scripts too.
// An attribute that is a function answers an event; one that is true or false is there or not.
const DRAWN = ["svg", "path", "line"], OF_DRAWINGS = "http://www.w3.org/2000/svg"
function make(tag, attributes = {}, ...children) {
  const element = document.createElementNS(DRAWN.includes(tag) ? OF_DRAWINGS : "http://www.w3.org/1999/xhtml", tag)
  if (tag === "button") element.type = "button"
  for (const [name, value] of Object.entries(attributes))
    if (typeof value === "function") element[name] = value
    else if (typeof value === "boolean") element.toggleAttribute(name, value)
    else element.setAttribute(name, value)
  element.append(...children)
  return element
}

// The bytes of base64, and a response with what the browser unpacks of bytes: `kind` is "deflate" or "gzip".
const bytes_of = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0))
const unpacked = (bytes, kind) => new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream(kind)))

function download(blob, name) {
  const link = make("a", {href: URL.createObjectURL(blob), download: name})
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 1000)
}

// Whether the words of an element are light: its theme is a dark one.
const has_light_words = (element) => Number(getComputedStyle(element).color.match(/\d+/)[0]) > 128

// Put a box that lies over the page below its button, or above it where the room ends.
function put_beside(box, button) {
  const at = button.getBoundingClientRect(), {width, height} = box.getBoundingClientRect()
  const top = at.bottom + 4 + height <= innerHeight ? at.bottom + 4 : at.top - height - 4
  Object.assign(box.style, {left: `${Math.max(8, Math.min(at.left, innerWidth - width - 8))}px`, top: `${Math.max(8, top)}px`})
}

// From places on a slider, 0 to `places`, to values or the other way, on a logarithmic scale if `log` is true.
const slider_scale = ({low, high, log}, places) => ({
  at: (place) => log ? low * (high / low) ** (place / places) : low + (high - low) * place / places,
  of: (value) => {
    const share = log ? Math.log(value / low) / Math.log(high / low) : (value - low) / (high - low)
    return places * Math.min(1, Math.max(0, share || 0))
  },
})

// Subscripts and superscripts of "q_{t+1}^2".
function typeset(text) {
  const parts = text.split(/([_^](?:\{[^}]*\}|\S))/)
  return parts.map((part, k) => k % 2 ? make(part[0] === "_" ? "sub" : "sup", {}, part.slice(1).replace(/[{}]/g, "")) : part)
}

// == inside: One step from the inside: its arrays, its formula, and its numbers as words.

// The message with its arrays decoded: `f4` is base64 of 32-bit floats, `at` a place that `read` resolves.
function opened(tree, read) {
  if (Array.isArray(tree)) return tree.map((part) => opened(part, read))
  if (tree === null || typeof tree !== "object") return tree
  if (typeof tree.f4 === "string") return new Float32Array(bytes_of(tree.f4).buffer)
  if (tree.at) return read(tree.at)
  return Object.fromEntries(Object.entries(tree).map(([name, part]) => [name, opened(part, read)]))
}

// Decimals with which terms and sum are written: as many as give the sum three digits, if its terms are not far larger.
function decimals(total, terms) {
  const size = (value) => Number.isFinite(value) && value ? Math.floor(Math.log10(Math.abs(value))) : -9
  const largest = Math.max(size(total), ...terms.map(size))
  if (largest === -9) return 2
  const wanted = size(total) === -9 ? 2 - largest : 2 - size(total)
  return Math.min(Math.max(wanted, 0), Math.max(5 - largest, 0))
}

function written(value, places) {
  if (Number.isNaN(value)) return "unknown"
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞"
  const text = Math.abs(value).toLocaleString("en", {minimumFractionDigits: places, maximumFractionDigits: places})
  return value < 0 && /[1-9]/.test(text) ? `−${text}` : text
}

function number(value) {
  if (!Number.isFinite(value)) return written(value, 0)
  if (value !== 0 && Math.abs(value) < 1e-6) return "below 0.000001"
  return Number(value.toPrecision(3)).toLocaleString("en", {maximumFractionDigits: 9}).replace("-", "−")
}

// The numbers of one row: of each term and of the sum, each as text, with one number of decimals a component.
function row_words(step, k) {
  const places = step.total.map((column, c) => decimals(column[k], step.terms.map((term) => term.values[c][k])))
  const text = (columns) => {
    const parts = columns.map((column, c) => written(column[k], places[c]))
    return parts.length > 1 ? `(${parts.join(", ")})` : parts[0]
  }
  return {terms: step.terms.map((term) => text(term.values)), total: text(step.total)}
}

const LONGEST = 0.16, MOST_ARROWS = 90, DEAD = 8  // an arrow's share of the side; arrows drawn; nats below which nothing is drawn

// Pixels of coordinates: a square in the middle for a plane, all of the canvas for a curve.
function mapping(size, x, y, equal) {
  const side = Math.min(size.width, size.height), [w, h] = equal ? [side, side] : [size.width, size.height]
  const left = (size.width - w) / 2, top = (size.height - h) / 2
  return {
    X: (value) => left + w * (value - x[0]) / (x[1] - x[0]),
    Y: (value) => top + h * (y[1] - value) / (y[1] - y[0]),
    box: [left, top, w, h],
  }
}

// Paint in a frame; around the picked dot there is a ring, where it has a place (`ring`, by default the one it is at).
function framed({ink}, map, colours, picked, paint) {
  Object.assign(ink, {strokeStyle: colours.grid, lineWidth: 1})
  ink.strokeRect(map.box[0] + 0.5, map.box[1] + 0.5, map.box[2] - 1, map.box[3] - 1)
  ink.save()
  ink.beginPath()
  ink.rect(...map.box)
  ink.clip()
  const at = paint()
  if (at?.ring !== null) draw_ring(ink, at.x(picked), (at.ring ?? at.y)(picked), colours)
  ink.restore()
  return at
}

function draw_lines({ink}, map, line, colour, {opacity = 1, width = 1.5, dash} = {}) {
  if (line?.x) paint_line(ink, line.x.map(map.X), line.y.map(map.Y), {colour, alpha: opacity, width, dash})
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
    Object.assign(ink, {strokeStyle: colour, lineWidth: width})
    ink.beginPath()
    ink.arc(x, y, 7, 0, 7)
    ink.stroke()
  }
}

function draw_arrow(ink, x0, y0, x1, y1, colour, width = 1.5) {
  const length = Math.hypot(x1 - x0, y1 - y0), angle = Math.atan2(y1 - y0, x1 - x0), head = Math.min(7, 0.45 * length)
  const sides = [0.5, -0.5].map((turn) => [x1 - head * Math.cos(angle + turn), y1 - head * Math.sin(angle + turn)])
  const lines = [[x0, y0], [x1, y1], ...sides.flatMap((side) => [[NaN, NaN], [x1, y1], side])]
  paint_line(ink, lines.map(([x]) => x), lines.map(([, y]) => y), {colour, width})
}

const mixed = (one, other, share) => `color-mix(in srgb, ${other} ${100 * share}%, ${one})`

// Blue below the middle, orange above: their difference is seen by colour-blind people too.
function diverging(value, most, colours) {
  const share = Math.max(-1, Math.min(1, value / (most || 1)))
  return mixed(colours.middle, share < 0 ? colours.loss : colours.gain, Math.abs(share))
}

function quantile(values, share) {
  const finite = Float64Array.from(values).filter(Number.isFinite).sort()
  return finite[Math.min(finite.length - 1, Math.floor(share * finite.length))] ?? 0
}

// The number that is taken off each term, so the rest is visible and still adds up: the mean under the new weights.
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

// All that the small pictures share, computed once per step: the drawn part of each term, and one scale for all.
function prepared(step) {
  const all = [...step.terms.map((term) => term.values), step.total]
  const by = !step.placed || step.kind === "ratio" ? "bars" : step.flat ? "curve" : step.kind === "move" ? "arrows" : "dots"
  const off = step.kind === "weights"
  const middle = (columns) => by === "dots" || by === "bars" ? quantile(columns[0], 0.5) : centre(step, columns[0])
  const shown = all.map((columns) => off ? [columns[0].map((value) => value - middle(columns))] : columns)
  const lengths = shown.flatMap((columns) => [...columns[0]].map((value, i) => Math.hypot(...columns.map((c) => c[i]))))
  const most = by === "arrows" ? Math.max(...lengths, 0) : quantile(lengths, 0.95) || Math.max(...lengths.filter(Number.isFinite), 0)
  const order = [...step.total[0].keys()].sort((a, b) => step.total[0][b] - step.total[0][a]), rank = []
  order.forEach((row, k) => { rank[row] = k })
  const seen = order.filter((i) => !off || shown.at(-1)[0][i] > -DEAD)
  const heights = seen.flatMap((i) => shown.map((columns) => columns[0][i])).filter(Number.isFinite)
  const span = [Math.min(0, ...heights), Math.max(0, ...heights)], pad = 0.06 * (span[1] - span[0] || 1)
  const {x = []} = step.dots, along = [...x.keys()].sort((a, b) => x[a] - x[b])
  return {by, shown, most, order, along, span: [span[0] - pad, span[1] + pad], rank}
}

// How many times as long as the moves the arrows are drawn; never shorter than they are but for one that would not fit.
function stretch(step, look) {
  const side = step.axes.x[1] - step.axes.x[0], wanted = look.most > 0 ? LONGEST * side / look.most : 1
  return wanted > 1.5 ? Math.max(1, Math.floor(wanted)) : Math.min(1, 2.5 * wanted)
}

function every(n, most) {
  const step = Math.max(1, Math.ceil(n / most))
  return Array.from({length: Math.ceil(n / step)}, (_, k) => k * step)
}

// A small picture of one or several terms, each as its columns and its colour; returns where each dot is.
const PAINTERS = {bars: paint_bars, curve: paint_curve, arrows: paint_arrows, dots: paint_dots}

function paint_bars(size, step, look, [[[values], colour, below = colour]], colours, picked) {
  const n = values.length, top = Math.max(look.most, 1e-9)
  const map = mapping(size, [-0.5, n - 0.5], [-1.1 * top, 1.1 * top], false), width = Math.max(1, 0.8 * map.box[2] / n)
  return framed(size, map, colours, picked, () => {
    look.order.forEach((row, k) => {
      const value = Math.max(-1.1 * top, Math.min(1.1 * top, Number.isNaN(values[row]) ? 0 : values[row]))
      const [wide, foot, head] = [Math.min(width, 40), map.Y(0), map.Y(value)]
      size.ink.fillStyle = value < 0 ? below : colour
      size.ink.fillRect(map.X(k) - wide / 2, Math.min(foot, head), wide, Math.max(1, Math.abs(head - foot)))
    })
    draw_lines(size, map, {x: [-0.5, n - 0.5], y: [0, 0]}, colours.muted, {width: 1})
    const y = () => map.Y(0)
    return {x: (row) => map.X(look.rank[row]), y, across: true, ring: n > 1 ? y : null}
  })
}

function paint_curve(size, step, look, lines, colours, picked) {
  const map = mapping(size, step.axes.x, look.span, false), [low, high] = look.span, values = lines.at(-1)[0][0]
  return framed(size, map, colours, picked, () => {
    draw_lines(size, map, {x: step.axes.x, y: [0, 0]}, colours.grid, {width: 1})
    for (const [[values], colour] of lines) {
      const line = {x: look.along.map((i) => step.dots.x[i]), y: look.along.map((i) => Math.max(-1e6, values[i]))}
      if (line.x.length > 9) draw_lines(size, map, line, colour, {width: 2})
      else line.x.forEach((x, i) => draw_arrow(size.ink, map.X(x), map.Y(0), map.X(x), map.Y(line.y[i]), colour, 2))
    }
    const ring = (row) => map.Y(Math.max(low, Math.min(high, values[row])))
    return {x: (row) => map.X(step.dots.x[row]), y: () => 0, across: true, ring}
  })
}

function paint_dots(size, step, look, [[[values]]], colours, picked) {
  const map = mapping(size, step.axes.x, step.axes.y, true), {x, y} = step.dots
  return framed(size, map, colours, picked, () => {
    draw_lines(size, map, step.lines.after, colours.muted, {width: 1, opacity: 0.6})
    const order = [...values.keys()].sort((a, b) => Math.abs(values[a]) - Math.abs(values[b]))
    for (const i of order) draw_dot(size.ink, map.X(x[i]), map.Y(y[i]), 2.6, diverging(values[i], look.most, colours), 0.9)
    return {x: (row) => map.X(x[row]), y: (row) => map.Y(y[row])}
  })
}

function paint_arrows(size, step, look, [[columns, colour]], colours, picked) {
  const map = mapping(size, step.axes.x, step.axes.y, true), {x0, y0} = step.dots, scale = stretch(step, look)
  return framed(size, map, colours, picked, () => {
    draw_lines(size, map, step.lines.after, colours.muted, {width: 1, opacity: 0.6})
    for (const i of new Set([...every(x0.length, MOST_ARROWS), picked])) {
      const [x, y] = [x0[i] + scale * columns[0][i], y0[i] + scale * columns[1][i]]
      draw_arrow(size.ink, map.X(x0[i]), map.Y(y0[i]), map.X(x), map.Y(y), colour)
    }
    return {x: (row) => map.X(x0[row]), y: (row) => map.Y(y0[row])}
  })
}

// The nearest of n dots to a place on a canvas; of a curve or bars the nearest along it.
function nearest(at, n, x, y) {
  const away = Array.from({length: n}, (_, i) => (at.x(i) - x) ** 2 + (at.across ? 0 : (at.y(i) - y) ** 2))
  return Math.max(0, away.indexOf(Math.min(...away)))
}

function paint_batch(canvas, batch, colours) {
  const size = sharp(canvas), map = mapping(size, batch.x, batch.y, false), {ink} = size
  framed(size, map, colours, 0, () => {
    ink.fillStyle = colours.bars
    batch.bars.left?.forEach((left, i) => {
      const [x0, x1, y] = [map.X(left), map.X(batch.bars.right[i]), map.Y(batch.bars.top[i])]
      ink.fillRect(x0, y, Math.max(1, x1 - x0 - 0.5), map.Y(0) - y)
    })
    batch.dots.x?.forEach((x, i) => draw_dot(ink, map.X(x), map.Y(batch.dots.y[i]), 1.6, colours.muted, 0.6))
    draw_lines(size, map, batch.exact, colours.exact, {width: 1.5})
    draw_lines(size, map, batch.curve, colours.approximate, {width: 2, dash: [7, 3]})
    const foot = map.box[1] + map.box[3], {x, y} = batch.batch
    const ticks = [...x].flatMap((at) => [map.X(at), map.X(at), NaN])
    if (batch.flat) paint_line(ink, ticks, [...x].flatMap(() => [foot, foot - 11, NaN]),
      {colour: colours.text, width: 1.2})
    else x.forEach((at, i) => draw_dot(ink, map.X(at), map.Y(y[i]), 4, colours.particles))
    return {ring: null}
  })
}

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
  const found = framed(size, map, colours, picked, () => {
    draw_lines(size, map, step.lines.exact, colours.exact, {width: 1.5, opacity: 0.8})
    const now = at === 3 ? p : 0, line = {width: 2, dash: [7, 3]}
    if (now < 1) draw_lines(size, map, step.lines.before, colours.approximate, {...line, opacity: 1 - now})
    if (now > 0) draw_lines(size, map, step.lines.after, colours.approximate, {...line, opacity: now})
    if (step.kind === "ratio" && at >= 2) paint_paths(size, map, step.paths, colours)
    if (at === 0 && step.old.x) return paint_old(size, map, step, colours)
    const found = paint_particles(size, map, step, look, at, p, colours)
    if (at === 2 && step.kind === "move") paint_chains(size, map, step, look, p, colours)
    return found
  })
  name_axes(size, map, step, colours)
  return found
}

// In one dimension dots are a rug below the curves.
const height = (step, i, column) => step.flat ? step.axes.y[0] * (0.25 + 0.55 * ((i * 0.6180339887) % 1)) : column[i]

function paint_old(size, map, step, colours) {
  const {x, y, weight} = step.old, wide = weight ? diameters(weight, step.size, 1) : null
  x.forEach((value, i) => draw_dot(size.ink, map.X(value), map.Y(height(step, i, y)), wide ? wide[i] / 2 : 3, colours.particles, 0.55))
  return {x: (i) => map.X(x[i]), y: (i) => map.Y(height(step, i, y)), ring: null}
}

function paint_particles(size, map, step, look, at, p, colours) {
  const {x, y, x0, y0, weight, weight0} = step.dots, n = x.length, few = n < 10
  const begun = !step.redrawn ? (at < 3 ? 0 : p) : at === 1 ? p : at < 1 ? 0 : 1
  const X = (i) => map.X(x0 ? between(x0[i], x[i], begun) : x[i])
  const Y = (i) => map.Y(y0 && !step.flat ? between(y0[i], y[i], begun) : height(step, i, y))
  const redrawn = step.redrawn, even = new Float32Array(n).fill(1 / step.size)
  const then = weight && diameters(redrawn ? even : weight0 ?? even, step.size, 1), now = weight && diameters(weight, step.size, 1)
  const first = weight0 && diameters(weight0, step.size, 1), fading = redrawn && !x0 && at === 1 ? p : 1
  const most = step.gain ? Math.max(quantile(step.gain.map(Math.abs), 0.95), 1e-9) : 1
  for (let i = 0; i < n; i++) {
    const wide = !weight ? (few ? 10 : 6) : at === 3 ? between(then[i], now[i], p) : at === 1 && redrawn && first ? between(first[i], then[i], p) : then[i]
    const lit = !step.gain || at < 2 ? 0 : at === 2 ? p : 1 - p
    const plain = few && !weight ? colours.text : colours.particles
    const colour = lit ? mixed(plain, diverging(step.gain[i], most, colours), lit) : plain
    draw_dot(size.ink, X(i), Y(i), Math.max(at === 2 && weight ? 4 : 1, wide) / 2, colour, (lit ? 0.9 : 0.6) * fading)
  }
  return {x: X, y: Y}
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

function paint_paths({ink}, map, {x0, y0, x1, y1, kind, alpha}, {paths}) {
  if (x0) paint_segments(ink, [x0.map(map.X), y0.map(map.Y), x1.map(map.X), y1.map(map.Y)], kind, alpha, {palette: paths, width: 1.6})
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
  Object.assign(ink, {fillStyle: colours.muted, font: "12px Roboto, system-ui, sans-serif", textAlign: "right"})
  ink.fillText(step.axes.labels[0], left + width - 6, top + high - 6)
  ink.textAlign = "left"
  ink.fillText(step.axes.labels[1], left + 6, top + 15)
}

// The elements of the panel; `act` has what its buttons do.
function panel_parts(act) {
  const canvas = (name, label) => make("canvas", {class: name, role: "img", "aria-label": label})
  const press = (words, onclick, attributes = {}) => make("button", {...attributes, onclick}, words)
  const parts = {
    note: make("p", {class: "note", role: "status"}), title: make("p", {class: "title"}),
    formula: make("div", {class: "formula", role: "group", "aria-label": "The update as a sum"}),
    about: make("p", {class: "about"}), terms: make("div", {class: "terms"}),
    number: make("input", {type: "number", min: 0, step: 1, id: "inside-particle"}), noun: make("span"),
    heavier: press("↑", () => act.along(-1), {"aria-label": "One heavier"}),
    lighter: press("↓", () => act.along(1), {"aria-label": "One lighter"}), card: make("dl"),
    together: canvas("together", "All terms and their sum, as curves"),
    batch_canvas: canvas("batch", "The batch among all data"), batch_title: make("h4"), batch_words: make("p"),
    freeze: press("Freeze and play this step", act.play, {class: "freeze"}), again: press("Play again", act.again),
    large: canvas("large", "One picture of the step"), picture_title: make("h4"), sentence: make("p", {role: "status"}),
    numbers: [1, 2, 3, 4].map((k) => press(String(k), () => act.turn_to(k - 1), {"aria-label": `Picture ${k}`})),
  }
  parts.common = make("div", {class: "common"}, make("h4", {}, "All terms and their sum (in ink)"), parts.together)
  parts.batch = make("div", {class: "of-batch"}, parts.batch_title, parts.batch_canvas, parts.batch_words)
  const label = make("label", {for: "inside-particle"}, parts.noun)
  const chosen = make("div", {class: "chosen"}, make("div", {class: "choose"}, label, parts.number, parts.heavier, parts.lighter), parts.card, parts.freeze)
  const buttons = make("div", {class: "buttons", role: "group", "aria-label": "Pictures of the step"}, ...parts.numbers, parts.again)
  parts.theatre = make("div", {class: "theatre", hidden: ""}, parts.large, make("div", {class: "beside"}, parts.picture_title, parts.sentence, buttons))
  parts.body = make("div", {class: "body", hidden: ""}, parts.title, parts.formula, parts.about, parts.terms,
    make("div", {class: "below"}, chosen, parts.common, parts.batch), parts.theatre)
  parts.root = make("div", {class: "inside"}, parts.note, parts.body)
  return parts
}

function term_cell(term, k, step) {
  const sum = term.name === "", key = sum ? "=" : term.name
  const number = make("span", {class: "number"}), value = make("span", {class: "value"}), filled = make("span", {class: "filled"})
  const part = make("span", {class: "part", "data-term": key}, make("span", {class: "symbols"}, ...typeset(term.formula)), filled, number)
  const canvas = make("canvas", {role: "img", "aria-label": `${term.title}: ${term.about}`})
  const button = make("button", {class: "name"}, make("i", {"aria-hidden": "true"}), term.title)
  const card = make("section", {class: "term", "data-term": key}, button, make("span", {class: "symbols"}, ...typeset(term.formula)), value, canvas)
  return {key, title: term.title, about: term.about, part, card, canvas, button, number, value, filled, at: null}
}

function key_words(step, look) {
  const unit = step.sum.unit ? ` ${step.sum.unit}` : ""
  const told = step.dots.row.length < step.size ? ` ${step.dots.row.length} of ${step.size.toLocaleString("en")} particles are drawn.` : ""
  if (look.by === "dots") return `Orange is above the middle particle, blue below: by ${number(look.most)}${unit} where the colour is full.${told}`
  if (look.by === "curve" && step.kind === "weights") return `Each curve less its mean under the new weights: they add up to the one in ink.${told}`
  if (look.by === "arrows") return `Arrows are drawn ${number(stretch(step, look))} times as long as the moves.${told}`
  if (look.by === "bars" && step.size > 1) return `One bar for each, in the order of the sum; the largest bar is ${number(look.most)}${unit}.${told}`
  return `The terms add up to: ${step.sum.title}.${told}`
}

function card_of(step, k) {
  const {dots, size, axes} = step, rows = []
  const share = (weight) => `${number(weight)} (${number(weight * size)} × the mean)`
  if (step.placed) rows.push(["Place", step.flat ? number(dots.x[k]) : `(${number(dots.x[k])}, ${number(dots.y[k])})`])
  if (dots.parent) rows.push(["Parent", `number ${dots.parent[k].toLocaleString("en")}, which has ${dots.children[k]} ${dots.children[k] === 1 ? "child" : "children"}`])
  if (dots.weight0) rows.push([dots.parent ? "Weight of the parent" : "Weight before", share(dots.weight0[k])])
  if (dots.weight) rows.push(["Weight after", share(dots.weight[k])])
  if (step.kind === "weights" && !step.redrawn) rows.push(["Children", "none: nothing was redrawn"])
  return rows.flatMap(([name, words]) => [make("dt", {}, name), make("dd", {}, words)])
}

// The panel. `host` has `dark` and `freeze()`, which stops what plays.
function inside_view(host) {
  const parts = panel_parts({along, play, again, turn_to}), {root} = parts, stage = {open: false, at: 0, began: 0, playing: false, found: null}
  let step = null, look = null, row = null, picked = 0, lit = "", cells = [], queued = false, made = ""
  const colours = () => PALETTES[host.dark ? "dark" : "light"]

  function show(told, read) {
    const next = opened(told, read)
    parts.note.textContent = next.note ?? ""
    parts.body.hidden = Boolean(next.note)
    if (next.note) { step = null; return }
    const {kind, noun, placed, flat, sum, terms} = next
    const shape = JSON.stringify([kind, noun, placed, flat, sum, terms.map((term) => [term.title, term.formula])])
    const fresh = !step || made !== shape
    made = shape
    step = {...next, redrawn: Boolean(next.dots.parent || next.old.x)}
    if (step.redrawn) row = null
    look = prepared(step)
    picked = row === null ? -1 : step.dots.row.indexOf(row)
    if (picked < 0) { picked = by_weight()[0]; row = null }
    if (fresh) build()
    parts.title.textContent = step.title
    write()
  }

  // The told rows, the heaviest first; of points without weights by their numbers.
  function by_weight() {
    const {weight, row: rows} = step.dots
    return [...rows.keys()].sort((a, b) => (weight ? weight[b] - weight[a] : 0) || rows[a] - rows[b])
  }

  function build() {
    cells = [...step.terms, {...step.sum, name: "", about: "What the terms add up to."}].map((term, k) => term_cell(term, k, step))
    cells.forEach((cell) => {
      const on = () => light(cell.key), off = () => light("")
      for (const element of [cell.part, cell.card]) Object.assign(element, {onpointerenter: on, onpointerleave: off})
      Object.assign(cell.button, {onfocus: on, onblur: off})
      cell.canvas.onclick = picks(() => cell.at)
    })
    const sum = cells.at(-1)
    parts.formula.replaceChildren(sum.part, ...cells.slice(0, -1).map((cell) => cell.part))
    parts.terms.replaceChildren(...cells.map((cell) => cell.card))
    parts.common.hidden = look.by !== "curve"
    parts.batch.hidden = !step.batch
    parts.noun.textContent = step.noun[0].toUpperCase() + step.noun.slice(1)
    light("")
  }

  const picks = (at) => ({offsetX, offsetY}) => {
    const known = at()
    if (known) pick(nearest(known, step.dots.row.length, offsetX, offsetY))
  }

  function light(key) {
    if (!step) return  // the terms have just been hidden from under the pointer
    lit = key
    for (const cell of cells)
      for (const element of [cell.part, cell.card]) element.classList.toggle("lit", key !== "" && cell.key === key)
    const found = cells.find((cell) => cell.key === key)
    parts.about.textContent = found ? `${found.title}: ${found.about}` : key_words(step, look)
  }

  function pick(k) {
    picked = k
    row = step.dots.row[k]
    write()
  }

  function write() {
    const words = row_words(step, picked)
    cells.forEach((cell, k) => {
      const value = k < step.terms.length ? words.terms[k] : words.total, term = step.terms[k]
      const signed = value.startsWith("−") ? `− ${value.slice(1)}` : `+ ${value}`
      cell.number.textContent = k && term ? signed : value  // behind another term
      cell.value.textContent = `${value}${step.sum.unit ? ` ${step.sum.unit}` : ""}`
      cell.filled.replaceChildren(...typeset(term?.filled || "\u00a0"))
    })
    parts.number.value = step.dots.row[picked]
    parts.card.replaceChildren(...card_of(step, picked))
    if (!lit) parts.about.textContent = key_words(step, look)
    draw()
  }

  // At most once per frame of the browser, and only the visible pictures.
  function draw() {
    if (queued) return
    queued = true
    requestAnimationFrame((time) => {
      queued = false
      if (!step || !root.isConnected || !root.clientWidth) return
      const {terms, text} = colours(), lines = look.shown.map((columns, k) => [columns, step.terms[k] ? terms[k % terms.length] : text])
      cells.forEach((cell, k) => {
        cell.at = PAINTERS[look.by](sharp(cell.canvas), step, look, [lines[k]], colours(), picked)
        for (const element of [cell.part, cell.card]) element.style.setProperty("--term", lines[k][1])
      })
      if (look.by === "curve") parts.common.at = paint_curve(sharp(parts.together), step, look, lines, colours(), picked)
      parts.batch_title.textContent = step.batch?.title ?? ""
      parts.batch_words.textContent = step.batch?.words ?? ""
      if (step.batch) paint_batch(parts.batch_canvas, step.batch, colours())
      if (stage.open) draw_stage(time)
    })
  }

  function draw_stage(time) {
    const since = time - stage.began, still = matchMedia("(prefers-reduced-motion: reduce)").matches
    const p = still ? 1 : eased(Math.min(1, Math.max(0, since / TWEEN_MS)))
    stage.found = paint_picture(parts.large, step, look, stage.at, stage.at ? p : 1, colours(), picked)
    const {title, sentence} = step.pictures[stage.at]
    for (const [part, words] of [[parts.picture_title, `${stage.at + 1}. ${title}`], [parts.sentence, sentence]])
      if (part.textContent !== words) part.textContent = words
    parts.numbers.forEach((button, k) => button.setAttribute("aria-pressed", String(k === stage.at)))
    parts.again.textContent = stage.playing ? "Stop" : "Play again"
    if (stage.playing && since > PICTURE_MS) stage.at < 3 ? go(stage.at + 1) : (stage.playing = false)
    if (stage.playing || p < 1) draw()
  }

  function go(at) {
    stage.at = at
    stage.began = performance.now()
    draw()
  }

  function play() {
    host.freeze()
    stage.open = stage.playing = true
    parts.theatre.hidden = false
    parts.theatre.scrollIntoView({block: "nearest"})
    go(0)
  }

  function turn_to(at) { stage.playing = false; go(at) }
  function again() { if (stage.playing) { stage.playing = false; draw() } else play() }
  parts.theatre.onkeydown = (event) => {
    const at = ["1", "2", "3", "4"].indexOf(event.key)
    if (at >= 0) { turn_to(at); event.preventDefault() }
  }
  parts.large.onclick = picks(() => stage.at === 0 && step.old.x ? null : stage.found)
  parts.together.onclick = picks(() => parts.common.at)
  function along(by) {
    const order = by_weight(), at = order.indexOf(picked)
    pick(order[Math.min(order.length - 1, Math.max(0, at + by))])
  }
  parts.number.onkeydown = (event) => {
    const by = {ArrowUp: -1, ArrowDown: 1}[event.key]
    if (by) { along(by); event.preventDefault() }
  }
  parts.number.onchange = () => {
    const rows = step.dots.row
    pick(nearest({x: (i) => rows[i], across: true}, rows.length, Number(parts.number.value), 0))
  }
  new ResizeObserver(draw).observe(root)

  // A place on the stage, in its own numbers: `per` says how many pixels a unit of each axis has.
  function pick_at(x, y, per) {
    if (!step?.placed || parts.body.hidden) return
    const {dots} = step, flat = step.flat
    pick(nearest({x: (i) => per.x * dots.x[i], y: (i) => flat ? 0 : per.y * dots.y[i], across: flat}, dots.x.length, per.x * x, flat ? 0 : per.y * y))
  }

  return {root, show, draw, pick_at}
}
