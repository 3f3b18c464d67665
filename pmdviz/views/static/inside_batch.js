// The batch of a step among all data, and the density that it alone implies.
function paint_batch(canvas, batch, colours) {
  const size = sharp(canvas), map = mapping(size, batch.x, batch.y, false), {ink} = size
  framed(size, map, colours)
  ink.fillStyle = colours.bars
  batch.bars.left?.forEach((left, i) => {
    const [x0, x1, y] = [map.X(left), map.X(batch.bars.right[i]), map.Y(batch.bars.top[i])]
    ink.fillRect(x0, y, Math.max(1, x1 - x0 - 0.5), map.Y(0) - y)
  })
  batch.dots.x?.forEach((x, i) => draw_dot(ink, map.X(x), map.Y(batch.dots.y[i]), 1.6, colours.muted, 0.6))
  draw_lines(size, map, batch.exact, colours.exact, {width: 1.5})
  draw_lines(size, map, batch.curve, colours.approximate, {width: 2, dash: [7, 3]})
  if (batch.flat) {
    ink.strokeStyle = colours.text
    ink.lineWidth = 1.2
    ink.beginPath()
    batch.batch.x.forEach((x) => { ink.moveTo(map.X(x), map.box[1] + map.box[3]); ink.lineTo(map.X(x), map.box[1] + map.box[3] - 11) })
    ink.stroke()
  } else batch.batch.x.forEach((x, i) => draw_dot(ink, map.X(x), map.Y(batch.batch.y[i]), 4, colours.particles))
  ink.restore()
}
