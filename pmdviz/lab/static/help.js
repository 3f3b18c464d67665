let box = document.querySelector("dialog.pmdviz-help-dialog")
if (!box) {
  box = document.createElement("dialog")
  box.className = "pmdviz-help-dialog"
  box.setAttribute("aria-label", "Help")
  box.innerHTML = `<h2>Keys</h2><table>
    <tr><td><kbd>space</kbd></td><td>play or pause; at the end play again</td></tr>
    <tr><td><kbd>→</kbd> <kbd>←</kbd></td><td>one step, one step back</td></tr>
    <tr><td><kbd>R</kbd></td><td>restart with the current settings</td></tr>
    <tr><td><kbd>N</kbd></td><td>new seed</td></tr>
    <tr><td><kbd>I</kbd></td><td>inside this step: what each term of the update does</td></tr>
    <tr><td><kbd>Esc</kbd></td><td>cancel a long computation</td></tr>
    <tr><td><kbd>P</kbd></td><td>presenter mode: large labels, no sidebar</td></tr>
    <tr><td><kbd>T</kbd></td><td>say the coordinates of θ at the mouse, in large letters</td></tr>
    <tr><td><kbd>a</kbd> to <kbd>h</kbd></td><td>in a lesson: choose an answer; a digit begins a number</td></tr>
    <tr><td><kbd>L</kbd></td><td>leave the lesson; the earlier run is shown again</td></tr>
    <tr><td><kbd>PgDn</kbd> <kbd>PgUp</kbd></td><td>in presenter mode: the next and the last part of a lesson's step</td></tr>
    <tr><td><kbd>?</kbd></td><td>this help</td></tr></table>
    <h2>What is drawn</h2>
    <p>Solid lines: the exact posterior. Dashed lines: the approximation. Each is drawn as the regions of highest density
    that hold 50, 80 and 95 % of its own mass (in one dimension as a curve). Shades: how high the approximation is.
    Dotted: the prior. Curves along the edges: each coordinate alone. Dots: particles, their area proportional to their weight. Drag to pan, scroll to zoom; "Fit posterior" restores the view.</p>
    <p>TV (total variation) ranges from 0 (identical) to 1 (no overlap). "Independent draws": the TV you would get with the same
    number of draws from the exact posterior, drawn the same way as the method's own particles.</p>
    <h2>Back in time</h2>
    <p>Drag the bar under the pictures, or click on the traces, to go to any iteration of the run. A setting changed there
    begins a branch, and the run as it was stays in grey: keep the branch, swap the two, or drop it.</p>
    <form method="dialog"><button autofocus>Close</button></form>`
  const dark = Number(getComputedStyle(document.body).color.match(/\d+/)[0]) > 128 // light words: a page's theme, or a notebook's
  box.style.cssText = `max-width:min(560px,90vw);font:15px/1.5 Roboto,system-ui,sans-serif;border:1px solid #888;border-radius:8px;
    padding:8px 24px 20px;color:${dark ? "#f2f2f2" : "#1a1a1a"};background:${dark ? "#1e1e1e" : "#fff"};color-scheme:${dark ? "dark" : "light"}`
  document.body.appendChild(box)
  box.addEventListener("close", () => box.remove())
}
if (!box.open) box.showModal()
