"""The stage of a race in Bokeh: a tile for each entrant, all in one figure."""

from __future__ import annotations

from pmdviz.pictures import Mark
from pmdviz.scenes import style
from pmdviz.scenes.columns import Tiling
from pmdviz.scenes.race import RaceScene
from pmdviz.scenes.tiles import Joined, Letters, tiles_picture, tiles_room
from pmdviz.views.drawing import PictureFigure

SAID = ("titles", "states", "notes")
UNKNOWN_PX = 1000.0  # width of the tiles before the browser has said it


class RaceTiles(PictureFigure):
    """One Bokeh figure, which has as many tiles per row as its `width` allows."""

    def __init__(self) -> None:
        self.tiling, self.width = Tiling(0, 3), UNKNOWN_PX
        self._kept_words: dict[str, Mark] = {}
        self._joined: Joined = {}
        # With `frame_align` it would take over the borders of the traces in the same layout.
        super().__init__("race", tiles_room(style.MOST_ENTRANTS), legend=False, frame_align=False)
        moving = [key for key, layer in self.drawn.items() if layer.mark.moves and layer.mark.kind != "words"]
        self.moving = [self.sources[key] for key in moving]

    def draw(self, scene: RaceScene, with_words: bool = True) -> None:
        """Draw what each method's stage shows into its tile; without new words those before stay."""
        tiling = Tiling.fitting(len(scene.tiles), self.width)
        letters = Letters.fitting(self.width / tiling.size[0])
        made = tiles_picture(scene, tiling, letters, before=self._joined)
        if with_words or tiling != self.tiling:
            self._kept_words = {key: made.marks[key] for key in SAID}
        if tiling != self.tiling:
            self.tiling, (width, height) = tiling, tiling.size
            self.figure.styles = {**self.figure.styles, "aspect-ratio": f"{width:.4f} / {height:.4f}"}
        self.draw_picture(made._replace(marks={**made.marks, **self._kept_words}))

    def set_theme(self, dark: bool = False, presenter: bool = False) -> None:
        """Colours of a theme; nothing is around the tiles."""
        super().set_theme(dark, presenter)
        self.figure.update(**{f"min_border_{side}": 0 for side in style.BORDERS}, outline_line_color=None)
