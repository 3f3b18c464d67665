const view = Bokeh.index.find_one(stage)
view.export("png").canvas.toBlob((blob) => {
  const link = document.createElement("a")
  link.href = URL.createObjectURL(blob)
  link.download = "pmdviz-stage.png"
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 1000)
})
