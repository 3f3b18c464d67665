// Explanations that open by a click, a touch or Enter: of a knob, and of the glossary's words wherever they are written.
// They close by Esc and by a press elsewhere. Made once a page; what writes words asks for it again.
const explanations = (window.pmdvizExplanations ??= (() => {
  const glossary = GLOSSARY
  const keys = Object.fromEntries(Object.entries(glossary).flatMap(([key, term]) => term.forms.map((form) => [form, key])))
  const pattern = new RegExp(`\\b(${Object.keys(keys).sort((a, b) => b.length - a.length).join("|")})\\b`)
  let box = null, anchor = null

  const button = (words) => make("button",
    { type: "button", class: "pmdviz-term", "data-term": keys[words], "aria-haspopup": "dialog" }, words)

  // Write a text whose words of the glossary are buttons; while they stay the same, only what is between them changes.
  function write(at, text) {
    const parts = text.split(pattern), words = parts.filter((_, k) => k % 2).join("|")
    if (at.pmdvizWords === words)
      parts.forEach((part, k) => { if (k % 2 === 0 && at.childNodes[k].data !== part) at.childNodes[k].data = part })
    else {
      at.pmdvizWords = words
      at.replaceChildren(...parts.map((part, k) => (k % 2 ? button(part) : document.createTextNode(part))))
    }
    return at
  }
  function close() {
    box?.remove()
    anchor?.setAttribute("aria-expanded", "false")
    box = anchor = null
  }
  function place() {
    const at = anchor.getBoundingClientRect(), own = box.getBoundingClientRect()
    const below = at.bottom + 6 + own.height <= window.innerHeight
    box.style.left = `${Math.max(8, Math.min(at.left, window.innerWidth - own.width - 8))}px`
    box.style.top = `${Math.max(8, below ? at.bottom + 6 : at.top - own.height - 6)}px`
  }
  function open(from, title, lines, last) {
    const again = from === anchor && box?.dataset.title === title
    close()
    if (again || !from.isConnected) return
    anchor = from
    anchor.setAttribute("aria-expanded", "true")
    const dark = Number(getComputedStyle(from).color.match(/\d+/)[0]) > 128  // light words: a page's theme, or a notebook's
    box = make("div", { class: `pmdviz-explain${dark ? " dark" : ""}`, role: "dialog", "aria-label": title, tabindex: -1,
      popover: "manual", "data-title": title }, make("style", {}, STYLE), make("b", {}, title))
    for (const line of lines.filter(Boolean)) box.append(write(make("p", {}), line))
    if (last) box.append(make("p", { class: "last" }, last))
    document.body.append(box)
    box.showPopover?.()  // over the drawer of a phone, which lies above all else
    place()
    box.focus({ preventScroll: true })
  }
  document.addEventListener("click", (e) => {
    const from = e.composedPath()[0], term = glossary[from?.dataset?.term]
    if (term) open(box?.contains(from) ? anchor : from, term.title, [term.meaning, term.formula], `More: ${term.page}`)
  })
  document.addEventListener("pointerdown", (e) => {
    if (box && !e.composedPath().some((one) => one === box || one === anchor)) close()
  }, true)
  window.addEventListener("keydown", (e) => {  // before the page's own keys, for which Esc is Cancel
    if (e.key !== "Escape" || !box) return
    e.stopPropagation()
    e.preventDefault()
    const back = anchor
    close()
    back.focus()
  }, true)
  return { write, open }
})())
