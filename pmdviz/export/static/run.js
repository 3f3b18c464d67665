// The pictures of a run: the stage, and the traces beside it.
function make_scene(model) {
  const {scales} = film
  const names = ["particles", "approximate", "paths", "traces", "marks", "image", "others", "words"]
  const ways = {x0: "x", y0: "y", x1: "x", y1: "y", alpha: "alpha", kind: "kind"}  // column -> its scale
  const sources = Object.fromEntries(names.map((name) => [name, model(name)]))
  const [note, legend] = [model("note"), model("legend")]
  const rows = Object.fromEntries(Object.entries(film.rows).map(([name, text]) => [name, floats(text)]))

  // Cells of colour, as many as in the first frame and in an array of its kind.
  function show_image(place) {
    const {data} = sources.image, [first] = data.image
    sources.image.data = {...data, image: [new first.constructor(column(place, [0, film.image_step]), first.shape)]}
  }

  function stage(frame) {
    const whole = column(frame.size, scales.size), size = whole.map((d) => Math.min(d, frame.largest))
    sources.particles.data = {
      x: column(frame.x, scales.x), y: column(frame.y, scales.y), size, weight: whole.map((d) => d * d / frame.share),
    }
    if (frame.x0 || sources.paths.data.x0.length) sources.paths.data = Object.fromEntries(
      Object.entries(ways).map(([name, scale]) => [name, frame.x0 ? column(frame[name], scales[scale]) : []])
    )
    sources.approximate.data = {x: column(frame.line_x, scales.x), y: column(frame.line_y, scales.y)}
    if (frame.other_x) sources.others.data = {x: column(frame.other_x, scales.x), y: column(frame.other_y, scales.y)}
    if (frame.image) show_image(frame.image)
    if (frame.text) sources.words.data = {...sources.words.data, text: frame.text}  // each word keeps its place
    if (note.text !== frame.note) note.text = frame.note
    const item = legend.items.find((item) => item.renderers[0].name === "particles")
    if (item && item.label.value !== frame.label) item.label = {value: frame.label}
  }

  function traces(frame) {
    if (!sources.traces) return
    const seen = Object.entries(rows).map(([name, values]) => [name, values.subarray(0, frame.rows)])
    sources.traces.data = Object.fromEntries(seen)
    const marked = Object.entries(film.marks).map(([name, values]) => [name, values.slice(0, frame.marks)])
    if (sources.marks.data.x.length !== frame.marks) sources.marks.data = Object.fromEntries(marked)
  }

  return {stage, traces}
}
