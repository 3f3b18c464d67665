// Pictures a second of the gallery of chi-feng/mcmc-demo.
(seconds) => new Promise((done) => {
  let pictures = 0
  const own = viz.render.bind(viz)
  viz.render = () => { pictures++; own() }
  setTimeout(() => done(pictures / seconds), 1000 * seconds)
})
