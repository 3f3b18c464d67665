// == run: The pictures of a run: the stage, and the traces beside it.
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
// == race: The pictures of a race: a tile for each entrant in one figure, and one metric of all beside it.
function make_scene(model) {
  const {scales, metric, clock} = film
  const [paths, words, fronts] = ["paths", "words", "fronts"].map(model)
  const tile_models = film.frames[0].tiles.map((_, k) => [model(`particles-${k}`), model(`approximate-${k}`)])
  const ways = {x0: "x", y0: "y", x1: "x", y1: "y", alpha: "alpha", kind: "kind"}  // column -> its scale
  const pictures = model("image")
  const rows = film.rows.map((columns) => (
    Object.fromEntries(Object.entries(columns).map(([name, text]) => [name, floats(text)]))
  ))

  // The columns of all tiles one behind the other.
  function joined(places, scale) {
    const whole = new Float32Array(places.reduce((sum, [, length]) => sum + length, 0))
    let at = 0
    for (const place of places) {
      whole.set(column(place, scale), at)
      at += place[1]
    }
    return whole
  }

  function stage({tiles, state, note, images, image_step}) {
    tiles.forEach((tile, k) => {
      const part = (name, axis) => column(tile[name], scales[axis])
      const [particles, approximate] = tile_models[k]
      particles.data = {x: part("x", "x"), y: part("y", "y"), size: part("size", "size")}
      approximate.data = {x: part("line_x", "x"), y: part("line_y", "y")}
    })
    const moved = tiles.filter((tile) => tile.x0)
    if (moved.length || paths.data.x0.length) paths.data = Object.fromEntries(
      Object.entries(ways).map(([name, scale]) => [name, joined(moved.map((tile) => tile[name]), scales[scale])])
    )
    words.data = {...words.data, state, note}
    if (images) show_images(images, image_step)
  }

  function show_images(places, step) {
    const {data} = pictures
    const image = places.map((place, k) => new data.image[k].constructor(column(place, [0, step]), data.image[k].shape))
    pictures.data = {...data, image}
  }

  function traces(frame) {
    if (!fronts) return
    const ends = frame.rows.map((seen, k) => {
      const part = Object.entries(rows[k]).map(([name, values]) => [name, values.subarray(0, seen)])
      model(`traces-${k}`).data = Object.fromEntries(part)
      return seen - 1
    })
    fronts.data = {...fronts.data, x: ends.map((at, k) => rows[k][clock][at]), y: ends.map((at, k) => rows[k][metric][at])}
  }

  return {stage, traces}
}
// == inside: The panel "Inside this step" of an exported run: while it is open it follows the frame shown.
function make_inside(pause) {
  const place = at("inside")
  if (!place) return { show() {}, toggle() {} }
  const view = inside_view({ dark: film.dark, freeze: pause })
  let last = null
  const floats_at = ([start, length, ...scale]) => {
    if (scale.length) return column([start, length], scale)
    const n = length / 2, bits = new Uint32Array(n)
    for (let i = 0; i < n; i++) bits[i] = numbers[start + n + i] * 65536 + numbers[start + i]
    return new Float32Array(bits.buffer)
  }
  const draw = () => { if (place.open && last) view.show(last.inside, floats_at) }
  place.append(view.root)
  place.addEventListener("toggle", draw)
  document.addEventListener("pmdviz-pick", ({ detail }) => view.pick_at(detail.x, detail.y, detail.per))
  return {
    show(frame) { last = frame; draw() },
    toggle() {
      place.open = !place.open
      if (place.open) setTimeout(() => place.scrollIntoView({ block: "nearest" }), 50)  // when it has been filled
    },
  }
}
// == player: A film in a page of its own: frames come out of one run of 16-bit numbers, the pictures are the app's own figures.
// `make_scene` of another script knows them: {stage, traces}, functions of a frame.
const film = JSON.parse(document.getElementById("film").textContent)
const at = (id) => document.getElementById(id)
const bytes = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)).buffer
let numbers = null
const floats = (text) => new Float32Array(bytes(text))
const GAP = 65535
const TRACES_MS = 150  // a second figure costs half as much again; while it plays the eye does not miss it

// The run of numbers: deflated, all high bytes before all low ones.
async function unpacked(text) {
  const stream = new Blob([bytes(text)]).stream().pipeThrough(new DecompressionStream("deflate"))
  const planes = new Uint8Array(await new Response(stream).arrayBuffer()), length = planes.length / 2
  return Uint16Array.from({length}, (_, i) => planes[i] << 8 | planes[length + i])
}

// A column: `low + step * number`, NaN for a gap between two lines.
function column([start, length], [low, step]) {
  const values = new Float32Array(length)
  for (let i = 0; i < length; i++) {
    const number = numbers[start + i]
    values[i] = number === GAP ? NaN : low + step * number
  }
  return values
}

function play_film(model) {
  const {frames, fps} = film
  const scene = make_scene(model), status = document.querySelector(".pmdviz-status")
  const inside = make_inside(() => set_playing(false)), last = frames.length - 1
  let now = -1, playing = false, due = 0, traced = 0, painting = false

  function show(k) {
    if (k === now) return
    now = k
    const frame = frames[k]
    scene.stage(frame)
    if (!playing || k === last || performance.now() - traced > TRACES_MS) show_traces(frame)
    status.textContent = frame.words
    at("frame").value = k
    at("frame").setAttribute("aria-valuetext", frame.words)
    at("shown").textContent = `${k + 1} of ${last + 1}`
  }

  function show_traces(frame) {
    traced = performance.now()
    scene.traces(frame)
    inside.show(frame)
  }

  function set_playing(on) {
    playing = on
    at("play").textContent = on ? "Pause" : "Play"
    if (!on) return show_traces(frames[now])
    if (now === last) show(0)
    due = performance.now() + 1000 / fps
    requestAnimationFrame(tick)
  }

  function tick(time) {
    if (!playing) return
    if (painting) painting = false  // Bokeh paints in the animation frame after this one
    else if (time >= due) {
      due = Math.max(due + 1000 / fps, time)  // late frames are shown late, none is left out
      painting = true
      show(now + 1)
      if (now === last) return set_playing(false)
    }
    requestAnimationFrame(tick)
  }

  function step(by) {
    set_playing(false)
    show(Math.min(last, Math.max(0, now + by)))
  }

  at("play").addEventListener("click", () => set_playing(!playing))
  at("frame").addEventListener("input", () => { set_playing(false); show(Number(at("frame").value)) })
  document.addEventListener("keydown", (event) => {
    const own = { INPUT: true, BUTTON: event.key === " ", SUMMARY: event.key === " " }  // keys that these take themselves
    if (own[event.target.tagName]) return
    const act = {" ": () => set_playing(!playing), ArrowRight: () => step(1), ArrowLeft: () => step(-1), i: inside.toggle}[event.key]
    if (act) { event.preventDefault(); act() }
  })
  show(0)
}

// The figures are made by another script of this page, which may come later.
function when_ready() {
  const made = window.Bokeh?.documents?.[0]
  if (made) play_film((name) => made.get_model_by_name(`film-${name}`))
  else requestAnimationFrame(when_ready)
}
unpacked(film.numbers).then((found) => {
  numbers = found
  when_ready()
})
