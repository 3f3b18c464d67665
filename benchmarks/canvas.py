"""The canvas renderer: milliseconds of CPU in Chromium for a frame of 1,500 dots, two densities and two traces."""

from __future__ import annotations

from typing import Any

import pmdviz
from pmdviz.export.films import Film
from pmdviz.export.options import Look
from pmdviz.export.pictures import stage_of, traces_of
from pmdviz.render.canvas import canvas_script, picture_json
from tests.support.browser import chromium

DRAWS, MOMENTS, PARTICLES = 300, 8, 1_500
PAGE = "<!doctype html><style>canvas { width: 480px; height: 480px }</style><canvas></canvas><canvas></canvas>"

# With `whole` a pixel is read after each frame, so that all that was drawn is painted by then.
DRAW_JS = """
([moments, draws, whole]) => {
  const canvases = [...document.querySelectorAll("canvas")], times = []
  const kept = new Map()  // what stays is the same array in every frame, as in the player
  const array = (values) => {
    const text = `${values}`
    return kept.get(text) ?? kept.set(text, Float32Array.from(values, (value) => value ?? NaN)).get(text)
  }
  const each = (parts, change) => Object.fromEntries(Object.entries(parts).map(([name, part]) => [name, change(part)]))
  const column = (part) => typeof part[0] === "number" ? array(part) : part
  const opened = (mark) => ({...mark, columns: each(mark.columns, column)})
  const frames = moments.map((pictures) => pictures.map((one) => ({...one, marks: each(one.marks, opened)})))
  for (let k = -20; k < draws; k++) {
    const start = performance.now()
    frames[(k + 20) % frames.length].forEach((picture, at) => pmdvizDraw(canvases[at], picture))
    if (whole) for (const canvas of canvases) canvas.getContext("2d").getImageData(0, 0, 1, 1)
    if (k >= 0) times.push(performance.now() - start)
  }
  times.sort((a, b) => a - b)
  return {median: times[draws >> 1], mean: times.reduce((a, b) => a + b) / draws, p95: times[Math.floor(0.95 * draws)]}
}
"""


def run(options: Any = None) -> dict[str, Any]:
    """Milliseconds a frame: of the script alone, and with all painted; at one and at two pixels a CSS pixel."""
    film = Film(pmdviz.run(num_particles=PARTICLES, budget=8_000), Look.checked({"frames": MOMENTS, "traces": "kl"}))
    scenes = [*film.scenes()]
    moments = [[picture_json(stage_of(film, one)), picture_json(traces_of(film, scenes[-1], one))] for one in scenes]
    found: dict[str, Any] = {"draws": DRAWS, "dots": PARTICLES}
    with chromium() as browser:
        for density in (1, 2):
            for whole in (False, True):
                page = browser.new_page(viewport={"width": 1000, "height": 520}, device_scale_factor=density)
                page.set_content(f"{PAGE}<script>{canvas_script()}</script>")
                figures = page.evaluate(DRAW_JS, [moments, DRAWS, whole])
                found[f"{'painted' if whole else 'script'}_{density}x_ms"] = {
                    k: round(v, 2) for k, v in figures.items()
                }
                page.close()
    return found
