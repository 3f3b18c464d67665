// == moving: Paint what moves straight from the columns of a frame, by the functions of render/canvas.js. BokehJS gives them to
// five glyphs a layer (selected, muted, ...) with an index of all points each, and rewrites a stylesheet at every paint: that is
// most of a frame's time. Its own glyphs serve hit tests of the pointer; they follow some three times per second.
const SETTLE_MS = 400
const value = (spec) => spec !== null && typeof spec === "object" && "value" in spec ? spec.value : spec

const screen = (view, columns, x, y) => view.coordinates.map_to_screen(columns[x.field], columns[y.field])

const frame_of = (view) => { const {x, y, width, height} = view.plot_view.frame.bbox; return [x, y, width, height] }

function line(ctx, view, glyph, columns) {
  if (value(glyph.line_color) == null || !columns[glyph.x.field] || !columns[glyph.y.field]) return  // the column is still missing
  const {a, e, f} = ctx.getTransform(), {x_scale, y_scale} = view.coordinates, frame = frame_of(view)
  const look = [glyph.line_color, glyph.line_alpha, glyph.line_width, glyph.line_dash].map(value)
  const spans = [x_scale, y_scale].flatMap((scale) => [scale.compute(0.5), scale.compute(1)])
  const now = [columns, JSON.stringify([a, e, f, frame, glyph.x.field, spans, look])]
  const [colour, alpha, width, dash] = look
  at_rest(ctx, view.kept ??= {}, now, frame, (g) => paint_line(g, ...screen(view, columns, glyph.x, glyph.y), {colour, alpha, width, dash}))
}

function segments(ctx, view, glyph, columns) {
  const ends = [...screen(view, columns, glyph.x0, glyph.y0), ...screen(view, columns, glyph.x1, glyph.y1)]
  const look = {palette: glyph.line_color.transform.palette, width: value(glyph.line_width)}
  paint_segments(ctx, ends, columns[glyph.line_color.field], columns[glyph.line_alpha.field], look)
}

function dots(ctx, view, glyph, columns) {
  const [x, y] = screen(view, columns, glyph.x, glyph.y), size = glyph.size.field ? columns[glyph.size.field] : value(glyph.size)
  const look = {colour: value(glyph.fill_color), alpha: value(glyph.fill_alpha)}
  paint_dots(ctx, view.film ??= new_film(), frame_of(view), x, y, size, look)
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

// A plot that paints in every frame of the display: BokehJS waits 1/60 s after a paint before it requests the next frame,
// and so misses every second one. And a paint of the overlay alone changes no axis: nothing has to be measured for it.
function hurry(plot) {
  if (plot.hurries) return
  plot.hurries = true
  const {stop} = plot.throttled_paint, measure = plot._invalidate_layout_if_needed
  let next = null
  plot.throttled_paint = () => next ??= new Promise((done, fail) => requestAnimationFrame(() => {
    next = null
    if (plot.is_destroyed) return done()
    try { done(plot.repaint()) } catch (error) { fail(error) }
  }))
  plot.throttled_paint.stop = stop
  plot._invalidate_layout_if_needed = function () {
    if (this._invalidate_all || [...this._invalidated_painters].some((painter) => painter.model.level !== "overlay")) measure.call(this)
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
// == drag_start: Drag the start of the paths: from a press near it until the release; the server then draws it there.
const reach = 28, every = 40 // px around it; ms between two words to the server
const [px, py] = [figure.inner_width / (figure.x_range.end - figure.x_range.start), figure.inner_height / (figure.y_range.end - figure.y_range.start)]
const now = performance.now(), { x, y } = cb_obj
if (cb_obj.event_name === "panstart") {
  const { x: [at], y: [up] } = start.data
  // Where it was pressed: Bokeh reports a pan only after some pixels.
  dragged.grabbed = Math.hypot((x - (cb_obj.delta_x ?? 0) / px - at) * px, (y + (cb_obj.delta_y ?? 0) / py - up) * py) < reach
}
if (dragged.grabbed && Number.isFinite(x) && (cb_obj.event_name !== "pan" || now - (dragged.told ?? 0) > every)) {
  dragged.told = now
  dragged.data = { x: [x], y: [y] }
}
if (cb_obj.event_name === "panend") dragged.grabbed = false
// == pick: A tap on the stage, for other views of the particles: its place, and the pixels per unit of each axis.
const frame = Bokeh.index.find_one(stage)?.frame
const [x, y] = [stage.x_range, stage.y_range]
const per = { x: (frame?.bbox.width ?? 1) / Math.abs(x.end - x.start), y: (frame?.bbox.height ?? 1) / Math.abs(y.end - y.start) }
document.dispatchEvent(new CustomEvent("pmdviz-pick", { detail: { stage: stage.id, x: cb_obj.x, y: cb_obj.y, per } }))
