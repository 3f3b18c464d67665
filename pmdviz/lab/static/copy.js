const mine = a.copies, text = a.text.startsWith("?") ? new URL(a.text, window.location.href).href : a.text
if (a.text.startsWith("?")) a.address = text
const by_hand = () => {
  const box = document.createElement("textarea")
  box.value = text
  box.style.position = "fixed"
  box.style.opacity = "0"
  document.body.appendChild(box)
  box.select()
  let good = false
  try { good = document.execCommand("copy") } catch (e) {}
  box.remove()
  if (good) a.copied = mine; else a.refused = mine
}
if (navigator.clipboard && window.isSecureContext)
  navigator.clipboard.writeText(text).then(() => { a.copied = mine }, by_hand)
else by_hand()
