// All that can be pressed, typed into or chosen without scrolling.
() => {
  const kinds = "[tabindex]:not([tabindex^='-'])," +
    "button, input, select, textarea, a[href], summary, [role=slider], [role=checkbox], [role=tab]"
  const seen = []
  const look = (root) => {
    for (const e of root.querySelectorAll("*")) {
      if (e.shadowRoot) look(e.shadowRoot)
      const b = e.getBoundingClientRect()
      if (!e.matches(kinds) || b.width * b.height < 2 || !e.checkVisibility({visibilityProperty: true})) continue
      if (b.bottom <= 0 || b.right <= 0 || b.top >= innerHeight || b.left >= innerWidth) continue
      const top = pmdviz.top(pmdviz.middle(b.left, b.right, innerWidth), pmdviz.middle(b.top, b.bottom, innerHeight))
      if (pmdviz.holds(e, top) || e.labels?.length) seen.push(`${e.tagName} ${e.ariaLabel ?? e.textContent.trim()}`)
    }
  }
  look(document)
  return seen
}
