// The panel "Inside this step" of an exported run: while it is open it follows the frame shown.
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
