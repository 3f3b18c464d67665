
// A tour of four steps made of the page's own parts; a part that is out of sight says where it is.
const STEPS = [
  [".pmdviz-stage", "The picture", "Lines: the exact posterior. Dots: what the method has so far. It should come to fill the lines."],
  [".pmdviz-play", "Play", "Press it, or the space bar. Step shows one iteration, Back takes it back; the bar under the pictures goes to any of them."],
  [".pmdviz-setup", "Settings", "Change one while it runs and watch what breaks. The presets at the top ask a question each.",
    "They are behind the menu button at the top left."],
  [".pmdviz-traces", "The score", "TV is the distance from the exact posterior, from 1 (no overlap) to 0 (identical). Watch it fall.",
    "Scroll down to it."],
]

function in_sight(selector, root = document) {
  for (const e of root.querySelectorAll("*")) {
    if (e.matches(selector)) {
      const { width, height, left, top } = e.getBoundingClientRect()
      if (width && height && left > -width && top < innerHeight) return e
    }
    const found = e.shadowRoot && in_sight(selector, e.shadowRoot)
    if (found) return found
  }
  return null
}

function take_tour(from, at = 0) {
  const ring = made("div"), heading = made("h2", { style: "margin:0 0 4px;font-size:18px" }), words = made("p", { style: "margin:0 0 12px" })
  const next = made("button", { type: "button" }), end = made("button", { type: "button" }, "End the tour")
  const box = made("dialog", { class: "pmdviz-tour", "aria-label": "Tour" }, heading, words, next, " ", end)
  ring.style.cssText = "position:fixed;z-index:1390;border:3px solid #E69F00;border-radius:8px;box-shadow:0 0 0 200vmax #0007;pointer-events:none"
  for (const button of [next, end])
    button.style.cssText = "font:500 15px system-ui,sans-serif;min-height:40px;padding:0 16px;color:inherit;background:none;border:1px solid currentColor;border-radius:6px"
  const show = () => {
    const [selector, title, text, elsewhere] = STEPS[at], part = in_sight(selector)
    const of = part ? part.getBoundingClientRect() : { left: 0, top: 0, width: 0, height: 0 }
    Object.assign(ring.style, { left: `${of.left}px`, top: `${of.top}px`, width: `${of.width}px`, height: `${of.height}px` })
    heading.textContent = `${at + 1} of ${STEPS.length}: ${title}`
    words.textContent = part || !elsewhere ? text : `${text} ${elsewhere}`
    next.textContent = at + 1 < STEPS.length ? "Next" : "Done"
    const below = of.top + of.height / 2 < innerHeight / 2, beside = of.left + of.width + 380 < innerWidth && of.height > innerHeight / 3
    Object.assign(box.style, { left: `${Math.max(8, Math.min(beside ? of.left + of.width + 12 : of.left, innerWidth - 368))}px`,
      top: beside ? `${Math.max(8, of.top)}px` : below ? "auto" : "80px", bottom: !beside && below ? "80px" : "auto" })
  }
  box.style.cssText = colours(from) + "position:fixed;margin:0;z-index:1400;width:min(360px,calc(100vw - 16px));box-sizing:border-box;padding:16px;border-radius:8px;font:15px/1.45 Roboto,system-ui,sans-serif"
  next.addEventListener("click", () => { at += 1; if (at < STEPS.length) show(); else box.close() })
  end.addEventListener("click", () => box.close())
  box.addEventListener("close", () => { box.remove(); ring.remove(); removeEventListener("resize", show) })
  addEventListener("resize", show)
  document.body.append(ring, box)
  box.showModal()
  show()
  next.focus()
}
