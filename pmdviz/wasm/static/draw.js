"use strict"
// The pictures of the page: the stage with the exact posterior, the density and the particles; the two traces.

const LEVELS = [0.05, 0.25, 0.6] // of the peak of q
const MARGIN = {left: 44, right: 10, top: 10, bottom: 34}
const rgb = (colour) => [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16))

/** A canvas whose pixels are those of the screen: its pen, and its size in CSS pixels. */
function pen(canvas) {
  const ratio = devicePixelRatio || 1, {clientWidth: width, clientHeight: height} = canvas
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio)
    canvas.height = Math.round(height * ratio)
  }
  const ink = canvas.getContext("2d")
  ink.setTransform(ratio, 0, 0, ratio, 0, 0)
  ink.clearRect(0, 0, width, height)
  return {ink, width, height}
}

function roundNumbers(low, high, room) {
  const count = Math.max(2, Math.min(6, Math.floor(room)))
  const power = 10 ** Math.floor(Math.log10((high - low) / count))
  const step = [1, 2, 5, 10].map((k) => k * power).find((s) => (high - low) / s <= count + 1)
  const out = []
  for (let k = Math.ceil(low / step); k * step <= high + 1e-9 * step; k++) out.push(Number((k * step).toPrecision(12)))
  return out
}

/** Axes with their numbers and labels; gives the maps from values to pixels. */
function axes({ink, width, height}, [xLow, xHigh], [yLow, yHigh], labels, colours) {
  const {left, right, top, bottom} = MARGIN, wide = width - left - right, high = height - top - bottom
  const x = (v) => left + wide * (v - xLow) / (xHigh - xLow), y = (v) => top + high * (1 - (v - yLow) / (yHigh - yLow))
  ink.font = "12px system-ui, sans-serif"
  ink.lineWidth = 1
  ink.strokeStyle = colours.grid
  ink.fillStyle = colours.text
  ink.textAlign = "center"
  for (const tick of roundNumbers(xLow, xHigh, wide / 60)) {
    line(ink, [[x(tick), top], [x(tick), top + high]])
    ink.fillText(number(tick), x(tick), top + high + 14)
  }
  ink.textAlign = "right"
  for (const tick of roundNumbers(yLow, yHigh, high / 40)) {
    line(ink, [[left, y(tick)], [left + wide, y(tick)]])
    ink.fillText(number(tick), left - 5, y(tick) + 4)
  }
  ink.textAlign = "center"
  ink.fillText(labels[0], left + wide / 2, height - 5)
  ink.save()
  ink.translate(11, top + high / 2)
  ink.rotate(-Math.PI / 2)
  ink.fillText(labels[1], 0, 0)
  ink.restore()
  return {x, y, left, top, wide, high}
}

const number = (value) => String(value).replace("-", "−")

function line(ink, points) {
  ink.beginPath()
  points.forEach(([x, y], k) => k ? ink.lineTo(x, y) : ink.moveTo(x, y))
  ink.stroke()
}

/** The exact posterior as an image, made once for a grid and a theme. */
function shade(p, side, colour) {
  const image = new ImageData(side, side), [r, g, b] = rgb(colour)
  let peak = 0
  for (const value of p) peak = Math.max(peak, value)
  for (let j = 0; j < side; j++) for (let i = 0; i < side; i++) {
    const at = 4 * ((side - 1 - j) * side + i)
    image.data.set([r, g, b, 190 * Math.sqrt(p[j * side + i] / peak)], at)
  }
  const canvas = new OffscreenCanvas(side, side)
  canvas.getContext("2d").putImageData(image, 0, 0)
  return canvas
}

/** Contours of q, cell by cell. */
function contours(ink, q, side, map, box) {
  let peak = 0
  for (const value of q) peak = Math.max(peak, value)
  const [[x0, x1], [y0, y1]] = box
  const px = (i) => map.x(x0 + (x1 - x0) * (i + 0.5) / side), py = (j) => map.y(y0 + (y1 - y0) * (j + 0.5) / side)
  ink.beginPath()
  for (const level of LEVELS.map((share) => share * peak)) {
    for (let j = 0; j < side - 1; j++) for (let i = 0; i < side - 1; i++) {
      const at = j * side + i, a = q[at] - level, b = q[at + 1] - level, c = q[at + side + 1] - level, d = q[at + side] - level
      if ((a > 0) === (b > 0) && (b > 0) === (c > 0) && (c > 0) === (d > 0)) continue
      const crossings = []
      if ((a > 0) !== (b > 0)) crossings.push([i + a / (a - b), j])
      if ((b > 0) !== (c > 0)) crossings.push([i + 1, j + b / (b - c)])
      if ((c > 0) !== (d > 0)) crossings.push([i + d / (d - c), j + 1])
      if ((d > 0) !== (a > 0)) crossings.push([i, j + a / (a - d)])
      for (let k = 0; k + 1 < crossings.length; k += 2) {
        ink.moveTo(px(crossings[k][0]), py(crossings[k][1]))
        ink.lineTo(px(crossings[k + 1][0]), py(crossings[k + 1][1]))
      }
    }
  }
  ink.stroke()
}

function particles(ink, {x, y, weights}, map, colours) {
  const share = 6000 / x.length, alpha = colours.dots
  ink.fillStyle = colours.belief
  ink.globalAlpha = alpha
  ink.beginPath()
  for (let i = 0; i < x.length; i++) {
    const radius = Math.min(9, Math.sqrt(weights[i] * x.length * share / Math.PI) / 1.1)
    if (radius < 0.3) continue
    const px = map.x(x[i]), py = map.y(y[i])
    ink.moveTo(px + radius, py)
    ink.arc(px, py, radius, 0, 7)
  }
  ink.fill()
  ink.globalAlpha = 1
}

/** The stage. `kept` holds the posterior's image from frame to frame. Gives the maps, for dragging. */
function drawStage(canvas, frame, kept, names, colours, handles) {
  const own = pen(canvas), {ink} = own, box = frame.view
  if (box.length === 1) return drawLine(own, frame, kept, names, colours, handles)
  const map = axes(own, box[0], box[1], names, colours)
  ink.save()
  ink.beginPath()
  ink.rect(map.left, map.top, map.wide, map.high)
  ink.clip()
  if (kept.p && frame.q) {
    if (kept.colour !== colours.truth || kept.of !== kept.p) {
      Object.assign(kept, {image: shade(kept.p, frame.side, colours.truth), colour: colours.truth, of: kept.p})
    }
    ink.drawImage(kept.image, map.left, map.top, map.wide, map.high)
    ink.strokeStyle = colours.belief
    ink.lineWidth = 1.6
    contours(ink, frame.q, frame.side, map, box)
  }
  particles(ink, frame.dots, map, colours)
  drawHandles(ink, handles, frame.options, map, colours)
  ink.restore()
  return map
}

function drawLine(own, frame, kept, names, colours, handles) {
  const {ink} = own, [low, high] = frame.view[0], peak = 1.1 * Math.max(...kept.p, ...frame.q)
  const map = axes(own, [low, high], [0, peak], [names[0], "density"], colours)
  for (const [values, colour, dash] of [[kept.p, colours.truth, []], [frame.q, colours.belief, [7, 3]]]) {
    ink.strokeStyle = colour
    ink.setLineDash(dash)
    ink.lineWidth = 2
    line(ink, Array.from(values, (v, k) => [map.x(low + (high - low) * (k + 0.5) / values.length), map.y(v)]))
  }
  ink.setLineDash([])
  particles(ink, frame.dots, map, colours)
  drawHandles(ink, handles, frame.options, map, colours)
  return map
}

function drawHandles(ink, handles, options, map, colours) {
  ink.strokeStyle = colours.text
  ink.lineWidth = 2
  for (const {at} of handles) {
    const [x, y] = at(options).map((value, k) => (k ? map.y : map.x)(value))
    ink.strokeRect(x - 6, y - 6, 12, 12)
  }
}

/** A trace with the value of independent draws. */
function drawTrace(canvas, runs, name, label, colours) {
  const own = pen(canvas), {ink} = own
  const every = runs.flatMap((run) => run.history.map((row) => row[name]).filter(Number.isFinite))
  const last = Math.max(1, ...runs.map((run) => run.history[run.history.length - 1]?.visited ?? 0))
  const top = name === "tv" ? 1 : Math.min(Math.max(...every, 0.1), 5)
  const map = axes(own, [0, last], [0, top], ["observations used", label], colours)
  runs.forEach((run) => {
    ink.strokeStyle = colours.entrants[run.place]
    ink.lineWidth = 2
    line(ink, run.history.filter((row) => Number.isFinite(row[name])).map((row) => [map.x(row.visited), map.y(Math.min(row[name], top))]))
    if (run.floor) {
      ink.setLineDash([4, 4])
      ink.strokeStyle = colours.muted
      line(ink, [[map.left, map.y(run.floor[name])], [map.left + map.wide, map.y(run.floor[name])]])
      ink.setLineDash([])
    }
  })
}
