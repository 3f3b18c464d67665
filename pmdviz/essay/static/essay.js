// Each slider chooses one of the values for which pictures, numbers and words were computed.
const pictures = JSON.parse(document.getElementById("pictures").textContent)
const theme = document.getElementById("theme"), wish = matchMedia("(prefers-color-scheme: dark)")
const is_dark = () => (document.documentElement.dataset.theme ?? (wish.matches ? "dark" : "light")) === "dark"
const borders = {left: 58, right: 16, top: 52, bottom: 46}

function show(name, k) {
  const {panels, numbers, values, told} = pictures[name]
  document.querySelectorAll(`#picture-${name} canvas`).forEach((canvas, at) => {
    const {picture, changes} = panels[at]
    pmdvizDraw(canvas, pmdvizMerged(picture, changes[k]), {theme: is_dark() ? "dark" : "light", borders})
  })
  for (const output of document.querySelectorAll(`output[for="${name}"]`))
    output.textContent = "value" in output.dataset ? values[k] : numbers[output.dataset.number][k]
  document.getElementById(name).setAttribute("aria-valuetext", told[k])
}

for (const name in pictures) document.getElementById(name).addEventListener("input", (event) => show(name, event.target.valueAsNumber))
for (const canvas of document.querySelectorAll(".panels canvas")) pmdvizWatch(canvas)

// The app itself, where it serves this page: in a frame, once the reader opens it.
for (const button of document.querySelectorAll("[data-frame]"))
  button.addEventListener("click", () => {
    const frame = document.createElement("iframe")
    frame.src = button.dataset.frame
    frame.title = button.dataset.title
    button.closest(".live").after(frame)
    button.remove()
    frame.focus()
  })

const name_theme = () => {
  theme.textContent = is_dark() ? "Light theme" : "Dark theme"
  for (const name in pictures) show(name, document.getElementById(name).valueAsNumber)
}
theme.addEventListener("click", () => {
  document.documentElement.dataset.theme = is_dark() ? "light" : "dark"
  name_theme()
})
wish.addEventListener("change", name_theme)
name_theme()
