// Frames of the lab in so many seconds. A frame counts when, behind a paint, the stage's pixels have changed and the
// iteration in the words has risen.
async (seconds) => {
  const model = pmdviz.model("acknowledge")
  let last = pmdviz.iteration(), picture = pmdviz.picture(), frames = 0, first = null
  const start = performance.now(), drawn = model.drawn, from = last
  const painted = Bokeh.index.find_one(pmdviz.model("stage")).repainted
  const look = () => {
    const now = pmdviz.iteration()
    if (now <= last) return
    const seen = pmdviz.picture()
    if (seen !== picture) { frames += 1; last = now; picture = seen; first ??= performance.now() - start }
  }
  painted.connect(look)
  await new Promise((done) => setTimeout(done, seconds * 1000))
  painted.disconnect(look)
  const elapsed = (performance.now() - start) / 1000
  return {frames, elapsed, acknowledged: model.drawn - drawn, iterations: last - from}
}
