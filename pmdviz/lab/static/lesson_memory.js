// What the browser keeps of lessons: the progress in each, and the run that the lesson took the place of.
const KEPT = (lesson) => `pmdviz-lesson-${lesson}`, BEFORE = "pmdviz-lesson-before"
const from = (store, key) => { try { return window[store].getItem(key) ?? "" } catch { return "" } }
const into = (store, key, text) => {
  try { if (text) window[store].setItem(key, text); else window[store].removeItem(key) } catch { /* a browser that keeps nothing */ }
}
function remember(model, send) {
  const keep = () => { if (model.kept.lesson) into("localStorage", KEPT(model.kept.lesson), model.kept.text) }
  const answer = () => {
    const { lesson } = model.asked
    if (lesson) send({ act: "resume", lesson, text: from("localStorage", KEPT(lesson)), before: from("sessionStorage", BEFORE) })
  }
  model.on("kept", keep)
  model.on("asked", answer)
  model.on("before", () => into("sessionStorage", BEFORE, model.before))
  // The card may be drawn while its document still takes it in: until then it cannot send.
  const when_known = (tries) => { try { answer() } catch (error) { if (tries) setTimeout(() => when_known(tries - 1), 50); else throw error } }
  setTimeout(() => when_known(100), 0)
}
// The address says which lesson is open, beside whatever else it says; links and tabs ask for it.
function follow_address(model) {
  window.pmdvizAddress = (address) => {
    const url = new URL(address, location.href)
    for (const name of ["lesson", "step", "skip"]) url.searchParams.delete(name)
    if (model.told.lesson) url.searchParams.set("lesson", model.told.lesson)
    if (model.told.lesson && model.told.skip) url.searchParams.set("skip", "1")
    return url.pathname + url.search
  }
  let seen = ""
  return () => {
    const now = `${model.told.lesson ?? ""} ${model.told.skip ?? ""}`
    if (now === seen) return
    seen = now
    history.replaceState(history.state, "", window.pmdvizAddress(location.href))
  }
}
