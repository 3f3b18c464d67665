// The panel of the lab: what the server computes is drawn, a click on the stage picks a particle.
export function render({ model }) {
  const view = inside_view({ get dark() { return model.dark }, freeze: () => { model.freezes += 1 } })
  const show = () => { if (model.told) view.show(JSON.parse(model.told)) }
  const pick = ({ detail }) => { if (detail.stage === model.stage) view.pick_at(detail.x, detail.y, detail.per) }
  document.addEventListener("pmdviz-pick", pick)
  model.on("told", show)
  model.on("dark", view.draw)
  model.on("seen", () => view.root.scrollIntoView({ block: "nearest" }))
  model.on("remove", () => document.removeEventListener("pmdviz-pick", pick))
  show()
  if (model.seen) requestAnimationFrame(() => view.root.scrollIntoView({ block: "nearest" }))
  return view.root
}
