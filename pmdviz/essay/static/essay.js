// == begin: Before anything is laid out: sliders are there only where a script can answer them.
document.documentElement.classList.add("scripted")
// == essay: Each slider chooses one of the values for which everything was computed: paths, numbers, and words for a screen reader.
const pictures = JSON.parse(document.getElementById("pictures").textContent)

function show(name, k) {
  const { paths, numbers, values, told } = pictures[name], figure = document.getElementById(`picture-${name}`)
  for (const path of figure.querySelectorAll("[data-path]")) path.setAttribute("d", paths[path.dataset.path][k])
  for (const output of document.querySelectorAll(`output[for="${name}"]`))
    output.textContent = "value" in output.dataset ? values[k] : numbers[output.dataset.number][k]
  document.getElementById(name).setAttribute("aria-valuetext", told[k])
}

for (const name in pictures) {
  const slider = document.getElementById(name)
  slider.addEventListener("input", () => show(name, slider.valueAsNumber))
  show(name, slider.valueAsNumber) // a reload keeps where sliders were
}

// The app itself, where it serves this page: in a frame, once somebody asks for it.
for (const button of document.querySelectorAll("[data-frame]"))
  button.addEventListener("click", () => {
    const frame = document.createElement("iframe")
    frame.src = button.dataset.frame
    frame.title = button.dataset.title
    button.closest(".live").after(frame)
    button.remove()
    frame.focus()
  })

const theme = document.getElementById("theme"), wish = matchMedia("(prefers-color-scheme: dark)")
const is_dark = () => (document.documentElement.dataset.theme ?? (wish.matches ? "dark" : "light")) === "dark"
const name_theme = () => { theme.textContent = is_dark() ? "Light theme" : "Dark theme" }
theme.addEventListener("click", () => {
  document.documentElement.dataset.theme = is_dark() ? "light" : "dark"
  name_theme()
})
wish.addEventListener("change", name_theme)
name_theme()
