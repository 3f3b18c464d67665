// The pictures of a race: a tile for each entrant in one figure, and one metric of all beside it.
function make_scene(model) {
  const {scales, metric, clock} = film
  const [words, fronts] = ["words", "fronts"].map(model)
  const tile_models = film.frames[0].tiles.map((_, k) => [model(`particles-${k}`), model(`approximate-${k}`)])
  const pictures = model("image")
  const rows = film.rows.map((columns) => (
    Object.fromEntries(Object.entries(columns).map(([name, text]) => [name, floats(text)]))
  ))

  function stage({tiles, state, note, images, image_step}) {
    tiles.forEach((tile, k) => {
      const part = (name, axis) => column(tile[name], scales[axis])
      const [particles, approximate] = tile_models[k]
      particles.data = {x: part("x", "x"), y: part("y", "y"), size: part("size", "size")}
      approximate.data = {x: part("line_x", "x"), y: part("line_y", "y")}
    })
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
