"""What a stage can show: scenes, the plain arrays of one picture each, which page, films and players draw alike.

A file put into this folder appears in lab, race and exports by itself.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from pmdviz.engine.frame import Frame
from pmdviz.errors import InputError, unknown
from pmdviz.methods import METHODS, Method
from pmdviz.pictures import Axis, Mark, Picture
from pmdviz.scenes import columns as col
from pmdviz.scenes import words as texts
from pmdviz.targets import Target

LAYERS = ("exact", "approximate", "particles", "prior", "paths")  # that can be seen or hidden
LEGEND_ORDER = ("prior", "exact", "approximate", "particles", "paths", "others")
USUAL_WORDS = {"exact": "exact posterior", "approximate": "approximation", "particles": "particles"}
SCENES: dict[str, Scene] = {}

Pair = tuple[int, int]  # of coordinates, from 0
Ranges = tuple[tuple[float, float], tuple[float, float]]


class Scene:
    """One kind of picture of a frame. A subclass with a `name` enters SCENES by being defined.

    A picture has up to eight layers; each scene draws the ones it needs: an image behind everything, lines
    in the colour of the exact posterior, dashed lines in the approximation's, quiet ones of the prior, dots in
    the colour of the particles, the paths of a method, other dots in ink, and words, for which a small picture has no
    room (`StageColumns`).

    Attributes
    ----------
    name, title : str
        Its key, and its words in menus.
    legend : mapping
        What the layers "exact", "approximate", "particles", "prior", "paths" and "others" are called in the legend; a
        layer that is not named is not drawn.
    image_of : str
        The layer that the image is shown and hidden with, "" where it is always there. Such an image goes without
        saying in a small picture, which leaves it out.
    shows_theta : bool
        Whether its particles are drawn at their coordinates, which are read out under the pointer.
    pairs : bool
        Whether it shows two chosen coordinates of more.
    computes : bool
        Whether it makes runs of its own, which need compiled kernels.
    order : int
        Its place in menus; the first one that applies is shown at first.
    """

    name: ClassVar[str] = ""
    title: ClassVar[str] = ""
    legend: ClassVar[Mapping[str, str]] = USUAL_WORDS
    image_of: ClassVar[str] = ""
    shows_theta: ClassVar[bool] = False
    pairs: ClassVar[bool] = False
    computes: ClassVar[bool] = False
    order: ClassVar[int] = 1000

    def __init_subclass__(cls) -> None:
        if cls.name:
            SCENES[cls.name] = cls()
            for name in sorted(SCENES, key=lambda name: (SCENES[name].order, name)):
                SCENES[name] = SCENES.pop(name)

    def applies(self, target: Target, method: Method) -> bool:
        """Whether the scene can be drawn of the pair."""
        raise NotImplementedError

    def words(self, method: Method | None = None) -> dict[str, str]:
        """The legend of a picture of `method`, or of several (None)."""
        return dict(self.legend)

    def choices(self, target: Target) -> dict[str, Sequence[str]]:
        """Menus, at most two: what each is called, and the names of the pair's numbers."""
        paired = self.pairs and target.dim > 2
        return dict.fromkeys(("Horizontal", "Vertical"), target.parameter_names) if paired else {}

    def axes(self, target: Target, pair: Pair, top: float) -> tuple[Axis, Axis]:
        """Both axes; `top` is the highest value of a curve where the columns say one, else NaN."""
        raise NotImplementedError

    def ranges(self, target: Target, pair: Pair, top: float) -> Ranges:
        """Where the axes begin and end."""
        x, y = self.axes(target, pair, top)
        return (x.low, x.high), (y.low, y.high)

    def columns(self, frame: Frame, pair: Pair, limit: int = col.MAX_DRAWN) -> col.StageColumns:
        """All arrays that are drawn of `frame`; of more than `limit` dots a part. The frame never changes."""
        raise NotImplementedError


@dataclass(frozen=True)
class SceneChoice:
    """Which scene is looked at, and which coordinates of it: a wish, since not every target has it.

    `name` "" is the first scene that applies; coordinates are numbered from 0.
    """

    name: str = ""
    pair: Pair = (0, 1)

    def __post_init__(self) -> None:
        if self.name and self.name not in SCENES:
            raise unknown("scene", self.name, SCENES)
        if len(self.pair) != 2 or min(self.pair) < 0 or self.pair[0] == self.pair[1]:
            raise InputError(f"a pair is two different coordinates, numbered from 0; got {self.pair}")

    def check(self, target: Target, *methods: Method) -> None:
        """Raise InputError where the wish is unavailable."""
        found = applicable_scenes(target, *methods)
        if self.name and self.name not in found:
            names = " and ".join(repr(method.name) for method in methods)
            words = f"scene {self.name!r} cannot be drawn of method {names} on target {target.name!r}"
            raise InputError(f"{words}; these can: {', '.join(found)}")
        if max(self.pair) >= max(target.dim, 2):
            numbered = f"the coordinates of target {target.name!r} are numbered 1 to {target.dim}"
            raise InputError(f"{numbered}; got {max(self.pair) + 1}")

    def of(self, target: Target, *methods: Method) -> tuple[Scene, Pair]:
        """The scene and the pair that are shown of a target and methods: the wished ones where they are available."""
        found = applicable_scenes(target, *methods)
        pair = self.pair if max(self.pair) < target.dim else (0, 1)
        return found.get(self.name) or next(iter(found.values())), pair


def applicable_scenes(target: Target, *methods: Method) -> dict[str, Scene]:
    """The scenes that can be drawn from the target by every one of the methods, by name, in the order of menus.

    Without methods: by every one that fits the target.
    """
    asked = methods or [each for each in METHODS.values() if not each.missing_in(target)]
    return {name: scene for name, scene in SCENES.items() if all(scene.applies(target, each) for each in asked)}


def square(box: tuple[tuple[float, float], ...], pair: Pair = (0, 1)) -> Ranges:
    """The box of a pair of coordinates, widened about its centre to equal sides (equal aspect)."""
    sides = [box[k] for k in pair]
    half = max(high - low for low, high in sides) / 2
    (a, b), (c, d) = (((low + high) / 2 - half, (low + high) / 2 + half) for low, high in sides)
    return (a, b), (c, d)


OTHERS_PX = 5.0  # of dots in ink
TIPS = {"weight": "{weight:.6f}", "log q": "{log_density:.2f} nats"}
ABOUT = "Picture: exact posterior, approximation and particles"
EDGE = {"dash": "exact", "width": 1.2}  # of areas
NO_IMAGE = col.Image(np.full((1, 1), 0.5, np.float32), (0.0, 1.0), (0.0, 1.0))
MARKS = {  # from the lowest up, with nothing in them
    "areas": Mark("areas", "exact", col.EMPTY_AREAS, layer="exact"),
    "image": Mark("image", "", NO_IMAGE._asdict()),
    "others": Mark("dots", "ink", col.EMPTY_LINE, {"size": OTHERS_PX}, moves=True),
    "prior": Mark("line", "prior", col.EMPTY_LINE, {"dash": "prior"}, layer="prior", moves=True),
    "particles": Mark("dots", "particles", col.EMPTY_DOTS, {"drawn": 0}, TIPS, layer="particles", moves=True),
    "paths": Mark("segments", "ink", col.EMPTY_PATHS, layer="paths", moves=True),
    "ghost": Mark("line", "ghost", col.EMPTY_LINE, {"dash": "ghost"}, layer="ghost", moves=True),  # of another run
    "moved": Mark("line", "exact", col.EMPTY_LINE, {"dash": "moved"}, moves=True),  # of a target that is being dragged
    "exact": Mark("line", "exact", col.EMPTY_LINE, {"dash": "exact"}, layer="exact", moves=True),
    "approximate": Mark(
        "line", "approximate", col.EMPTY_LINE, {"dash": "approximate"}, layer="approximate", moves=True
    ),
    "words": Mark("words", "ink", col.NO_WORDS._asdict()),
}


def stage_tips(scene: Scene, target: Target, pair: Pair) -> dict[str, str]:
    """The text at the pointer for a particle: its coordinates, its weight, log q."""
    if not scene.shows_theta:
        return {}
    names = [target.parameter_names[k] for k in pair[: target.dim]]
    return {**dict(zip(names, ("{x:.3f}", "{y:.3f}"), strict=False)), **TIPS}


def stage_picture(
    scene: Scene,
    target: Target,
    method: Method | None,
    pair: Pair,
    columns: col.StageColumns,
    note: str = "",
    layers: Sequence[str] = LAYERS,
    axes: tuple[Axis, Axis] | None = None,
) -> Picture:
    """The picture that a scene draws of a frame, with those `layers` that are shown."""
    words = scene.words(method)
    if "particles" in words:
        words["particles"] = particles_label(columns, words["particles"])
    shown = {name for name in words if name in layers or name == "others"}
    looks = {"particles": {"look": {"drawn": columns.drawn}, "hover": stage_tips(scene, target, pair)}}
    drawn: dict[str, Any] = {name: getattr(columns, name) for name in shown}
    if "exact" in shown and len(columns.areas["x"]):
        drawn["areas"], looks["exact"] = columns.areas, {"look": EDGE}
    if columns.image is not None and (not scene.image_of or scene.image_of in shown):
        drawn["image"], looks["image"] = columns.image._asdict(), {"layer": scene.image_of}
    if columns.words.text:
        drawn["words"] = columns.words._asdict()
    seen = {name: mark for name, mark in MARKS.items() if name in drawn}
    marks = {name: mark._replace(columns=drawn[name], **looks.get(name, {})) for name, mark in seen.items()}
    x, y = axes or scene.axes(target, pair, columns.top)
    legend = {name: words[name] for name in LEGEND_ORDER if name in shown}
    return Picture(x, y, marks, legend, note=note, about=ABOUT)


def bare_axes(labels: tuple[str, str], ranges: Ranges) -> tuple[Axis, Axis]:
    """Axes whose numbers would mean nothing."""
    x, y = (Axis(label, *span, numbered=False) for label, span in zip(labels, ranges, strict=True))
    return x, y


def cell_axes(
    labels: tuple[str, str], rows: float, columns: float, edge: float = 0.5, over: float = 0.0
) -> tuple[Axis, Axis]:
    """A square about cells of side 1, with room at their longer sides; `over` is room for words above and below."""
    half = max(rows + 2 * over, columns) / 2 + edge
    return bare_axes(labels, ((columns / 2 - half, columns / 2 + half), (rows / 2 - half, rows / 2 + half)))


def particles_label(columns: col.StageColumns, name: str = "particles") -> str:
    """The particles in the legend, with how many of them are drawn if not all."""
    every = columns.drawn == columns.num_particles
    drawn = "" if every else f" ({texts.count(columns.drawn)} of {texts.count(columns.num_particles)} drawn)"
    return f"{name}{drawn}"


for _module in pkgutil.iter_modules(__path__, f"{__name__}."):
    importlib.import_module(_module.name)
