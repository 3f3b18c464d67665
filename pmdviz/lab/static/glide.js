// Move the dots of a source from where they stand to where the frame that has come has them: row k comes from row
// origin[k], or from nowhere (-1) and grows. In the end, and at once on Pause, the picture is the frame's own.
const put = (source, data) => source.move ? source.move(data) : source.setv({data}, {sync: false, check_eq: false})
const land = (source, data) => { source.flight = null; put(source, data) }
const glide = (source, data, origin) => {
  if (a.glide <= 0 || document.hidden || matchMedia("(prefers-reduced-motion: reduce)").matches) return land(source, data)
  const from = source.now ?? source.data, n = data.x.length, began = performance.now(), flight = source.flight = {}
  const start = {x: new Float32Array(n), y: new Float32Array(n), size: new Float32Array(n)}
  for (let k = 0; k < n; k++) {
    const o = origin[k] < from.x.length ? origin[k] : -1
    for (const name of ["x", "y"]) start[name][k] = o < 0 ? data[name][k] : from[name][o]
    start.size[k] = o < 0 ? 0 : from.size[o]
  }
  const move = () => {
    if (source.flight !== flight) return
    const t = a.glide > 0 ? Math.min(1, (performance.now() - began) / a.glide) : 1
    if (t >= 1) return land(source, data)
    const share = t * t * (3 - 2 * t), now = {...data}
    for (const name of ["x", "y", "size"]) {
      const one = start[name], two = data[name]
      now[name] = one.map((value, k) => value + share * (two[k] - value))
    }
    put(source, now)
    requestAnimationFrame(move)
  }
  move()
}
