// A film in a page of its own: frames come out of one run of 16-bit numbers, the pictures are the app's own figures.
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
