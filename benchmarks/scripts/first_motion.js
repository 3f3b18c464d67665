// From opening the file to the first step after Play, which is pressed when the first frame is there.
const look = () => {
  const words = document.getElementById("status")?.textContent ?? ""
  if (words.startsWith("iteration 0") && !window.pressed) {
    window.pressed = performance.now()
    document.getElementById("play").click()
  }
  if (/^iteration [1-9]/.test(words)) window.moved = performance.now()
  else requestAnimationFrame(look)
}
requestAnimationFrame(look)
