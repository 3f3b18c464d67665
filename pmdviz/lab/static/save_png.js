// The page has a legend of its own, the file needs the figure's.
const view = Bokeh.index.find_one(stage), legend = stage.above.find((model) => model.type === "Legend")
const show = (items) => legend.setv({items, visible: items.length > 0}, {sync: false})
show(legend.tags)
const laid_out = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))
laid_out().then(() => view.export("png").canvas.toBlob((blob) => {
  show([])
  const link = document.createElement("a")
  link.href = URL.createObjectURL(blob)
  link.download = "pmdviz-stage.png"
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 1000)
}))
