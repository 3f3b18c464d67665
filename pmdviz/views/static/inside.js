// The panel: formula, terms, the picked particle, the batch, and the step in four pictures.
// `host` has `dark` and `freeze()`, which stops what plays.
function inside_view(host) {
  const parts = panel_parts(), root = parts.root, stage = {open: false, at: 0, began: 0, playing: false, found: null}
  let step = null, look = null, row = null, picked = 0, lit = "", cells = [], queued = false
  const colours = () => PALETTES[host.dark ? "dark" : "light"]
  const still = () => matchMedia("(prefers-reduced-motion: reduce)").matches

  function show(told, read) {
    const next = opened(told, read)
    parts.note.textContent = next.note ?? ""
    parts.body.hidden = Boolean(next.note)
    if (next.note) { step = null; return }
    const fresh = !step || shape_of(step) !== shape_of(next)
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
      for (const element of [cell.part, cell.card]) {
        element.addEventListener("pointerenter", () => light(cell.key))
        element.addEventListener("pointerleave", () => light(""))
      }
      cell.button.addEventListener("focus", () => light(cell.key))
      cell.button.addEventListener("blur", () => light(""))
      pickable(cell.canvas, () => cell.at)
    })
    const sum = cells.at(-1)
    parts.formula.replaceChildren(sum.part, ...cells.slice(0, -1).map((cell) => cell.part))
    parts.terms.replaceChildren(...cells.map((cell) => cell.card))
    parts.common.hidden = look.by !== "curve"
    parts.batch.hidden = !step.batch
    parts.noun.textContent = step.noun[0].toUpperCase() + step.noun.slice(1)
    light("")
  }

  function pickable(canvas, at) {
    canvas.addEventListener("click", (event) => {
      const box = canvas.getBoundingClientRect(), known = at()
      if (known) pick(nearest(known, step.dots.row.length, event.clientX - box.left, event.clientY - box.top))
    })
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
      cell.number.textContent = k && term ? signed(value) : value
      cell.value.textContent = `${value}${step.sum.unit ? ` ${step.sum.unit}` : ""}`
      cell.filled.replaceChildren(...typeset(term?.filled || "\u00a0"))
    })
    parts.number.value = step.dots.row[picked]
    parts.card.replaceChildren(...card_of(step, picked))
    if (!lit) parts.about.textContent = key_words(step, look)
    draw()
  }

  // Once a frame of the browser at most, and only what is there to be seen.
  function draw() {
    if (queued) return
    queued = true
    requestAnimationFrame((time) => {
      queued = false
      if (!step || !root.isConnected || !root.clientWidth) return
      cells.forEach((cell, k) => { cell.at = paint_term(cell.canvas, step, look, k, colours(), picked); colour_cell(cell, k) })
      if (look.by === "curve") draw_common()
      if (step.batch) draw_batch()
      if (stage.open) draw_stage(time)
    })
  }

  function colour_cell(cell, k) {
    const {terms, text} = colours(), colour = k < step.terms.length ? terms[k % terms.length] : text
    for (const element of [cell.part, cell.card]) element.style.setProperty("--term", colour)
  }

  function draw_common() {
    const {terms, text} = colours()
    const lines = look.shown.map((columns, k) => [columns, k < step.terms.length ? terms[k % terms.length] : text])
    parts.common.at = paint_curve(sharp(parts.together), step, look, lines, colours(), picked)
  }

  function draw_batch() {
    parts.batch_title.textContent = step.batch.title
    parts.batch_words.textContent = step.batch.words
    paint_batch(parts.batch_canvas, step.batch, colours())
  }

  // The four pictures

  function draw_stage(time) {
    const since = time - stage.began, p = still() ? 1 : eased(Math.min(1, Math.max(0, since / TWEEN_MS)))
    stage.found = paint_picture(parts.large, step, look, stage.at, stage.at ? p : 1, colours(), picked)
    const {title, sentence} = step.pictures[stage.at]
    if (parts.picture_title.textContent !== `${stage.at + 1}. ${title}`) parts.picture_title.textContent = `${stage.at + 1}. ${title}`
    if (parts.sentence.textContent !== sentence) parts.sentence.textContent = sentence
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

  parts.freeze.addEventListener("click", play)
  parts.again.addEventListener("click", () => { if (stage.playing) { stage.playing = false; draw() } else play() })
  parts.numbers.forEach((button, k) => button.addEventListener("click", () => { stage.playing = false; go(k) }))
  parts.theatre.addEventListener("keydown", (event) => {
    const at = ["1", "2", "3", "4"].indexOf(event.key)
    if (at >= 0) { stage.playing = false; go(at); event.preventDefault() }
  })
  pickable(parts.large, () => stage.at === 0 && step.old.x ? null : stage.found)
  pickable(parts.together, () => parts.common.at)
  const along = (by) => {
    const order = by_weight(), at = order.indexOf(picked)
    pick(order[Math.min(order.length - 1, Math.max(0, at + by))])
  }
  parts.number.addEventListener("keydown", (event) => {
    const by = {ArrowUp: -1, ArrowDown: 1}[event.key]
    if (by) { along(by); event.preventDefault() }
  })
  parts.number.addEventListener("change", () => {
    const wanted = Number(parts.number.value), rows = step.dots.row
    pick(nearest({x: (i) => rows[i], across: true}, rows.length, wanted, 0))
  })
  parts.heavier.addEventListener("click", () => along(-1))
  parts.lighter.addEventListener("click", () => along(1))
  new ResizeObserver(draw).observe(root)

  // A place on the stage, in its own numbers: `per` says how many pixels a unit of each axis has.
  function pick_at(x, y, per) {
    if (!step?.placed || parts.body.hidden) return
    const {dots} = step, flat = step.flat
    pick(nearest({x: (i) => per.x * dots.x[i], y: (i) => flat ? 0 : per.y * dots.y[i], across: flat}, dots.x.length, per.x * x, flat ? 0 : per.y * y))
  }

  return {root, show, draw, pick_at}
}
