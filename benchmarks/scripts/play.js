// Seconds from a press of Play until iteration and pixels have changed.
async () => {
  const picture = pmdviz.picture(), began = performance.now()
  pmdviz.find(".pmdviz-play").shadowRoot.querySelector("button").click()
  while (!(pmdviz.iteration() >= 1 && pmdviz.picture() !== picture)) await new Promise(requestAnimationFrame)
  return (performance.now() - began) / 1000
}
