// The page has a legend of its own, the file needs the figure's.
const view = Bokeh.index.find_one(stage), legend = stage.above.find((model) => model.type === "Legend")
legend.visible = true
const laid_out = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))
laid_out().then(() => view.export("png").canvas.toBlob((blob) => {
  legend.visible = false
  const link = document.createElement("a")
  link.href = URL.createObjectURL(blob)
  link.download = "pmdviz-stage.png"
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 1000)
}))
