// The headings of a long page: a click in the contents, or the link that the page came by, goes to one of them.
const EVENT = "pmdviz-section"
export function render({ model }) {
  if (model.places.length) return contents(model)
  const heading = document.createElement("h2")
  heading.tabIndex = -1
  heading.textContent = model.title
  window.addEventListener(EVENT, (e) => {
    if (e.detail !== model.key || !heading.isConnected) return
    heading.scrollIntoView({ block: "start" })
    heading.focus({ preventScroll: true })
  })
  if (model.opened) stay(heading)
  model.on("opened", () => { if (model.opened) stay(heading) })
  return heading
}
// What stands above it is still being laid out: the place is kept for a while, unless somebody does something.
function stay(heading) {
  const done = new AbortController()
  const go = () => { if (heading.isConnected && !done.signal.aborted) heading.scrollIntoView({ block: "start" }) }
  for (const kind of ["wheel", "touchstart", "keydown", "pointerdown"])
    addEventListener(kind, () => done.abort(), { signal: done.signal, capture: true })
  requestAnimationFrame(go)
  const timer = setInterval(go, 100)
  done.signal.addEventListener("abort", () => clearInterval(timer))
  setTimeout(() => done.abort(), 3000)
}
function contents(model) {
  const nav = document.createElement("nav")
  nav.setAttribute("aria-label", "On this page")
  for (const [key, title] of model.places) {
    const link = document.createElement("a")
    link.href = "#"
    link.textContent = title
    link.addEventListener("click", (e) => {
      e.preventDefault() // the address is that of what is chosen
      window.dispatchEvent(new CustomEvent(EVENT, { detail: key }))
    })
    nav.append(link)
  }
  return nav
}
