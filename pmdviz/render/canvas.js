// == marks: What lies in pictures, painted at places that are pixels already; Bokeh's pictures use these too.
const SHADES = 33
const rgb_of = (colour) => [1, 3, 5].map((k) => parseInt(colour.slice(k, k + 2), 16))

// A cleared canvas with the pixels of the screen: its context in CSS pixels, and its size.
function sharp(canvas) {
  const {clientWidth: width, clientHeight: height} = canvas, ratio = globalThis.devicePixelRatio || 1
  const [wide, high] = [Math.round(width * ratio), Math.round(height * ratio)]
  if (canvas.width !== wide || canvas.height !== high) Object.assign(canvas, {width: wide, height: high})
  const ink = canvas.getContext("2d")
  ink.setTransform(ratio, 0, 0, ratio, 0, 0)
  ink.clearRect(0, 0, width, height)
  return {ink, width, height, ratio}
}

function paint_line(ink, x, y, {colour, alpha = 1, width = 2, dash = []}) {
  Object.assign(ink, {strokeStyle: colour, globalAlpha: alpha, lineWidth: width, lineJoin: "bevel"})
  ink.setLineDash(dash)
  ink.beginPath()
  let drawing = false
  for (let i = 0; i < x.length; i++) {
    const here = isFinite(x[i] + y[i])
    if (here && drawing) ink.lineTo(x[i], y[i])
    else if (here) ink.moveTo(x[i], y[i])
    drawing = here
  }
  ink.stroke()
  ink.setLineDash([])
  ink.globalAlpha = 1
}

// Segments of one colour and about one opacity are one stroke: a tail of a thousand would be a thousand.
function paint_segments(ink, [x0, y0, x1, y1], kinds, alpha, {palette, width}) {
  const strokes = new Map()
  for (let i = 0; i < x0.length; i++) {
    if (!isFinite(x0[i] + y0[i] + x1[i] + y1[i])) continue
    const kind = Math.min(palette.length - 1, Math.max(0, Math.round(kinds[i])))
    const key = kind * SHADES + Math.round(alpha[i] * (SHADES - 1))
    if (!strokes.has(key)) strokes.set(key, new Path2D())
    strokes.get(key).moveTo(x0[i], y0[i])
    strokes.get(key).lineTo(x1[i], y1[i])
  }
  ink.lineWidth = width
  for (const [key, path] of strokes) {
    Object.assign(ink, {strokeStyle: palette[Math.floor(key / SHADES)], globalAlpha: key % SHADES / (SHADES - 1)})
    ink.stroke(path)
  }
  ink.globalAlpha = 1
}

// Dots of one colour as pixels: 1,500 circles take the canvas 3 ms, this a tenth of it. Where dots lie over one another
// translucent colours are multiplied, like on the canvas. `frame` [x, y, width, height] holds all that is seen; `film` is kept
// by the caller from one picture to the next, and `size` is one diameter or an array of them.
function paint_dots(ink, film, frame, x, y, size, {colour, alpha = 1, most = Infinity}) {
  const {a: ratio, e, f} = ink.getTransform(), [left, top] = [Math.floor(frame[0] * ratio + e), Math.floor(frame[1] * ratio + f)]
  const [wide, high] = [Math.ceil(frame[2] * ratio) + 1, Math.ceil(frame[3] * ratio) + 1]
  if (wide < 2 || high < 2 || !colour) return
  const n = x.length, cx = film.room(0, n), cy = film.room(1, n), radius = film.room(2, n)
  let [x0, y0, x1, y1] = [wide, high, -1, -1]  // what the dots take up
  for (let i = 0; i < n; i++) {
    const r = radius[i] = ratio * Math.min(most, size.length === undefined ? size : size[i]) / 2
    cx[i] = ratio * x[i] + e - left
    cy[i] = ratio * y[i] + f - top
    if (!(r > 0) || !isFinite(cx[i] + cy[i])) { radius[i] = 0; continue }
    x0 = Math.min(x0, cx[i] - r)
    y0 = Math.min(y0, cy[i] - r)
    x1 = Math.max(x1, cx[i] + r)
    y1 = Math.max(y1, cy[i] + r)
  }
  x0 = Math.max(0, Math.floor(x0) - 1)
  y0 = Math.max(0, Math.floor(y0) - 1)
  x1 = Math.min(wide - 1, Math.ceil(x1))
  y1 = Math.min(high - 1, Math.ceil(y1))
  if (x1 < x0 || y1 < y0) return
  film.clear(wide, high, y0, y1)
  const shade = film.colour(colour), [w, h] = [x1 - x0 + 1, y1 - y0 + 1]
  for (let i = 0; i < n; i++) if (radius[i] > 0) disc(film.pixels, wide, high, cx[i], cy[i], radius[i], shade, alpha)
  film.put(x0, y0, w, h)
  ink.save()
  ink.resetTransform()
  ink.drawImage(film.canvas, x0, y0, w, h, left + x0, top + y0, w, h)
  ink.restore()
}

function disc(pixels, wide, high, cx, cy, r, shade, opacity) {
  const left = Math.max(0, Math.floor(cx - r - 0.5)), right = Math.min(wide - 1, Math.ceil(cx + r))
  const top = Math.max(0, Math.floor(cy - r - 0.5)), bottom = Math.min(high - 1, Math.ceil(cy + r))
  for (let y = top; y <= bottom; y++) {
    const dy = y + 0.5 - cy
    for (let x = left, k = y * wide + left; x <= right; x++, k++) {
      const dx = x + 0.5 - cx, inside = r + 0.5 - Math.sqrt(dx * dx + dy * dy)
      if (inside <= 0) continue
      const through = (255 - (pixels[k] >>> 24)) * (1 - opacity * Math.min(1, inside))
      pixels[k] = (255.5 - through | 0) << 24 | shade
    }
  }
}

// Marks that have not changed since the last time are painted once more, then kept as a picture. `now` holds all that it
// depends on, `kept` is kept by the caller, and `own` paints it.
function at_rest(ink, kept, now, [x, y, width, height], own) {
  const {a: ratio, e, f} = ink.getTransform(), left = Math.floor(x * ratio + e), top = Math.floor(y * ratio + f)
  if (now.some((one, k) => one !== kept.now?.[k])) {
    Object.assign(kept, {now, drawn: false})
    return own(ink)
  }
  if (!kept.drawn) {
    const canvas = kept.drawn = kept.canvas ??= document.createElement("canvas"), g = canvas.getContext("2d")
    Object.assign(canvas, {width: Math.ceil(width * ratio) + 1, height: Math.ceil(height * ratio) + 1})
    g.setTransform(ratio, 0, 0, ratio, e - left, f - top)
    own(g)
  }
  ink.save()
  ink.resetTransform()
  ink.drawImage(kept.canvas, left, top)
  ink.restore()
}

// Pixels of a frame's size. A canvas has bytes red, green, blue, opacity; all our machines put the low one first.
function new_film() {
  const canvas = document.createElement("canvas"), g = canvas.getContext("2d", {willReadFrequently: true}), rooms = []
  let image = null
  return {
    canvas,
    room(k, n) { return rooms[k]?.length >= n ? rooms[k] : rooms[k] = new Float64Array(n) },
    clear(width, height, first, last) {
      if (canvas.width !== width || canvas.height !== height || !image) {
        Object.assign(canvas, {width, height})
        image = g.createImageData(width, height)
        this.pixels = new Uint32Array(image.data.buffer)
      } else this.pixels.fill(0, first * width, (last + 1) * width)
    },
    colour(words) {
      g.fillStyle = words
      const [red, green, blue] = rgb_of(g.fillStyle)
      return blue << 16 | green << 8 | red
    },
    put(x, y, width, height) { g.putImageData(image, 0, 0, x, y, width, height) },
  }
}
// == motion: Dots on their way from one frame to the next: row k comes from row origin[k], or from nowhere (-1) and grows.
const MOVING = ["x", "y", "size"]

function starts(from, to, origin) {
  const n = to.x.length, start = Object.fromEntries(MOVING.map((name) => [name, new Float32Array(n)]))
  for (let k = 0; k < n; k++) {
    const o = origin[k] < from.x.length ? origin[k] : -1
    for (const name of MOVING) start[name][k] = o >= 0 ? from[name][o] : name === "size" ? 0 : to[name][k]
  }
  return start
}

function on_the_way(start, to, t) {
  const share = t * t * (3 - 2 * t), now = {...to}
  for (const name of MOVING) now[name] = start[name].map((value, k) => value + share * (to[name][k] - value))
  return now
}
// == picture: A picture of pmdviz/pictures.py, as `picture_json` writes it, on a canvas.
//
//   pmdvizDraw(canvas, picture, {theme, large, borders, previous, t})   paints it, as large as the canvas's style says
//     theme     "light" or "dark"; `large` type is for a lecture hall; `borders` {left, right, top, bottom}, px around the axes;
//               the top is higher where title and legend need it
//     previous  a picture, and `t` in 0 .. 1: dots are that far on their way from there. A dot comes from the row that its
//               column `origin` has; else from its own row.
//     returns   {box, X, Y, colour, moved}, also as canvas.pmdviz: the axes' [x, y, width, height] in px, functions from
//               values to px and from a role to its colour, and the marks with their dots on their way
//   pmdvizWatch(canvas, {zoom, tap})   answers the pointer (hover text; drag and wheel where `zoom` is "width" or "both", a
//               double click goes back) and the size of the canvas; `tap(x, y, per)` is called with the place of a click
//   pmdvizMerged(picture, change)      the picture with what a change has in its place; null leaves something out
const AREA_ALPHA = 0.16, WIPE = 0.75  // opacity of areas that do not say theirs, and of paper below words
const REACH = 9, CLICK = 4, FEW = 40  // px around a dot that answers; px that a click may move; points of which no picture is kept
const known = new WeakMap()
const span_of = (axis, own) => own ?? [axis.low, axis.high]

function pmdvizMerged(base, change) {
  if (change === undefined) return base
  if (change === null || typeof change !== "object" || Array.isArray(change) || ArrayBuffer.isView(change)) return change
  const parts = Object.keys({...base, ...change}).filter((name) => change[name] !== null)
  return Object.fromEntries(parts.map((name) => [name, pmdvizMerged(base?.[name], change[name])]))
}

function pmdvizDraw(canvas, picture, {theme = "light", large = false, borders = BORDERS[large ? "large" : "usual"], previous = null, t = 1} = {}) {
  if (!known.has(canvas)) known.set(canvas, {films: {}, rooms: {}, kept: {}, span: {}})
  const state = Object.assign(known.get(canvas), {picture, options: {theme, large, borders, previous, t}})
  const paper = sharp(canvas), {ink, width, height} = paper
  if (width < 1 || height < 1) return null
  const px = large ? LARGE_PX : TEXT_PX, top = Math.max(borders.top, head(ink, picture, width, px))
  const map = mapping(picture, paper, {...borders, top}, state.span), colours = PALETTES[theme]
  const pen = {ink, map, state, colours, paper, px, colour: (role) => colours.roles[role] ?? colours.roles.text}
  paint_ground(pen, picture, theme)
  const edges = map.box.map((at, k) => Math.round((k < 2 ? at : map.box[k - 2] + at) * paper.ratio) / paper.ratio)
  ink.save()
  ink.beginPath()
  ink.rect(edges[0], edges[1], edges[2] - edges[0],
    edges[3] - edges[1])  // between pixels everything in it would be slow
  ink.clip()
  const moved = previous && t < 1 ? on_their_way(picture, previous, t) : picture.marks
  const lies = ([, {kind, look}]) => kind === "signs" && !look.edge ? "above" : "below"
  const {below = [], above = []} = Object.groupBy(Object.entries(moved), lies)
  for (const [key, mark] of below) paint(pen, key, mark)
  paint_words(pen, picture)
  ink.restore()
  for (const [key, mark] of above) paint(pen, key, mark)  // a sign in front of a line is seen whole
  if (picture.about && canvas.getAttribute("aria-label") !== picture.about) {
    canvas.setAttribute("role", "img")
    canvas.setAttribute("aria-label", picture.about)
  }
  return canvas.pmdviz = {...map, colour: pen.colour, picture, moved}
}

function on_their_way(picture, previous, t) {
  return Object.fromEntries(Object.entries(picture.marks).map(([key, mark]) => {
    const before = previous.marks[key]?.columns, to = mark.columns
    if (mark.kind !== "dots" || !before?.size?.length || !to.size?.length) return [key, mark]
    return [key, {...mark, columns: on_the_way(starts(before, to, to.origin ?? Array.from(to.x.keys())), to, t)}]
  }))
}

// From values to pixels. A picture of equal units keeps them by a smaller frame.
function mapping(picture, {width, height}, borders, own) {
  const {left, right, top, bottom} = borders
  let box = [left, top, Math.max(1, width - left - right), Math.max(1, height - top - bottom)]
  const [x, y] = [span_of(picture.x, own.x), span_of(picture.y, own.y)]
  if (picture.equal) {
    const [wide, high] = [Math.abs(x[1] - x[0]), Math.abs(y[1] - y[0])], unit = Math.min(box[2] / wide, box[3] / high)
    box = [box[0] + (box[2] - unit * wide) / 2, box[1] + (box[3] - unit * high) / 2, unit * wide, unit * high]
  }
  const scale = ([low, high], log, start, length) => {
    const at = log ? Math.log : (value) => value, zero = at(low), per = length / (at(high) - zero)
    return (value) => start + per * (at(value) - zero)
  }
  const X = scale(x, picture.x.log, box[0], box[2]), Y = scale(y, picture.y.log, box[1] + box[3], -box[3])
  return {box, X, Y, x, y}
}

// Paper, grid, axes with their numbers and words, the title and the legend: painted once, and then a picture.
function paint_ground(pen, picture, theme) {
  const {state, paper: {width, height, ratio}, ink, map} = pen, {x, y, legend, title} = picture
  const looks = Object.keys(legend).map((key) => { const {kind, role, look} = picture.marks[key] ?? {}; return [kind, role, look] })
  const seen = JSON.stringify([width, height, ratio, theme, pen.px, map.box, map.x, map.y, x, y, legend, looks, title])
  if (state.seen !== seen) {
    state.seen = seen
    const canvas = state.ground ??= document.createElement("canvas"), g = canvas.getContext("2d")
    Object.assign(canvas, {width: Math.round(width * ratio), height: Math.round(height * ratio)})
    g.setTransform(ratio, 0, 0, ratio, 0, 0)
    paint_axes({...pen, ink: g}, picture)
    paint_legend({...pen, ink: g}, picture)
  }
  ink.save()
  ink.resetTransform()
  ink.drawImage(state.ground, 0, 0)
  ink.restore()
}

// Numbers of an axis in the part of it that is seen: the picture's own; round ones where it has none, or the reader has moved it.
function numbers_of(axis, own) {
  if (!axis.ticks) own ??= [axis.low, axis.high]
  else if (!own || axis.log || !axis.ticks.length) return axis.ticks.map((value, k) => [value, axis.words[k]])
  const {origin = 0, unit = 1} = axis, [low, high] = own.map((value) => origin + unit * value), power = 10 ** Math.floor(Math.log10((high - low) / 6))
  const step = [0.5, 1, 2, 5, 10].map((share) => share * power).reduce((a, b) => Math.abs(6 - (high - low) / a) <= Math.abs(6 - (high - low) / b) ? a : b)
  const first = Math.ceil(low / step - 1e-9), n = Math.floor(high / step + 1e-9) - first + 1
  return Array.from({length: n}, (_, k) => Number(((first + k) * step).toPrecision(12))).map((value) => [(value - origin) / unit, number_words(value)])
}

const number_words = (value) => value.toLocaleString("en-US", {maximumFractionDigits: 9}).replace("-", "−")
const font = (px, bold = false) => `${bold ? "600 " : ""}${px}px ${FONT}`

function paint_axes({ink, map, colours, paper, px, state}, picture) {
  const [left, top, w, h] = map.box, crisp = (at) => (Math.round(at * paper.ratio) + 0.5) / paper.ratio
  ink.fillStyle = colours.paper
  ink.fillRect(0, 0, paper.width, paper.height)
  const across = numbers_of(picture.x, state.span.x), up = numbers_of(picture.y, state.span.y)
  const rule = (colour, lines) => {
    const at = (k) => lines.flatMap((line) => [crisp(line[k]), crisp(line[k + 2]), NaN])
    paint_line(ink, at(0), at(1), {colour, width: 1})
  }
  rule(colours.grid, [...across.map(([value]) => [map.X(value), top, map.X(value), top + h]), ...up.map(([value]) => [left, map.Y(value), left + w, map.Y(value)])])
  rule(colours.grid, [[left, top, left + w, top], [left + w, top, left + w, top + h]])
  rule(colours.muted, [[left, top, left, top + h], [left, top + h, left + w, top + h]])
  rule(colours.muted, [...across.map(([value]) => [map.X(value), top + h, map.X(value), top + h + 4]), ...up.map(([value]) => [left - 4, map.Y(value), left, map.Y(value)])])
  Object.assign(ink, {font: font(px), fillStyle: colours.muted, textAlign: "center", textBaseline: "top"})
  const widest = (numbers) => Math.max(0, ...numbers.map(([, words]) => ink.measureText(words).width))
  const every = Math.max(1, Math.ceil((widest(across) + 8) * across.length / w))  // else they touch
  across.forEach(([value, words], k) => { if (k % every === 0) ink.fillText(words, map.X(value), top + h + 7) })
  Object.assign(ink, {textAlign: "right", textBaseline: "middle"})
  for (const [value, words] of up) ink.fillText(words, left - 7, map.Y(value) + 1)
  Object.assign(ink, {fillStyle: colours.text, textAlign: "center", textBaseline: "bottom"})
  fit_words(ink, picture.x.label, left + w / 2, paper.height - 4, paper.width)
  ink.translate(Math.max(3, left - 16 - widest(up) - px), top + h / 2)
  ink.rotate(-Math.PI / 2)
  ink.textBaseline = "top"
  fit_words(ink, picture.y.label, 0, 0, 2 * Math.min(top + h / 2, paper.height - top - h / 2))
  ink.setTransform(paper.ratio, 0, 0, paper.ratio, 0, 0)
}

// Words on one line; where they are too long they lose the brackets at their end.
const fit_words = (ink, words, x, y, room) =>
  ink.fillText(ink.measureText(words).width > room ? words.replace(/ \([^)]*\)$/, "") : words, x, y, room)

const SAMPLE = 22, GAP = 12  // px: of a line in the legend, and between two of its words

function paint_legend(pen, picture) {
  const {ink, map, colours, px, paper} = pen, line = px + 4
  Object.assign(ink, {font: font(px), textBaseline: "middle", textAlign: "left"})
  const lines = fold(ink, picture, paper.width - 8)
  lines.forEach(({keys: row, width}, k) => {
    const y = map.box[1] - 1 - line * (lines.length - k - 0.5)
    let x = Math.max(4, Math.min(map.box[0] + (map.box[2] - width) / 2, paper.width - 4 - width))
    for (const key of row) {
      sample(pen, picture.marks[key], x, y)
      ink.fillStyle = colours.text
      ink.fillText(picture.legend[key], x + SAMPLE + 5, y + 1, paper.width - x - SAMPLE - 6)
      x += SAMPLE + 5 + ink.measureText(picture.legend[key]).width + GAP
    }
  })
  if (!picture.title) return
  Object.assign(ink, {fillStyle: colours.text, font: font(px, true)})
  ink.fillText(picture.title, map.box[0], line / 2 + 2, paper.width - map.box[0])
}

function head(ink, picture, width, px) {
  ink.font = font(px)
  return (px + 4) * (fold(ink, picture, width - 8).length + (picture.title ? 1 : 0)) + 1
}

// Items in lines, each line as full as `fits(items)` lets it be.
function in_lines(items, fits) {
  const lines = []
  for (const item of items) {
    if (lines.length && fits([...lines.at(-1), item])) lines.at(-1).push(item)
    else lines.push([item])
  }
  return lines
}

function fold(ink, picture, room) {
  const wide = (keys) => keys.reduce((sum, key) => sum + GAP + SAMPLE + 5 + ink.measureText(picture.legend[key]).width, -GAP)
  const lines = in_lines(Object.keys(picture.legend).filter((each) => picture.marks[each]), (keys) => wide(keys) <= room)
  return lines.map((keys) => ({keys, width: wide(keys)}))
}

function sample(pen, mark, x, y) {
  const {ink, colours} = pen, colour = pen.colour(mark.kind === "segments" ? "ink" : mark.role), {look} = mark
  if (mark.kind === "dots" && !look.marker || mark.kind === "signs") {
    paint_sign(ink, look.marker ?? "circle", x + SAMPLE / 2, y, mark.kind === "signs" ? 8 : 7, colour, look.hollow)
  } else if (["areas", "band", "bars"].includes(mark.kind)) {
    Object.assign(ink, {globalAlpha: Math.max(0.3, look.alpha ?? 0.3), fillStyle: colour})
    ink.fillRect(x + 2, y - 5, SAMPLE - 4, 10)
    ink.globalAlpha = 1
  } else if (mark.kind !== "image") {
    paint_line(ink, [x, x + SAMPLE], [y, y], {colour, width: look.width ?? 2, dash: look.dash})
  }
}

const UNIT = {  // corners of signs of diameter 2
  triangle: [[0, -1], [0.9, 0.8], [-0.9, 0.8]], inverted_triangle: [[0, 1], [0.9, -0.8], [-0.9, -0.8]], square: [[-0.8, -0.8], [0.8, -0.8], [0.8, 0.8], [-0.8, 0.8]],
  diamond: [[0, -1], [0.75, 0], [0, 1], [-0.75, 0]], plus: [[-0.3, -1], [0.3, -1], [0.3, -0.3], [1, -0.3], [1, 0.3], [0.3, 0.3], [0.3, 1], [-0.3, 1], [-0.3, 0.3], [-1, 0.3], [-1, -0.3], [-0.3, -0.3]],
  hex: [0, 1, 2, 3, 4, 5].map((k) => [Math.sin(k * Math.PI / 3), -Math.cos(k * Math.PI / 3)]),
  star: Array.from({length: 10}, (_, k) => [0, 1].map((c) => (k % 2 ? 0.45 : 1.1) * (c ? -Math.cos(k * Math.PI / 5) : Math.sin(k * Math.PI / 5)))),
}

function paint_sign(ink, marker, x, y, size, colour, hollow = false) {
  if (!isFinite(x + y)) return
  const r = size / 2
  Object.assign(ink, {strokeStyle: colour, fillStyle: colour, lineWidth: 1.5})
  ink.beginPath()
  if (marker === "asterisk") for (const turn of [0, 1, 2].map((k) => k * Math.PI / 3)) {
    ink.moveTo(x - r * Math.sin(turn), y - r * Math.cos(turn))
    ink.lineTo(x + r * Math.sin(turn), y + r * Math.cos(turn))
  } else if (UNIT[marker]) {
    for (const [dx, dy] of UNIT[marker]) ink.lineTo(x + r * dx, y + r * dy)
    ink.closePath()
  } else ink.arc(x, y, r, 0, 7)
  if (hollow || marker === "asterisk") ink.stroke()
  else ink.fill()
}

// The columns of a mark as pixels; the arrays are used again.
function places(pen, key, mark, x = "x", y = "y") {
  const {map, state} = pen, {columns, look} = mark, one = columns[look[x] ?? x], two = columns[look[y] ?? y], n = one.length
  const room = (name) => { const at = key + name; return state.rooms[at]?.length === n ? state.rooms[at] : state.rooms[at] = new Float64Array(n) }
  const [sx, sy] = [room(x), room(y)], [, top, , h] = map.box, edge = look.edge
  for (let k = 0; k < n; k++) {
    sx[k] = one[k] === null ? NaN : map.X(one[k])
    sy[k] = edge ? top + h * (1 - two[k]) : two[k] === null ? NaN : map.Y(two[k])
  }
  return [sx, sy]
}

function resting({ink, state, map}, key, {columns, look, role}, own) {
  const now = [columns[look.x ?? "x"], columns[look.y ?? "y"], state.seen, role, look.dash?.length]
  return now[0].length < FEW ? own(ink) : at_rest(ink, state.kept[key] ??= {}, now, map.box, own)
}

function paint(pen, key, mark) {
  const {ink, map, colours} = pen, {columns, look} = mark, colour = pen.colour(mark.role)
  if (!Object.keys(columns).length) return  // there for the legend alone
  switch (mark.kind) {
    case "line": return resting(pen, key, mark, (g) => paint_line(g, ...places(pen, key, mark), {colour, ...look}))
    case "segments": {
      const ends = [...places(pen, key, mark, "x0", "y0"), ...places(pen, key, mark, "x1", "y1")]
      return paint_segments(ink, ends, columns.kind, columns.alpha, {palette: PATHS.map(pen.colour), width: look.width ?? PATH_WIDTH})
    }
    case "dots": {
      const [x, y] = places(pen, key, mark), size = columns.size ?? look.size
      if (look.marker || look.hollow) return x.forEach((at, k) => paint_sign(ink, look.marker, at, y[k], size[k] ?? size, colour, look.hollow))
      const alpha = look.thin ? Math.min(OPAQUE, colours.dots * look.thin) : look.alpha
      return paint_dots(ink, pen.state.films[key] ??= new_film(), map.box, x, y, size, {colour, alpha, most: look.most})
    }
    case "signs": {
      const [x, y] = places(pen, key, mark), role = (k) => columns.role ? pen.colour(columns.role[k]) : colour
      return x.forEach((at, k) => paint_sign(ink, columns.marker?.[k] ?? look.marker, at, y[k], look.size ?? 8, role(k), look.hollow))
    }
    case "areas": return resting(pen, key, mark, (g) => paint_areas({...pen, ink: g}, key, mark, colour))
    case "band": return paint_areas(pen, key, mark, colour)
    case "bars":
      Object.assign(ink, {fillStyle: colour, globalAlpha: look.alpha ?? 0.55})
      columns.left.forEach((left, k) => {
        const [x, y] = [map.X(left), map.Y(columns.top[k])], foot = map.Y(columns.bottom?.[k] ?? 0)
        ink.fillRect(x, Math.min(y, foot), Math.max(1, map.X(columns.right[k]) - x - 0.5), Math.abs(foot - y))
      })
      ink.globalAlpha = 1
      return
    case "image": return paint_image(pen, key, mark)
    case "words": return paint_texts(pen, key, mark, colour)
  }
}

// Filled outlines; all outlines of one level together, so holes stay open.
function paint_areas(pen, key, {kind, columns, look}, colour) {
  const {ink} = pen, paths = [], trace = ([x, y], level) => {
    for (let k = 0, drawing = false; k < x.length; k++) {
      const here = isFinite(x[k] + y[k])
      if (here) (paths[level?.[k] ?? 0] ??= new Path2D())[drawing ? "lineTo" : "moveTo"](x[k], y[k])
      drawing = here
    }
  }
  if (kind === "band") {
    const edges = ["high", "low"].map((edge) => places(pen, key + edge, {columns, look}, "x", edge))
    trace([0, 1].map((axis) => [...edges[0][axis], ...edges[1][axis].toReversed()]))
  } else trace(places(pen, key, {columns, look}), columns.level)
  Object.assign(ink, {fillStyle: colour, globalAlpha: look.alpha ?? AREA_ALPHA})
  paths.forEach((path) => ink.fill(path))
  ink.globalAlpha = 1
}

// Cells of colour: 0 and 1 are the colours of two roles, a half is nothing.
function paint_image(pen, key, {columns, look: {low = 0, high = 1, opaque = false}}) {
  const {ink, map, state} = pen, {values, ends, x, y, shape: [rows, wide]} = columns, strength = opaque ? 1 : STRENGTH
  const cells = state.films[key] ??= document.createElement("canvas"), g = cells.getContext("2d")
  Object.assign(cells, {width: wide, height: rows})
  const image = g.createImageData(wide, rows), rgb = ends.map((end) => rgb_of(pen.colour(end)))
  for (let row = 0; row < rows; row++) for (let k = 0; k < wide; k++) {
    const value = (values[row * wide + k] - low) / (high - low), at = 4 * ((rows - 1 - row) * wide + k)  // row 0 lies at the bottom
    image.data.set([...rgb[value < 0.5 ? 0 : 1], 255 * strength * Math.abs(2 * value - 1)], at)
  }
  g.putImageData(image, 0, 0)
  ink.imageSmoothingEnabled = false
  ink.drawImage(cells, map.X(x[0]), map.Y(y[1]), map.X(x[1]) - map.X(x[0]), map.Y(y[0]) - map.Y(y[1]))
}

function wipe({ink, colours}, words, x, y, alpha) {
  const {actualBoundingBoxLeft: left, actualBoundingBoxRight: right, actualBoundingBoxAscent: up, actualBoundingBoxDescent: down} = ink.measureText(words)
  ink.save()
  Object.assign(ink, {globalAlpha: alpha, fillStyle: colours.paper})
  ink.fillRect(x - left - 2, y - up - 2, left + right + 4, up + down + 4)
  ink.restore()
}

function paint_texts(pen, key, mark, colour) {
  const {ink, px} = pen, {columns, look} = mark, [x, y] = places(pen, key, mark)
  ink.font = font(Math.max(look.px ?? TEXT_PX, TEXT_PX) * px / TEXT_PX, look.bold)
  ink.fillStyle = colour
  Object.assign(ink, {textAlign: look.align ?? (look.beside ? "left" : "center"), textBaseline: look.baseline ?? (look.beside ? "bottom" : "middle")})
  const [right, down] = look.beside ? [6, -3] : [look.right ?? 0, look.down ?? 0]
  columns.text.forEach((words, k) => {
    if (look.paper) wipe(pen, words, x[k] + right, y[k] + down, look.paper)
    ink.fillText(words, x[k] + right, y[k] + down)
  })
}

// Words in the middle, the corner, and as a note; lines that a note has are kept.
function paint_words({ink, map, colours, px}, {middle, corner, note}) {
  const [left, top, w, h] = map.box
  const write = (words, x, y, align, baseline, colour) => {
    if (!words) return
    Object.assign(ink, {font: font(px), textAlign: align, textBaseline: baseline})
    const fits = (some) => ink.measureText(some.join(" ")).width <= w - 16, line = px + 4
    const lines = words.split("\n").flatMap((one) => in_lines(one.split(" "), fits)).map((some) => some.join(" "))
    const wide = Math.max(...lines.map((one) => ink.measureText(one).width))
    const start = x - wide * {left: 0, center: 0.5, right: 1}[align]
    const share = {top: 0, middle: 0.5, bottom: 1}[baseline], first = y - share * line * (lines.length - 1)
    Object.assign(ink, {globalAlpha: WIPE, fillStyle: colours.paper})
    ink.fillRect(start - 2, first - share * line, wide + 4, line * lines.length)
    Object.assign(ink, {globalAlpha: 1, fillStyle: colour})
    lines.forEach((one, k) => ink.fillText(one, x, first + k * line))
  }
  write(middle, left + w / 2, top + h / 2, "center", "middle", colours.muted)
  write(corner, left + w - 6, top + 4, "right", "top", colours.muted)
  write(note, left + 8, top + h - 5, "left", "bottom", colours.text)
}


// The words at the pointer: "{x:.3f}" and "{visited:,}" as Python writes them, of one row.
function told(format, {columns, look}, k) {
  return format.replace(/\{(\w+)(?::([^}]*))?\}/g, (_, name, form = "") => {
    const value = columns[name]?.[k], [, grouped, , digits, kind] = form.match(/(,)?(\.(\d+)([fge]))?/)
    if (typeof value === "string") return value
    if (!Number.isFinite(value)) return "unknown"
    if (value > (look.ceiling ?? Infinity)) return `> ${number_words(look.ceiling)}`
    if (kind === "f") return value.toLocaleString("en-US", {minimumFractionDigits: digits, maximumFractionDigits: digits, useGrouping: Boolean(grouped)}).replace("-", "−")
    return number_words(kind ? Number(value.toPrecision(digits)) : grouped ? Math.round(value) : value)
  })
}

// The row of a mark under the pointer: the nearest one, or the nearest along x.
function under(pen, [key, mark], px, py) {
  const [x, y] = places(pen, `hover ${key}`, mark), {size} = mark.columns, along = Boolean(mark.look.across)
  let best = null
  for (let k = 0; k < x.length; k++) {
    const away = along ? Math.abs(x[k] - px) : Math.hypot(x[k] - px, y[k] - py)
    const reach = along ? Infinity : Math.max(mark.kind === "line" ? 3 * REACH : REACH, Math.min(size?.[k] ?? 0, mark.look.most ?? Infinity) / 2 + 2)
    if (away <= reach && (!best || away < best.away)) best = {k, away, along, mark, at: [x[k], y[k]]}
  }
  return best
}

const TIP = "position:fixed;z-index:1200;pointer-events:none;padding:4px 8px;border:1px solid #8a8a8a;border-radius:4px;white-space:pre;"
function tip() {
  const old = document.querySelector(".pmdviz-tip")
  if (old) return old
  const box = Object.assign(document.createElement("div"), {className: "pmdviz-tip", role: "tooltip"})
  box.style.cssText = `${TIP}font:${font(TEXT_PX)};line-height:1.4`
  return document.body.appendChild(box)
}

function pmdvizWatch(canvas, {zoom = "", tap = null} = {}) {
  const state = () => known.get(canvas)
  const redraw = () => { if (state()) pmdvizDraw(canvas, state().picture, state().options) }
  const inside = ({offsetX: x, offsetY: y}, [left, top, w, h]) => x >= left && x <= left + w && y >= top && y <= top + h
  let pressed = null

  function hover(event) {
    const now = state(), box = tip(), pen = canvas.pmdviz && {map: canvas.pmdviz, state: now}
    const marks = pen && inside(event, pen.map.box) ? Object.entries(now.picture.marks).filter(([, mark]) => Object.keys(mark.hover ?? {}).length) : []
    const found = marks.map((one) => under(pen, one, event.offsetX, event.offsetY)).filter(Boolean).sort((a, b) => a.along - b.along || a.away - b.away)[0]
    box.hidden = !found
    if (!found) return
    const colours = PALETTES[now.options.theme]
    box.textContent = Object.entries(found.mark.hover).map(([words, format]) => `${words ? `${words}: ` : ""}${told(format, found.mark, found.k)}`).join("\n")
    Object.assign(box.style, {color: colours.text, background: colours.paper})
    const {width, height} = box.getBoundingClientRect(), {clientX: x, clientY: y} = event
    Object.assign(box.style, {left: `${Math.max(4, Math.min(x + 14, innerWidth - width - 4))}px`, top: `${y + 20 + height > innerHeight ? y - height - 12 : y + 20}px`})
  }

  // Values at the ends of an axis when its start and end are moved to these pixels.
  function move(to_x, to_y) {
    const now = state(), [left, top, w, h] = canvas.pmdviz.box, {picture, span} = now
    const ends = (axis, own, a, b) => { const [low, high] = span_of(axis, own), per = high - low; return [low + a * per, low + b * per] }
    if (!picture.x.log) span.x = ends(picture.x, span.x, (to_x(left) - left) / w, (to_x(left + w) - left) / w)
    if (zoom === "both" && !picture.y.log) span.y = ends(picture.y, span.y, (top + h - to_y(top + h)) / h, (top + h - to_y(top)) / h)
    redraw()
  }

  canvas.addEventListener("pointermove", (event) => {
    if (!pressed || !zoom) return hover(event)
    const [dx, dy] = [event.offsetX - pressed.x, event.offsetY - pressed.y]
    if (!pressed.moved && Math.hypot(dx, dy) < CLICK) return
    if (!pressed.moved) canvas.setPointerCapture(event.pointerId)
    Object.assign(pressed, {x: event.offsetX, y: event.offsetY, moved: true})
    tip().hidden = true
    move((x) => x - dx, (y) => y - dy)
  })
  canvas.addEventListener("pointerleave", () => { tip().hidden = true })
  canvas.addEventListener("pointerdown", (event) => { if (canvas.pmdviz && inside(event, canvas.pmdviz.box)) pressed = {x: event.offsetX, y: event.offsetY} })
  canvas.addEventListener("pointerup", (event) => {
    if (pressed && !pressed.moved && tap) {
      const {box: [left, top, w, h], x, y} = canvas.pmdviz, per = {x: w / (x[1] - x[0]), y: h / (y[1] - y[0])}
      tap(x[0] + (event.offsetX - left) / per.x, y[0] + (top + h - event.offsetY) / per.y, per)
    }
    pressed = null
  })
  canvas.addEventListener("pointercancel", () => { pressed = null })
  if (zoom) {
    canvas.style.touchAction = "pan-y"
    canvas.addEventListener("wheel", (event) => {
      if (!canvas.pmdviz || !inside(event, canvas.pmdviz.box)) return
      event.preventDefault()
      const {offsetX: x, offsetY: y} = event, share = Math.exp(Math.max(-100, Math.min(100, event.deltaY)) / 400)
      move((at) => x + share * (at - x), (at) => y + share * (at - y))
    }, {passive: false})
    canvas.addEventListener("dblclick", () => { state().span = {}; redraw() })
  }
  new ResizeObserver(redraw).observe(canvas)
}
