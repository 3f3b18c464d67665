// Paint what moves straight from the columns of a frame. BokehJS gives them to five glyphs a layer (selected, muted, ...)
// with an index of all points each, and rewrites a stylesheet at every paint: that is most of a frame's time. Its own
// glyphs, which the pointer asks, follow a few times a second.
const SETTLE_MS = 400
const value = (spec) => spec !== null && typeof spec === "object" && "value" in spec ? spec.value : spec

const begin_line = (ctx, glyph) => {
  ctx.strokeStyle = value(glyph.line_color)
  ctx.globalAlpha = value(glyph.line_alpha)
  ctx.lineWidth = value(glyph.line_width)
}

const screen = (view, columns, x, y) => view.coordinates.map_to_screen(columns[x.field], columns[y.field])

function line(ctx, view, glyph, columns) {
  const [sx, sy] = screen(view, columns, glyph.x, glyph.y)
  if (value(glyph.line_color) == null) return
  let drawing = false
  begin_line(ctx, glyph)
  ctx.setLineDash(value(glyph.line_dash))
  ctx.lineJoin = "bevel"
  ctx.beginPath()
  for (let i = 0; i < sx.length; i++) {
    const here = isFinite(sx[i] + sy[i])
    if (here && drawing) ctx.lineTo(sx[i], sy[i])
    else if (here) ctx.moveTo(sx[i], sy[i])
    drawing = here
  }
  ctx.stroke()
}

function segments(ctx, view, glyph, columns) {
  const {palette, low, high} = glyph.line_color.transform, step = (high - low) / palette.length
  const kinds = columns[glyph.line_color.field], alpha = columns[glyph.line_alpha.field]
  const [x0, y0] = screen(view, columns, glyph.x0, glyph.y0), [x1, y1] = screen(view, columns, glyph.x1, glyph.y1)
  ctx.lineWidth = value(glyph.line_width)
  for (let i = 0; i < x0.length; i++) {
    ctx.strokeStyle = palette[Math.min(palette.length - 1, Math.max(0, Math.floor((kinds[i] - low) / step)))]
    ctx.globalAlpha = alpha[i]
    ctx.beginPath()
    ctx.moveTo(x0[i], y0[i])
    ctx.lineTo(x1[i], y1[i])
    ctx.stroke()
  }
}

// Dots of one colour as pixels: 1,500 circles take the canvas 3 ms, this a tenth of it. Where dots lie over one another
// what shines through is multiplied, as the canvas would.
function dots(ctx, view, glyph, columns) {
  const [sx, sy] = screen(view, columns, glyph.x, glyph.y), size = glyph.size.field ? columns[glyph.size.field] : null
  const {x: left, y: top, width, height} = view.plot_view.frame.bbox, ratio = ctx.getTransform().a
  const wide = Math.ceil(width * ratio), high = Math.ceil(height * ratio), film = view.film ??= new_film()
  if (wide < 1 || high < 1 || value(glyph.fill_color) == null) return
  const at = (i) => [ratio * (sx[i] - left), ratio * (sy[i] - top), ratio * (size ? size[i] : value(glyph.size)) / 2]
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
  ctx.globalAlpha = 1
  ctx.drawImage(film.canvas, x0, y0, w, h, left + x0 / ratio, top + y0 / ratio, w / ratio, h / ratio)
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

// A paint of the overlay alone changes no axis: nothing has to be measured for it.
function spare_layout(plot) {
  if (plot.spares_layout) return
  plot.spares_layout = true
  const own = plot._invalidate_layout_if_needed
  const below = (painter) => painter.model.level !== "overlay"
  plot._invalidate_layout_if_needed = function () {
    if (this._invalidate_all || [...this._invalidated_painters].some(below)) own.call(this)
  }
}

for (const model of moving) {
  const view = Bokeh.index.find_one(model)
  if (!view || view.floats) continue
  view.floats = true
  spare_layout(view.plot_view)
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
