// Milliseconds from the input event on a knob's slider to the first changed pixels of a frame that holds the new value.
async ([name, position]) => {
  const ack = pmdviz.model("acknowledge")
  const box = pmdviz.find(`input#knob-${name}`)
  const slider = box.parentNode.querySelector("input[type=range]")
  const before = pmdviz.picture()
  slider.value = position
  const start = performance.now()
  slider.dispatchEvent(new Event("input", {bubbles: true}))
  const wanted = Number(box.value)
  return await new Promise((done) => {
    const look = () => {
      const holds = Math.abs(JSON.parse(ack.shown || "{}")[name] - wanted) <= 1e-9 * Math.abs(wanted)
      if (holds && pmdviz.picture() !== before) done(performance.now() - start)
      else if (performance.now() - start > 20000) done(null)
      else requestAnimationFrame(look)
    }
    requestAnimationFrame(look)
  })
}
