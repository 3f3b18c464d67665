"""How an exported file looks: every option declared once, for Python, the command line, the docs and the page.

A race has the same options as a run; `RaceLook` says which of them mean something else there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import partial

from pmdviz.engine.recipe import MAX_BUDGET
from pmdviz.errors import InputError, check_known, shown
from pmdviz.experiments.race import RaceRecipe
from pmdviz.knobs import Choice, Flag, Knobs, Raw, Whole
from pmdviz.methods import Method
from pmdviz.metrics import METRICS, Metric
from pmdviz.scenes.stage import LAYERS, SCENES, SceneChoice
from pmdviz.scenes.trace_columns import CLOCKS, GROUPS, RACE_CLOCKS, first_group
from pmdviz.targets import Target

NO_TRACES = "none"
SIZES = {"1920x1080": (1920, 1080), "960x540": (960, 540), "square": (1080, 1080)}
SIZE, LAYER_LIST = "size", "layers"  # short forms of several options at once
USUAL_FRAMES = 100
USUAL = "automatic"
NO_CHOICE = {"": USUAL, NO_TRACES: "none"}  # of traces


_whole, _choice, _flag = (partial(kind, acts="at once") for kind in (Whole, Choice, Flag))


class Look(Knobs):
    """The options of an export; each kind of file takes those that mean something to it.

    width: Width of the picture.
    height: Height of the picture.
    fps: Frames shown in a second.
    frames: Frames of the film, spread evenly over the run; 0: 100, or all of a shorter run.
    every: One frame every so many iterations, plus the last; 0: automatic.
    theme: Dark on light, or light on dark.
    transparent: Transparent background.
    large_type: Labels for the back row of a lecture hall.
    scene: What the posterior plot shows; by default the first scene that applies.
    horizontal: Of a scene with two coordinates, counted from 1.
    vertical: Of a scene with two coordinates, counted from 1.
    exact: Draw the exact posterior.
    approximate: Draw the approximation.
    particles: Draw the particles.
    prior: Draw the outline of the prior.
    paths: Draw how the method moves: a chain's way, arrows, ellipses.
    inside: Add the panel that shows what each term of the update does to each particle.
    traces: The traces next to the stage (by default the first that target and method have), where the picture is at
        least one and a half times as wide as high.
    clock: The traces' horizontal axis; by default the unit of the budget.
    table: What the table holds.
    live: The page runs the method itself, without Python or a server: it begins with this run and goes on.
    whole: The whole recipe, to the end of its budget with all its changes; else the run as it stands.
    """

    kind_words = "export option"

    width = _whole(960, (160, 3840), label="Width", unit="px")
    height = _whole(540, (160, 2160), label="Height", unit="px")
    fps = _whole(20, (1, 60), label="Frames per second")
    frames = _whole(0, (0, 2_000), label="Frames")
    every = _whole(0, (0, 1_000_000), label="One frame every", unit="iterations", only_if=("frames", 0))
    theme = _choice("light", {"light": "light", "dark": "dark"}, "Theme")
    transparent = _flag(False, "Transparent")
    large_type = _flag(False, "Large type")
    scene = _choice("", {"": USUAL} | {name: scene.title for name, scene in SCENES.items()}, "Picture")
    horizontal = _whole(1, (1, 1000), label="Horizontal coordinate")
    vertical = _whole(2, (1, 1000), label="Vertical coordinate")
    exact = _flag(True, "Exact posterior")
    approximate = _flag(True, "Approximation")
    particles = _flag(True, "Particles")
    prior = _flag(True, "Prior")
    paths = _flag(True, "Paths")
    inside = _flag(True, "Inside this step")
    traces = _choice("", NO_CHOICE | {name: each.title for name, each in GROUPS.items()}, "Traces")
    clock = _choice("", {"": USUAL, **CLOCKS}, "Traces against")
    table = _choice("history", {"history": "history of the run", "particles": "particles at the end"}, "Table")
    live = _flag(False, "Live")
    whole = _flag(False, "Whole recipe")

    def check(self) -> None:
        """Frames are counted or taken every so often, not both; a film has two ends."""
        if self.frames and self.every:
            raise InputError(f"give frames or every, not both; got frames={self.frames}, every={self.every}")
        if self.frames == 1:
            raise InputError("frames must be at least 2, the first and the last (or 0); got 1")
        if self.horizontal == self.vertical:
            raise InputError(f"horizontal and vertical must be different coordinates; got {self.vertical} for both")

    @property
    def dark(self) -> bool:
        """Whether the theme is the dark one."""
        return self.theme == "dark"

    @property
    def choice(self) -> SceneChoice:
        """The scene of the stage and its coordinates."""
        return SceneChoice(self.scene, (self.horizontal - 1, self.vertical - 1))

    @property
    def layers(self) -> tuple[str, ...]:
        """The layers of the stage that are drawn."""
        return tuple(name for name in LAYERS if getattr(self, name))


class RaceLook(Look):
    """The options of an export of a race.

    frames: Frames of the film, spread evenly over the budget; 0: 100, or all of a shorter race.
    every: One frame every so many data points of each method (or evaluations, if the race counts those), plus the
        last; 0: automatic.
    traces: The metric of all entrants next to the tiles, where the picture is 1.5 times as wide as high or more;
        by default the one by which they are ranked.
    clock: The traces' horizontal axis; by default the unit of the budget.
    table: What the table holds: how each run ended, or its measured history.
    """

    kind_words = "export option of a race"

    frames = _whole(0, (0, 2_000), label="Frames")
    every = _whole(0, (0, MAX_BUDGET), label="One frame every", unit="data points", only_if=("frames", 0))
    traces = _choice("", NO_CHOICE | {name: each.title for name, each in METRICS.items() if each.axis}, "Traces")
    clock = _choice("", {"": USUAL, **RACE_CLOCKS}, "Traces against")
    table = _choice("rows", {"rows": "results at the end", "histories": "histories of the runs"}, "Table")


def shown_group(target: Target, method: Method, name: str) -> str:
    """The axis of that name, or the first that the pair has. Raises InputError where it is unavailable."""
    known = GROUPS.of(target, method)
    if name in ("", NO_TRACES, *known):
        return name if name in known else first_group(known)
    words = f"traces: {name} is unavailable for method {method.name!r} on target {target.name!r}"
    raise InputError(f"{words}; available: {', '.join(known)}")


def traced(recipe: RaceRecipe, name: str) -> Metric:
    """The metric of that name, or the one by which the race is ranked. Raises InputError where it is unavailable."""
    known = {metric.name: metric for metric in (*recipe.shown, *recipe.metrics)}
    if name in ("", NO_TRACES, *known):
        return known.get(name, recipe.shown[0])
    raise InputError(f"traces: {name} is unavailable for all methods of this race; available: {', '.join(known)}")


FILM_OPTIONS = ("frames", "every", "fps")
STAGE_OPTIONS = ("theme", "large_type", "scene", "horizontal", "vertical", *LAYERS, "traces", "clock")
PICTURE_OPTIONS = ("width", "height", *STAGE_OPTIONS)


def spelled_out(given: Mapping[str, Raw]) -> dict[str, Raw]:
    """`given` with its short forms (`size`, `layers`) replaced by the options that they set."""
    plain = {name: value for name, value in given.items() if name not in (SIZE, LAYER_LIST)}
    for short, expand in ((SIZE, _sizes), (LAYER_LIST, _layers)):
        if given.get(short) is None:
            continue
        long = expand(given[short])
        if twice := [name for name in long if name in plain]:
            raise InputError(f"{short} already sets {' and '.join(long)}; leave out {', '.join(twice)}")
        plain.update(long)
    return plain


def _sizes(text: Raw) -> dict[str, int]:
    if isinstance(text, str) and text in SIZES:
        return dict(zip(("width", "height"), SIZES[text], strict=True))
    found = re.fullmatch(r"(\d{1,6})\s*[x×]\s*(\d{1,6})", text) if isinstance(text, str) else None
    if found is None:
        raise InputError(f"size must be WIDTHxHEIGHT in px, or one of {', '.join(SIZES)}; got {shown(text)}")
    return {"width": int(found[1]), "height": int(found[2])}


def _layers(names: Raw) -> dict[str, bool]:
    listed = names.split(",") if isinstance(names, str) else names
    if not isinstance(listed, Iterable) or not all(isinstance(name, str) for name in listed):
        raise InputError(f"layers must be names out of {', '.join(LAYERS)}; got {shown(names)}")
    wanted = [str(name).strip() for name in listed]
    check_known("layer", wanted, LAYERS)
    return {name: name in wanted for name in LAYERS}
