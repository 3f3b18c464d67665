// A stored film of the usual first run, at a tab's first visit: from the first words on, until Play or six seconds of the page.
(() => {
  const SEEN = "pmdviz-film", SECONDS = 6
  let seen = true
  try { seen = sessionStorage.getItem(SEEN) !== null; sessionStorage.setItem(SEEN, "1") } catch { /* keeps nothing: no film */ }
  if (seen || location.search || matchMedia("(prefers-reduced-motion: reduce)").matches) return
  const film = document.createElement("figure"), img = document.createElement("img"), words = document.createElement("figcaption")
  film.id = "film"
  img.src = "film.gif"
  img.alt = ""
  words.textContent = "A recording of “Two modes”. Press Play to run it yourself."
  film.append(img, words)
  document.body.append(film)
  const ended = new AbortController()
  const end = () => { ended.abort(); film.remove() }
  for (const event of ["pointerdown", "keydown", "wheel", "resize"]) addEventListener(event, end, { signal: ended.signal, capture: true })
  img.addEventListener("error", end)
  const find = (name, root = document) => {
    for (const e of root.querySelectorAll("*")) {
      const found = e.classList.contains(name) ? e : e.shadowRoot && find(name, e.shadowRoot)
      if (found) return found
    }
    return null
  }
  const place = () => { // over the pictures, once they are there, wherever they come to lie
    if (ended.signal.aborted) return
    const [stage, traces] = ["pmdviz-stage", "pmdviz-traces"].map((name) => find(name)?.getBoundingClientRect())
    if (document.getElementById("opening") || !stage?.width) { setTimeout(place, 50); return }
    const right = traces?.top < stage.bottom ? traces.right : stage.right
    Object.assign(film.style, { left: `${stage.left}px`, top: `${stage.top}px`, width: `${right - stage.left}px`, height: `${stage.height}px` })
    if (!film.classList.contains("placed")) setTimeout(end, SECONDS * 1000)
    film.classList.add("placed")
    film.classList.toggle("dark", document.documentElement.dataset.pmdviz === "dark")
    setTimeout(place, 100)
  }
  place()
})()
