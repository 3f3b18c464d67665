// The keys of a lesson: letters choose an option while the card, or nothing, has the focus; a clicker goes part by part.
const TYPING = "input:not([type=radio]), select, textarea, [contenteditable], [role=slider]"
function listen(root, model, send, asks) {
  const letter = (e) => {
    const at = e.composedPath()[0], mine = at === document.body || root.contains(at)
    if (!mine || at.matches?.(TYPING)) return false
    if (/^[-.\d]$/.test(e.key)) return asks.some((ask) => ask.begin()) // the box has the focus when the digit comes
    if (!/^[a-h]$/i.test(e.key) || !asks.some((ask) => ask.choose(e.key.toLowerCase()))) return false
    e.preventDefault()
    return true
  }
  const paged = { PageDown: "forward", PageUp: "backward" }
  document.addEventListener("keydown", (e) => {
    if (!model.told.lesson || e.ctrlKey || e.metaKey || e.altKey || document.querySelector("dialog[open]")) return
    if (letter(e)) return
    if (model.told.part && paged[e.key]) {
      e.preventDefault()
      send({ act: paged[e.key] })
    } else if (e.key.toLowerCase() === "l" && !e.composedPath()[0].matches?.(`${TYPING}, input`)) {
      e.preventDefault()
      send({ act: "leave" })
    }
  })
}
