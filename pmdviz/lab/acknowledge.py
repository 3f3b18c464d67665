"""What the browser says back: which frame it has drawn, whether anybody looks, which key was pressed.

The model lives in an importable module (never in a served script) and is pulled into the document by a figure's
callback. The browser acknowledges a frame after the next animation frame, so a hidden tab stops acknowledging.
"""

from __future__ import annotations

from typing import Any

from bokeh.core.properties import Bool, Int, String
from bokeh.model import DataModel
from bokeh.models import CustomJS

from pmdviz.lab.help import HELP_JS


class Acknowledge(DataModel):
    """`drawn`, `hidden`, `key`, `presses`, `copied` and `refused` are written by the browser, the rest by the server."""

    sent = Int(0)
    drawn = Int(0)
    shown = String("")  # JSON of the knobs in force in the last frame sent
    hidden = Bool(False)
    keyboard = Bool(False)  # whether the keys of the whole page belong to this lab (in the app, not in a notebook)
    key = String("")
    presses = Int(0)
    text = String("")  # to be put on the clipboard
    copies = Int(0)  # raised by the server after `text`
    copied = Int(0)  # the last of `copies` that reached the clipboard
    refused = Int(0)  # the last of `copies` that the browser would not copy


ON_SENT = (
    "const help = () => {"
    + HELP_JS
    + """}
const s = a.sent
requestAnimationFrame(() => setTimeout(() => { if (s > a.drawn) a.drawn = s }, 0))
if (a.has_ears) return
a.has_ears = true
const look = () => { a.hidden = document.hidden }
document.addEventListener("visibilitychange", look)
look()
if (!a.keyboard) return
const KEYS = {" ": "space", ArrowRight: "right", ArrowLeft: "left", r: "R", n: "N", p: "P", "?": "?"}
document.addEventListener("keydown", (e) => {
  if (e.ctrlKey || e.metaKey || e.altKey || document.querySelector("dialog[open]")) return
  const at = e.composedPath()[0]
  const key = KEYS[e.key.length == 1 ? e.key.toLowerCase() : e.key]
  if (!key || at?.closest?.("input, select, textarea, [contenteditable], [role=slider], [role=option], [role=combobox]")) return
  if (key == "space" && at?.closest?.("button, a")) return
  if (e.repeat && key != "right" && key != "left") return
  e.preventDefault()
  if (key == "?") { help(); return }
  a.setv({key: key, presses: a.presses + 1})
})
"""
)

ON_COPIES = """
const mine = a.copies, text = a.text
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
"""


def on_sent(ack: Acknowledge) -> CustomJS:
    """What the browser does with a frame, and once at the start."""
    return CustomJS(args={"a": ack}, code=ON_SENT)


def make_acknowledge(figure: Any, keyboard: bool = False) -> Acknowledge:
    """A new acknowledgement model that enters the document together with `figure`."""
    ack = Acknowledge(name="acknowledge", keyboard=keyboard)
    ack.js_on_change("sent", on_sent(ack))
    ack.js_on_change("copies", CustomJS(args={"a": ack}, code=ON_COPIES))
    figure.js_on_change("name", CustomJS(args={"a": ack}, code=""))
    return ack
