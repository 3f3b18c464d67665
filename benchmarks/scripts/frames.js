// Pictures of the stage and steps of the run that are shown a second; on an empty page every frame counts.
(seconds) => new Promise((done) => {
  const stage = document.querySelector(".stage"), status = document.getElementById("status"), start = performance.now()
  const words = () => status?.textContent.match(/iteration ([\d,]+)/)?.[1] ?? "0"
  const steps = () => Number(words().replaceAll(",", "")), first = steps()
  let pictures = 0, last = null
  const tick = (now) => {
    const picture = stage ? stage.pmdviz : now
    if (picture !== last) pictures++
    last = picture
    const passed = now - start
    if (passed < 1000 * seconds) requestAnimationFrame(tick)
    else done([1000 * pictures / passed, 1000 * (steps() - first) / passed])
  }
  requestAnimationFrame(tick)
})
