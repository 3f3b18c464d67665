// The pages of the app as tabs: one is active, arrows go from one to the next.
export function render({ model }) {
  const bar = document.createElement("div")
  bar.setAttribute("role", "tablist")
  bar.setAttribute("aria-label", "Pages")
  const tabs = model.pages.map(([name, title]) => {
    const tab = document.createElement("button")
    tab.type = "button"
    tab.name = name
    tab.textContent = tab.dataset.title = title
    tab.setAttribute("role", "tab")
    tab.addEventListener("click", (e) => { choose(tab); if (e.detail > 0) tab.blur() })  // after a mouse, keys are the page's
    return tab
  })
  // Each page has an address, its title, and a place in the browser's history; the lab's is that of its run.
  const first = tabs[0].name, left = {}
  const address = (name) => left[name] ?? (name === first ? location.pathname : `?page=${name}`)
  const named = () => {
    const name = new URLSearchParams(location.search).get("page")
    return tabs.some((tab) => tab.name === name) ? name : first
  }
  let seen = model.active
  const go = (name) => { if (name !== model.active) { seen = name; model.active = name; show() } }
  const leave = (page, next) => {
    left[page] = location.search || location.pathname
    history.pushState(null, "", window.pmdvizAddress?.(address(next)) ?? address(next))  // a lesson stays in it
  }
  const choose = (tab) => {
    if (tab.name === model.active) return
    leave(model.active, tab.name)
    go(tab.name)
  }
  const opened = () => {  // by a page, and not by a click on a tab
    if (model.active === seen) return
    leave(seen, model.active)
    seen = model.active
  }
  addEventListener("popstate", () => go(named()))
  const show = () => {
    for (const tab of tabs) {
      const active = tab.name === model.active
      tab.setAttribute("aria-selected", active)
      tab.tabIndex = active ? 0 : -1
      if (active) document.title = `pmdviz: ${tab.dataset.title}`
    }
    const heading = document.querySelector("h1#heading")
    if (heading) heading.textContent = document.title
  }
  bar.addEventListener("keydown", (e) => {
    const at = tabs.indexOf(e.composedPath()[0]), last = tabs.length - 1
    const to = { ArrowRight: at < last ? at + 1 : 0, ArrowLeft: at > 0 ? at - 1 : last, Home: 0, End: last }[e.key]
    if (at < 0 || to === undefined || e.ctrlKey || e.metaKey || e.altKey) return
    e.preventDefault()
    e.stopPropagation()  // elsewhere on the page arrows are steps of the run
    tabs[to].focus()
    choose(tabs[to])
  })
  bar.append(...tabs)
  const note = () => tabs.forEach((tab, k) => {
    const words = model.notes[tab.name]
    tab.textContent = model.pages[k][1] + (words ? ` (${words})` : "")
  })
  model.on("active", () => { opened(); show() })
  model.on("notes", note)
  show()
  note()
  go(named())
  return bar
}
