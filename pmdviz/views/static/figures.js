// == moving: Paint what moves straight from the columns of a frame. BokehJS gives them to five glyphs a layer (selected, muted, ...)
// with an index of all points each, and rewrites a stylesheet at every paint: that is most of a frame's time. Its own
// glyphs, which the pointer asks, follow a few times a second.
const SETTLE_MS = 400, SHADES = 33
const value = (spec) => spec !== null && typeof spec === "object" && "value" in spec ? spec.value : spec

const screen = (view, columns, x, y) => view.coordinates.map_to_screen(columns[x.field], columns[y.field])

// A picture of the frame's size lies on whole pixels of the canvas: where its origin is, and the canvas's own transform.
function film_place(ctx, view) {
  const {x, y, width, height} = view.plot_view.frame.bbox, {a: ratio, e, f} = ctx.getTransform()
  const left = Math.floor(x * ratio + e), top = Math.floor(y * ratio + f)
  return {ratio, left, top, dx: e - left, dy: f - top, wide: Math.ceil(width * ratio) + 1, high: Math.ceil(height * ratio) + 1}
}

function put_film(ctx, canvas, place, x, y, w, h) {
  ctx.save()
  ctx.resetTransform()
  ctx.globalAlpha = 1
  ctx.drawImage(canvas, x, y, w, h, place.left + x, place.top + y, w, h)
  ctx.restore()
}

// A line that stands still is painted twice; from then on it is a picture.
function line(ctx, view, glyph, columns) {
  if (value(glyph.line_color) == null) return
  const place = film_place(ctx, view), {x_scale, y_scale} = view.coordinates
  const look = [glyph.line_color, glyph.line_alpha, glyph.line_width, glyph.line_dash].map(value)
  const spans = [x_scale, y_scale].flatMap((scale) => [scale.compute(0.5), scale.compute(1)])
  const seen = JSON.stringify([place, glyph.x.field, spans, look]), kept = view.kept ??= {}
  const same = kept.columns === columns && kept.seen === seen
  if (!same) Object.assign(kept, {columns, seen, canvas: null})
  if (!same || place.wide < 2 || place.high < 2) return stroke(ctx, view, glyph, columns)
  if (!kept.canvas) {
    kept.canvas = Object.assign(document.createElement("canvas"), {width: place.wide, height: place.high})
    const g = kept.canvas.getContext("2d")
    g.setTransform(place.ratio, 0, 0, place.ratio, place.dx, place.dy)
    stroke(g, view, glyph, columns)
  }
  put_film(ctx, kept.canvas, place, 0, 0, place.wide, place.high)
}

function stroke(ctx, view, glyph, columns) {
  const [sx, sy] = screen(view, columns, glyph.x, glyph.y)
  ctx.strokeStyle = value(glyph.line_color)
  ctx.globalAlpha = value(glyph.line_alpha)
  ctx.lineWidth = value(glyph.line_width)
  ctx.setLineDash(value(glyph.line_dash))
  ctx.lineJoin = "bevel"
  ctx.beginPath()
  let drawing = false
  for (let i = 0; i < sx.length; i++) {
    const here = isFinite(sx[i] + sy[i])
    if (here && drawing) ctx.lineTo(sx[i], sy[i])
    else if (here) ctx.moveTo(sx[i], sy[i])
    drawing = here
  }
  ctx.stroke()
}

// Segments of one colour and about one opacity are one stroke: a tail of a thousand would be a thousand.
function segments(ctx, view, glyph, columns) {
  const {palette, low, high} = glyph.line_color.transform, step = (high - low) / palette.length
  const kinds = columns[glyph.line_color.field], alpha = columns[glyph.line_alpha.field], strokes = new Map()
  const [x0, y0] = screen(view, columns, glyph.x0, glyph.y0), [x1, y1] = screen(view, columns, glyph.x1, glyph.y1)
  for (let i = 0; i < x0.length; i++) {
    if (!isFinite(x0[i] + y0[i] + x1[i] + y1[i])) continue
    const kind = Math.min(palette.length - 1, Math.max(0, Math.floor((kinds[i] - low) / step)))
    const key = kind * SHADES + Math.round(alpha[i] * (SHADES - 1))
    if (!strokes.has(key)) strokes.set(key, new Path2D())
    strokes.get(key).moveTo(x0[i], y0[i])
    strokes.get(key).lineTo(x1[i], y1[i])
  }
  ctx.lineWidth = value(glyph.line_width)
  for (const [key, path] of strokes) {
    ctx.strokeStyle = palette[Math.floor(key / SHADES)]
    ctx.globalAlpha = key % SHADES / (SHADES - 1)
    ctx.stroke(path)
  }
}

// Dots of one colour as pixels: 1,500 circles take the canvas 3 ms, this a tenth of it. Where dots lie over one another
// what shines through is multiplied, as the canvas would.
function dots(ctx, view, glyph, columns) {
  const [sx, sy] = screen(view, columns, glyph.x, glyph.y), size = glyph.size.field ? columns[glyph.size.field] : null
  const place = film_place(ctx, view), {ratio, dx, dy, wide, high} = place, film = view.film ??= new_film()
  if (wide < 2 || high < 2 || value(glyph.fill_color) == null) return
  const at = (i) => [ratio * sx[i] + dx, ratio * sy[i] + dy, ratio * (size ? size[i] : value(glyph.size)) / 2]
  const box = [wide, high, -1, -1]  // what the dots take up
  for (let i = 0; i < sx.length; i++) {
    const [x, y, r] = at(i)
    if (!(r > 0) || !isFinite(x + y)) continue
    box[0] = Math.min(box[0], x - r)
    box[1] = Math.min(box[1], y - r)
    box[2] = Math.max(box[2], x + r)
    box[3] = Math.max(box[3], y + r)
  }
  const x0 = Math.max(0, Math.floor(box[0]) - 1), x1 = Math.min(wide - 1, Math.ceil(box[2]))
  const y0 = Math.max(0, Math.floor(box[1]) - 1), y1 = Math.min(high - 1, Math.ceil(box[3]))
  if (x1 < x0 || y1 < y0) return
  film.clear(wide, high, y0, y1)
  const shade = film.colour(value(glyph.fill_color)), opacity = value(glyph.fill_alpha)
  for (let i = 0; i < sx.length; i++) {
    const [x, y, r] = at(i)
    if (r > 0 && isFinite(x + y)) disc(film.pixels, wide, high, x, y, r, shade, opacity)
  }
  const [w, h] = [x1 - x0 + 1, y1 - y0 + 1]
  film.put(x0, y0, w, h)
  put_film(ctx, film.canvas, place, x0, y0, w, h)
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

// Pixels of a frame's size. A canvas has bytes red, green, blue, opacity; all our machines put the low one first.
function new_film() {
  const canvas = document.createElement("canvas"), g = canvas.getContext("2d", {willReadFrequently: true})
  let image = null, said = "", shade = 0
  return {
    canvas,
    clear(width, height, first, last) {
      if (canvas.width !== width || canvas.height !== height || !image) {
        Object.assign(canvas, {width, height})
        image = g.createImageData(width, height)
        this.pixels = new Uint32Array(image.data.buffer)
      } else this.pixels.fill(0, first * width, (last + 1) * width)
    },
    colour(words) {
      if (words !== said) {
        said = g.fillStyle = words
        const [red, green, blue] = [1, 3, 5].map((k) => parseInt(g.fillStyle.slice(k, k + 2), 16))
        shade = blue << 16 | green << 8 | red
      }
      return shade
    },
    put(x, y, width, height) { g.putImageData(image, 0, 0, x, y, width, height) },
  }
}

// A glyph that looks the way one of these paints it, or null: then Bokeh goes on painting it.
function painter(glyph) {
  if (glyph.type === "Line") return line
  if (glyph.type === "Segment") return glyph.line_color?.transform?.palette ? segments : null
  const plain = glyph.type === "Scatter" && value(glyph.marker) === "circle" && glyph.fill_color?.field == null
  return plain && value(glyph.line_color) == null && glyph.fill_alpha?.field == null ? dots : null
}

// A source whose columns may be handed to those who paint: `source.move`; Bokeh's own columns follow.
function let_move(source, view) {
  if (!source.moved) {
    let due = null
    source.moved = []
    source.properties.data.change.connect(() => { source.now = null })
    source.move = (data) => {
      source.now = data
      for (const each of source.moved) each.request_paint()
      due ??= setTimeout(() => {
        due = null
        if (source.now) source.setv({data: source.now}, {sync: false, check_eq: false})
      }, SETTLE_MS)
    }
  }
  source.moved.push(view)
}

// A plot that paints in every frame of the display: BokehJS waits 1/60 s after a paint before it asks for the next frame,
// and so misses every second one. And a paint of the overlay alone changes no axis: nothing has to be measured for it.
function hurry(plot) {
  if (plot.hurries) return
  plot.hurries = true
  const {stop} = plot.throttled_paint, measure = plot._invalidate_layout_if_needed
  const below = (painter) => painter.model.level !== "overlay"
  let next = null
  plot.throttled_paint = () => next ??= new Promise((done, fail) => requestAnimationFrame(() => {
    next = null
    if (plot.is_destroyed) return done()
    try { done(plot.repaint()) } catch (error) { fail(error) }
  }))
  plot.throttled_paint.stop = stop
  plot._invalidate_layout_if_needed = function () {
    if (this._invalidate_all || [...this._invalidated_painters].some(below)) measure.call(this)
  }
}

for (const model of moving) {
  const view = Bokeh.index.find_one(model)
  if (!view || view.floats) continue
  view.floats = true
  hurry(view.plot_view)
  if (model.type === "Label") {  // an empty one is measured as well
    const own = view.paint
    view.paint = function (ctx) { if (model.text) own.call(this, ctx); else this.mark_finished() }
    continue
  }
  // Of the overlay Bokeh clips to the frame only what says that it needs it.
  Object.defineProperty(view, "needs_clip", {get: () => true, configurable: true})
  view.update_position = () => {}  // it has no element that would need a place
  const paint = painter(model.glyph)
  if (!paint) continue
  view._paint = (ctx) => paint(ctx, view, model.glyph, model.data_source.now ?? model.data_source.data)
  const hit_test = view.hit_test
  view.hit_test = function (geometry) {  // Bokeh would have mapped them to the screen in its paint
    this.glyph.map_data()
    return hit_test.call(this, geometry)
  }
  let_move(model.data_source, view)
}
// == drag_start: Drag the start of the paths: from a press beside it until the release; the server draws it where it is put.
const reach = 28, every = 40 // px around it; ms between two words to the server
const [px, py] = [figure.inner_width / (figure.x_range.end - figure.x_range.start), figure.inner_height / (figure.y_range.end - figure.y_range.start)]
const now = performance.now(), { x, y } = cb_obj
if (cb_obj.event_name === "panstart") {
  const { x: [at], y: [up] } = start.data
  // Where it was pressed: a start of a pan is told only after some pixels.
  dragged.grabbed = Math.hypot((x - (cb_obj.delta_x ?? 0) / px - at) * px, (y + (cb_obj.delta_y ?? 0) / py - up) * py) < reach
}
if (dragged.grabbed && Number.isFinite(x) && (cb_obj.event_name !== "pan" || now - (dragged.told ?? 0) > every)) {
  dragged.told = now
  dragged.data = { x: [x], y: [y] }
}
if (cb_obj.event_name === "panend") dragged.grabbed = false
// == pick: A tap on the stage, for whoever draws particles elsewhere: where it was, and how many pixels a unit of each axis has.
const frame = Bokeh.index.find_one(stage)?.frame
const [x, y] = [stage.x_range, stage.y_range]
const per = { x: (frame?.bbox.width ?? 1) / Math.abs(x.end - x.start), y: (frame?.bbox.height ?? 1) / Math.abs(y.end - y.start) }
document.dispatchEvent(new CustomEvent("pmdviz-pick", { detail: { stage: stage.id, x: cb_obj.x, y: cb_obj.y, per } }))
