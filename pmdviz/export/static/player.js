// A film in a page. A frame has what differs from the first one; its columns are places in one run of 16-bit numbers.
const film = JSON.parse(document.getElementById("film").textContent)
const at = (id) => document.getElementById(id)
const GAP = 65535
const INSIDE_MS = 150  // while it plays the panel below the pictures is redrawn less often
let numbers = null

// The run of numbers: deflated, all high bytes before all low ones.
async function numbers_of(text) {
  const planes = new Uint8Array(await unpacked(bytes_of(text), "deflate").arrayBuffer()), length = planes.length / 2
  return Uint16Array.from({length}, (_, i) => planes[i] << 8 | planes[length + i])
}

// A column: `low + step * number` or its power of ten, NaN for a gap. Without a scale it has the low halves of 32-bit floats and
// then the high ones.
function read([start, length, scale]) {
  if (scale === undefined) {
    const n = length / 2, bits = new Uint32Array(n)
    for (let i = 0; i < n; i++) bits[i] = numbers[start + n + i] * 65536 + numbers[start + i]
    return new Float32Array(bits.buffer)
  }
  const [low, step, log] = film.scales[scale], values = new Float32Array(length)
  for (let i = 0; i < length; i++) {
    const number = numbers[start + i], value = low + step * number
    values[i] = number === GAP ? NaN : log ? 10 ** value : value
  }
  return values
}

const read_before = {}
const column = (at) => read_before[at] ??= read(at)

// The picture with its columns as arrays.
function opened_picture(picture) {
  const opened = ([key, mark]) => {
    const columns = Object.fromEntries(Object.entries(mark.columns).map(([name, part]) => [name, Array.isArray(part) ? part : column(part.at)]))
    if (mark.look.area) columns.weight = columns.size.map((d) => d * d / mark.look.area)
    return [key, {...mark, columns}]
  }
  return {...picture, marks: Object.fromEntries(Object.entries(picture.marks).map(opened))}
}

// The stage and the traces of a run; of a race a tile for each entrant, with its title and its state above.
function lay_out(inside) {
  const theme = film.dark ? "dark" : "light", large = film.large, place = at("pictures"), colours = film.colours
  const titles = film.titles ?? [], states = titles.map(() => make("span"))
  const sample = (colour, line = "") => make("i", {class: line, style: `--ink: ${colour}`})
  const canvases = film.pictures.map((_, k) => make("canvas",
    {id: k < titles.length ? `tile-${k}` : k ? "traces" : "stage"}))
  if (titles.length) {
    const caption = (title, k) => make("figcaption", {}, sample(colours[k]), make("b", {title}, title), states[k])
    const tiles = titles.map((title, k) => make("figure", {}, caption(title, k), canvases[k]))
    const columns = [1, 2, 4].includes(titles.length) ? 2 : 3, rows = Math.ceil(titles.length / columns)
    const grid = make("div", {class: "tiles", style: `--columns: ${columns}; --rows: ${rows}`}, ...tiles)
    place.append(grid, ...canvases.slice(titles.length))
  } else place.append(...canvases)
  for (const [words, colour, line] of film.legend) at("legend").append(sample(colour, line), words)
  const borders = {left: 1, right: 1, top: 1, bottom: 1}
  const options = canvases.map((_, k) => k < titles.length ? {theme, large, borders} : {theme, large})
  canvases.forEach((canvas, k) => {
    const stage = !titles.length && k === 0
    pmdvizWatch(canvas, {zoom: stage ? "both" : k < titles.length ? "" : "width", tap: stage ? inside.pick_at : null})
  })
  return (frame) => {
    canvases.forEach((canvas, k) => pmdvizDraw(canvas, opened_picture(pmdvizMerged(film.pictures[k], frame.pictures[k])), options[k]))
    states.forEach((state, k) => { state.textContent = frame.states[k] })
  }
}

// The panel "Inside this step", of a race with a menu of the entrants: while it is open it follows the frame shown.
function make_inside(pause) {
  const place = at("inside")
  place.hidden = !film.inside
  if (!film.inside) return {show() {}, toggle() {}, pick_at() {}}
  const view = inside_view({dark: film.dark, freeze: pause})
  const menu = make("select", {onchange: () => draw()}, ...film.titles.map((title) => make("option", {}, title)))
  let last = null
  const draw = () => { if (place.open && last) view.show(last.inside[Math.max(menu.selectedIndex, 0)], column) }
  if (film.titles.length) place.append(make("label", {}, "Step of ", menu))
  place.append(view.root)
  place.ontoggle = draw
  return {
    pick_at: view.pick_at,
    show(frame) { last = frame; draw() },
    toggle() {
      place.open = !place.open
      if (place.open) setTimeout(() => place.scrollIntoView({block: "nearest"}), 50)  // when it has been filled
    },
  }
}

function play_film() {
  const {frames, fps} = film, status = document.querySelector(".pmdviz-status"), last = frames.length - 1
  const inside = make_inside(() => set_playing(false)), draw = lay_out(inside)
  let now = -1, playing = false, due = 0, told = 0

  function show(k) {
    if (k === now) return
    now = k
    draw(frames[k])
    if (!playing || k === last || performance.now() - told > INSIDE_MS) show_inside(frames[k])
    status.textContent = frames[k].words
    at("frame").value = k
    at("frame").setAttribute("aria-valuetext", frames[k].words)
    at("shown").textContent = `${k + 1} of ${last + 1}`
  }

  function show_inside(frame) {
    told = performance.now()
    inside.show(frame)
  }
  function set_playing(on) {
    playing = on
    at("play").textContent = on ? "Pause" : "Play"
    if (!on) return show_inside(frames[now])
    if (now === last) show(0)
    due = performance.now() + 1000 / fps
    requestAnimationFrame(tick)
  }

  function tick(time) {
    if (!playing) return
    if (time >= due) {
      due = Math.max(due + 1000 / fps, time)  // late frames are shown late, none is left out
      show(now + 1)
      if (now === last) return set_playing(false)
    }
    requestAnimationFrame(tick)
  }

  function step(by) {
    set_playing(false)
    show(Math.min(last, Math.max(0, now + by)))
  }

  const turn = () => set_playing(!playing)
  at("play").onclick = turn
  at("frame").oninput = () => { set_playing(false); show(Number(at("frame").value)) }
  document.addEventListener("keydown", (event) => {
    const own = event.key === " " ? "input, select, button, summary" : "input, select"  // keys that these take themselves
    if (event.target.closest?.(own)) return
    const act = {" ": turn, ArrowRight: () => step(1), ArrowLeft: () => step(-1), i: inside.toggle}[event.key]
    if (act) { event.preventDefault(); act() }
  })
  show(0)
}

numbers_of(film.numbers).then((found) => {
  numbers = found
  play_film()
})
