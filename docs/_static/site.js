// What the theme leaves out for a keyboard and a screen reader: levels and names, and the focus where something scrolls.
const WIDE = ".table-wrapper, div.highlight pre, div.math"
const NAMES = {".sidebar-drawer": "Pages", ".toc-drawer": "On this page"}

function reach() {
  for (const each of document.querySelectorAll(WIDE)) {
    if (each.scrollWidth > each.clientWidth) each.setAttribute("tabindex", "0")
    else each.removeAttribute("tabindex")
  }
}

function name() {
  for (const each of document.querySelectorAll("p.caption[role=heading]")) each.setAttribute("aria-level", "2")
  for (const [where, words] of Object.entries(NAMES)) document.querySelector(where)?.setAttribute("aria-label", words)
}

document.addEventListener("DOMContentLoaded", () => { name(); reach() })
window.addEventListener("resize", reach)
