"""How far an approximation is from the posterior, and how much its weights are to be trusted.

The table of metrics: each is declared once, and read by everything that shows one. A file put here that makes a
`Metric` has it appear in histories, traces, races, sweeps, tables and menus by itself.
"""

from __future__ import annotations

import importlib
import pkgutil
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar
from weakref import WeakKeyDictionary

from pmdviz.knobs import documented
from pmdviz.methods import Method
from pmdviz.targets import Target

if TYPE_CHECKING:
    from pmdviz.engine.frame import Frame

REGISTERED: dict[str, Metric] = {}  # by name: a metric enters by being made
METRICS = MappingProxyType(REGISTERED)
DASHED, DOTTED = (8, 3), (2, 3)  # of lines, as Bokeh has it
STEP = 150_000  # nanoseconds of a method's step besides the time for its data, by counts and never by a clock

Measure: TypeAlias = "Callable[[Frame], float | None]"
Look: TypeAlias = "str | bool | tuple[float, float] | Measure"  # of a metric in a picture
Applies = Callable[[Target, Method], bool]


@dataclass(frozen=True, kw_only=True)
class Metric:
    """A number that says how good an approximation is; an instance enters itself in METRICS.

    Attributes
    ----------
    name : str
        Its key in `frame.metrics`, the history, tables, JSON and the command line.
    title : str
        In legends and tables.
    short : str
        The title where there is little room, as on a race's tile; by default the title itself.
    unit : str
        "" for a pure number.
    about : str
        What it measures, in a few words.
    measure : function of a frame -> float, or None where it is unavailable
    work : function of a frame -> float or None
        Nanoseconds that measuring takes, by counts alone, besides the time for q, which is made for it. The history
        leaves such figures out of rows until the steps have taken as long (`Frame.dear`). None: almost none, without q.
    applies : function (target, method) -> bool
        Where it is absent from menus, histories and tables.
    traced : function (target, method) -> bool
        Whether every measured frame has it in the history; elsewhere it is computed when it is asked for.
    drawn : bool
        Whether every frame that a page draws has it; others only while their trace is the chosen one, and where the
        frame is measured. Such a metric must be cheap.
    always : bool
        Whether its key is there, with None, also where it does not apply.
    axis : str
        Metrics of one axis are drawn together, under the first one's `axis_title`; "": no trace is drawn. Along the
        axis stands its `axis_label`, by default the title with the unit.
    log : bool
        Whether that is logarithmic.
    limits : (low, high)
        Where a fixed axis ends, unless values are lower; on a logarithmic one higher values are drawn at its edge.
    fixed : bool
        Whether a linear axis has these limits whatever the values are.
    colour, dash : a layer of the theme (`scenes.style`), and Bokeh's dash
    ranks : bool
        Whether of two values the lower one is the better: races are ranked by the first such metric.
    baseline : str
        The key of what independent draws get, if that is known: `floor_tv`.
    order : int
        Its place in menus and tables.
    """

    name: str
    title: str
    unit: str
    about: str
    measure: Measure
    applies: Applies
    traced: Applies = lambda target, method: True
    drawn: bool = False
    always: bool = False
    work: Measure = lambda frame: None
    short: str = ""
    axis: str = ""
    axis_title: str = ""
    axis_label: str = ""
    log: bool = True
    limits: tuple[float, float] = (0.01, 100.0)
    fixed: bool = False
    colour: str = "exact"
    dash: str | tuple[int, int] = "solid"
    ranks: bool = True
    baseline: str = ""
    order: int = 1000

    def __post_init__(self) -> None:
        REGISTERED[self.name] = self

    @property
    def label(self) -> str:
        """The title with its unit."""
        return f"{self.title} ({self.unit})" if self.unit else self.title


def metric(name: str, title: str, unit: str, order: int, *where: Applies, about: str = "", **rest: Look) -> Callable:
    """A function of a frame as a `Metric`; `where` it applies, and where it is traced.

    `about` is the line `about: ...` of its docstring, or the first sentence.
    """

    def entered(measure: Measure) -> Measure:
        summary = (measure.__doc__ or "").partition("\n\n")[0].removesuffix(".")
        text = about or documented(measure).get("about", summary)
        given = dict(zip(("applies", "traced"), where, strict=False)) | getattr(measure, "look", {}) | rest
        Metric(name=name, title=title, unit=unit, order=order, about=text, measure=measure, **given)
        return measure

    return entered


def on_axis(axis: str, axis_title: str = "", axis_label: str = "", **look: Look) -> Callable[[Measure], Measure]:
    """How a metric is drawn; beneath `metric`."""

    def looking(measure: Measure) -> Measure:
        measure.look = {"axis": axis, "axis_title": axis_title, "axis_label": axis_label, **look}
        return measure

    return looking


def of_q(frame: Frame) -> float:
    """The work of a metric that takes little beyond making q."""
    return 0.0


Found = TypeVar("Found")
First = TypeVar("First")
Second = TypeVar("Second")


class Recent(Generic[Found]):
    """The `most` values that were used last, by their keys; for several threads."""

    def __init__(self, most: int) -> None:
        self._most, self._lock = most, threading.Lock()
        self._values: dict[tuple, Found] = {}

    def get(self, key: tuple) -> Found | None:
        """The value of a key; None where it is not kept."""
        with self._lock:
            if key in self._values:
                self._values[key] = self._values.pop(key)
            return self._values.get(key)

    def keep(self, key: tuple, value: Found) -> Found:
        """The value, or another that was kept before under the key."""
        with self._lock:
            found = self._values.setdefault(key, value)
            while len(self._values) > self._most:
                del self._values[next(iter(self._values))]
            return found


_kept = Recent[Any](200)


def once(target: Target, what: str | int, make: Callable[[], Found]) -> Found:
    """A value that is the same object for every frame on the target; other threads do not wait while it is made."""
    key = target.key, what
    found = _kept.get(key)
    return _kept.keep(key, make()) if found is None else found


def of_pair(find: Callable[[First, Second], Found]) -> Callable[[First, Second], Found]:
    """`find`, which looks at a pair once and keeps what it has found as long as the first of the two lives."""
    kept: WeakKeyDictionary[First, dict[Second, Found]] = WeakKeyDictionary()

    @wraps(find)
    def found(first: First, second: Second) -> Found:
        of_first = kept.setdefault(first, {})
        if second not in of_first:
            of_first[second] = find(first, second)
        return of_first[second]

    return found


@of_pair
def applicable(target: Target, method: Method) -> tuple[Metric, ...]:
    """The metrics available for the pair."""
    return tuple(metric for metric in METRICS.values() if metric.applies(target, method))


@of_pair
def traced_names(target: Target, method: Method) -> tuple[str, ...]:
    """Names of the metrics that a row of the history has."""
    pair = target, method
    return tuple(one.name for one in METRICS.values() if one.always or (one.applies(*pair) and one.traced(*pair)))


def planar(target: Target, method: Method) -> bool:
    """Whether p and q can be compared on a grid."""
    return target.planar is not None


def beyond_the_plane(target: Target, method: Method) -> bool:
    """Whether no grid can hold the posterior."""
    return target.planar is None


def has_reference(target: Target, method: Method) -> bool:
    """Whether there are exact moments or draws to compare with."""
    return target.reference() is not None


def has_weights(target: Target, method: Method) -> bool:
    """Whether the approximation is weighted particles."""
    return method.family in ("particles", "structured")


for _module in pkgutil.walk_packages(__path__, f"{__name__}."):
    importlib.import_module(_module.name)
for _one in sorted(REGISTERED.values(), key=lambda one: (one.order, one.name)):
    REGISTERED[_one.name] = REGISTERED.pop(_one.name)
