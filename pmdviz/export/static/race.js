// The pictures of a race: a tile for each entrant in one figure, and one metric of all beside it.
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
