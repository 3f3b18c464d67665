// Models that the server sent must not be sent back. BokehJS 3.10 would send them back whole with the next message, and fails on
// components that cannot be written out: their own message would be lost; the server names its models "p" and a number.
{
  const doc = Bokeh.documents[0], made = doc.create_json_patch
  doc.create_json_patch = function (events) {
    for (const model of this._new_models ?? []) if (/^p\d+$/.test(model.id)) this._new_models.delete(model)
    return made.call(this, events)
  }
}
// The page's frame, once it is there: the system's theme or the one that was chosen last.
const page = [...Bokeh.documents[0]._all_models.values()].find((m) => m.data?.dark_theme !== undefined)
if (page) {
  const KEY = "pmdviz-theme", system = matchMedia("(prefers-color-scheme: dark)")
  const kept = () => { try { return localStorage.getItem(KEY) } catch { return null } }
  const wanted = () => kept() === null ? system.matches : kept() === "dark"
  // For the colours of what stands outside the frame's own root; the root's classes are the frame's, and stay as they were.
  const tell = () => { document.documentElement.dataset.pmdviz = page.data.dark_theme ? "dark" : "light" }
  const put = () => { if (page.data.dark_theme !== wanted()) page.data.dark_theme = wanted() }
  page.data.properties.dark_theme.change.connect(tell)
  page.data.properties.dark_theme.change.connect(() => { // the button changed it, unless it equals what the page chose by itself
    if (page.data.dark_theme === wanted()) return
    try { localStorage.setItem(KEY, page.data.dark_theme ? "dark" : "light") } catch { /* storage is disabled */ }
  })
  system.addEventListener("change", put)
  if (!new URLSearchParams(location.search).has("theme")) put()
  tell()
}
