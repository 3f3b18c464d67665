// Write the state into the status panel; only what differs is touched, so that nothing is laid out anew. The model of
// this side takes the words too, in silence: a new class or stylesheet has the panel rendered again from its text.
const seen = a.seen ??= {}  // a search through all views costs more than the words
if (!seen.root?.isConnected) {
  seen.root = Bokeh.index.find_one(status)?.shadow_el
  seen.picture = Bokeh.index.find_one(figure)?.canvas_view.events_el
}
const root = seen.root
if (root && a.words) {
  const w = JSON.parse(a.words)
  // While it plays the words are plain: a button among numbers that change would move at every frame.
  const put = (name, text) => {
    const e = root.querySelector(name)
    if (e && w.live !== "off") explanations.write(e, text)
    else if (e && e.textContent !== text) Object.assign(e, { textContent: text, pmdvizWords: undefined })
  }
  for (const name of ["pmdviz-status", "passes", "step", "more"]) put("." + name, w[name])
  root.querySelector(".pmdviz-status").setAttribute("aria-live", w.live)
  const bar = root.querySelector(".bar")
  bar.setAttribute("aria-valuenow", Math.round(w.share))
  bar.setAttribute("aria-valuetext", w.of)
  const picture = seen.picture ??= Bokeh.index.find_one(figure)?.canvas_view.events_el
  if (picture) {  // its text alternative follows the run
    picture.dataset.now = w["pmdviz-status"]
    picture.setAttribute("aria-label", [picture.dataset.what, w["pmdviz-status"]].filter(Boolean).join(". "))
  }
  const filled = w.last === undefined ? w.share : 100 * w.at / w.end
  root.querySelector(".fill").style.width = filled.toFixed(2) + "%"
  if (w.last !== undefined) show_time(root, w)
  status.setv({text: root.querySelector(".grid").outerHTML}, {sync: false, silent: true})
}
