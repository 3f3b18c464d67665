"""Knobs: settings that a user may change, each declared once with bounds, label, unit, help and when it acts.

The widget, the validation, the command line, a recipe's form and the docs all follow from the declaration:

    step_size = Real(0.1, "(0, 1]", (0.001, 1), "Step size γ", log=True, basic=True)

An interval as text may leave its ends out. The help is in the docstring of the class, in a line `step_size: ...`
whose further lines are indented.
"""

from __future__ import annotations

import ast
import inspect
import math
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeAlias, TypeVar

import numpy as np

from pmdviz.data.files import SUFFIXES_IN_WORDS, names_file, pinned
from pmdviz.errors import InputError, check_known, shown, unknown
from pmdviz.files import Json
from pmdviz.formulas import Formula

Value = bool | int | float | str  # of a knob
Raw: TypeAlias = "Json | np.generic | bytes"  # a value as it comes from outside
T = TypeVar("T", bool, int, float, str)
Condition = tuple[str, Value | tuple[Value, ...]] | Mapping[str, Value | tuple[Value, ...]]  # of `only_if`
Declared = Value | Condition | tuple | Callable[[], Mapping[str, str]] | None  # an argument of a declaration
THOUSANDS = r"[+-]?\d{1,3}(,\d{3})+(\.\d*)?"  # 20,000 is a number; 0,05 is refused rather than read as 5

ACTS = {
    "at once": "takes effect immediately, also while paused",
    "next step": "takes effect at the next step",
    "rejuvenation": "takes effect at the next step, where it forces a rejuvenation",
    "copies": "takes effect at the next step: a random subset or with copies moved a little",
    "resampling": "takes effect at the next step, where it forces a resampling",
    "restart": "takes effect on restart",
}


@dataclass(frozen=True)
class KnobSpec(Generic[T]):
    """A knob as it is declared; `default_by` and `only_if` name the other knobs that it depends on."""

    kind: str  # whole, real, choice, flag, source or formula
    default: T
    label: str
    bounds: tuple[float | None, float | None] | None = None
    inclusive: tuple[bool, bool] = (True, True)
    soft_bounds: tuple[float, float] | None = None  # a slider's range, inside the bounds
    words: Mapping[str, str] = field(default_factory=dict)  # choice -> what a person reads for it
    name: str = ""  # the attribute's name
    help: str = ""  # a line of the class's docstring
    unit: str = ""
    acts: str = "next step"
    log: bool = False
    # Other knob -> values of it with which this one matters; one match is enough.
    only_if: Mapping[str, tuple] | None = None
    default_by: tuple[str, Mapping[Value, T]] | None = None
    basic: bool = False  # always in sight; a page folds the others away
    examples: Mapping[str, str] = field(default_factory=dict)  # the formula of each choice
    more: Callable[[], Mapping[str, str]] | None = None  # choices that a server adds, with their words

    def __post_init__(self) -> None:
        """An interval as text, and `only_if` as a pair or with values alone, become their usual forms."""
        put = partial(object.__setattr__, self)
        put("help", " ".join(self.help.split()))
        if isinstance(self.bounds, str):
            put("inclusive", (self.bounds[0] == "[", self.bounds[-1] == "]"))
            put("bounds", ast.literal_eval(f"({self.bounds[1:-1]})"))
        if self.only_if is not None:
            pairs = self.only_if.items() if isinstance(self.only_if, Mapping) else [self.only_if]
            put("only_if", {other: value if isinstance(value, tuple) else (value,) for other, value in pairs})

    def __set_name__(self, owner: type, name: str) -> None:
        object.__setattr__(self, "name", name)

    if TYPE_CHECKING:  # the value of an instance is in its own dictionary

        def __get__(self, instance: Knobs, owner: type[Knobs]) -> T: ...

    @property
    def choices(self) -> tuple[str, ...]:
        """The allowed values of a choice; of other kinds those that have a name."""
        return tuple(self.words)

    def at(self, default: T, **changes: Declared) -> KnobSpec[T]:
        """The same knob at another default, with these changes, named as in a declaration."""
        return replace(self, default=default, **_fields(changes))

    def said(self, value: Value) -> str:
        """A value as a page shows it: a choice in its words."""
        return self.words.get(value, str(value))

    def refusal(self, reason: str, on_page: str = "") -> InputError:
        """The error "num_particles must be ..."; a page shows the label instead of the name."""
        return InputError(f"{self.name} {reason}", self.name, f"{self.label} {on_page or reason}")

    def default_given(self, values: Mapping[str, Value]) -> T:
        """The default when the other knobs have `values`."""
        if self.default_by is None:
            return self.default
        other, table = self.default_by
        return table.get(values.get(other), self.default)

    def default_beside(self, values: Mapping[str, Value], usual: Mapping[str, Value | None]) -> Value | None:
        """The same where the unchanged knobs are `usual`, as of a method fitted to a target."""
        if self.default_by is None or values[self.default_by[0]] == usual[self.default_by[0]]:
            return usual[self.name]
        return self.default_given(values)

    @property
    def bounds_words(self) -> str:
        """The allowed values in words, such as "above 0, at most 1"."""
        if self.kind == "choice":
            return "one of " + ", ".join(filter(None, self.choices))
        if self.kind == "source":
            return f"{', '.join(self.choices)} or the path of a {SUFFIXES_IN_WORDS} file"
        if self.kind == "formula":
            return f"{', '.join(self.choices)} or a formula of x and y, such as {next(iter(self.examples.values()))}"
        if self.kind == "flag":
            return "true or false"
        low, high = self.bounds or (None, None)
        parts = []
        if low is not None:
            parts.append(f"{'at least' if self.inclusive[0] else 'above'} {_plain(low)}")
        if high is not None:
            parts.append(f"{'at most' if self.inclusive[1] else 'below'} {_plain(high)}")
        noun = "a whole number" if self.kind == "whole" else "a number"
        return f"{noun} {' and '.join(parts)}".strip()

    def parse(self, raw: Raw) -> T:
        """`raw` as a value of this knob. Raises InputError with the knob, the given value and the bounds."""
        try:
            value = _PARSERS[self.kind](self, raw)
        except InputError as error:
            if error.field:
                raise
            raise InputError(f"{self.name}: {error}", self.name, f"{self.label}: {error}") from None
        if value is None or (self.bounds is not None and not self._inside(value)):
            raise self.refusal(f"must be {self.bounds_words}; got {shown(raw)}")
        return value

    def _inside(self, value: float) -> bool:
        low, high = self.bounds or (None, None)
        above = low is None or value > low or (self.inclusive[0] and value == low)
        below = high is None or value < high or (self.inclusive[1] and value == high)
        return above and below


def _plain(value: float) -> str:
    """A bound for a sentence: thousands separated, no exponent, no ".0"."""
    return f"{value:,}" if isinstance(value, int) else f"{value:,.12f}".rstrip("0").rstrip(".")


def real_number(raw: Raw) -> float | None:
    """A finite float, or None where `raw` is none (booleans are not numbers here)."""
    if isinstance(raw, (bool, np.bool_, bytes)) or raw is None:
        return None
    if isinstance(raw, str) and (not raw.isascii() or "_" in raw):  # other scripts' digits, Python's own 1_000
        return None
    if isinstance(raw, str) and re.fullmatch(THOUSANDS, raw.strip()):
        raw = raw.replace(",", "")
    try:
        value = float(raw)
    except (TypeError, ValueError, OverflowError):
        return None
    return value + 0.0 if math.isfinite(value) else None  # -0.0 becomes 0.0: one canonical form


def whole_number(raw: Raw) -> int | None:
    """`raw` as an int, or None where it is not a whole number; "20,000" and "1e4" are."""
    if isinstance(raw, int) and not isinstance(raw, bool):
        return raw
    value = real_number(raw)
    return int(value) if value is not None and value.is_integer() else None


def checked_whole(what: str, value: Raw, low: int, high: int) -> int:
    """`value` as a whole number within its bounds. Raises InputError."""
    number = whole_number(value)
    if number is None or not low <= number <= high:
        words = f"must be a whole number at least {low:,} and at most {high:,}; got {shown(value)}"
        raise InputError(f"{what} {words}", what)
    return number


def _parse_choice(spec: KnobSpec, raw: Raw) -> str | None:
    if isinstance(raw, str) and (raw in spec.choices or (spec.more is not None and raw in spec.more())):
        return raw
    sentence = unknown(f"value of {spec.name}:", raw, spec.choices)
    known = ", ".join(filter(None, spec.choices))
    on_page = f"{spec.label} must be one of: {'; '.join(spec.words.values())}. Given: {shown(raw)}"
    raise InputError(f"{sentence} (allowed: {known})", spec.name, on_page)


def _parse_source(spec: KnobSpec, raw: Raw) -> str | None:
    if isinstance(raw, str) and raw in spec.choices:
        return raw
    return pinned(raw) if names_file(raw) else None


def _parse_formula(spec: KnobSpec, raw: Raw) -> str:
    """The name of an example, also where its formula is given, or a formula."""
    if isinstance(raw, str) and raw.strip() in spec.choices:
        return raw.strip()
    text = Formula(raw).text
    return next((name for name, example in spec.examples.items() if example == text), text)


def _parse_flag(spec: KnobSpec, raw: Raw) -> bool | None:
    if isinstance(raw, str):
        return {"true": True, "false": False}.get(raw.lower())
    return bool(raw) if isinstance(raw, (bool, np.bool_)) else None


_PARSERS: dict[str, Callable] = {
    "real": lambda spec, raw: real_number(raw),
    "whole": lambda spec, raw: whole_number(raw),
    "choice": _parse_choice,
    "flag": _parse_flag,
    "source": _parse_source,
    "formula": _parse_formula,
}


NUMBER, CHOICES = ("default", "bounds", "softbounds", "label", "unit"), ("default", "choices", "label")
FIELDS = {"choices": "words", "softbounds": "soft_bounds", "doc": "help"}  # word of a declaration -> field


def _fields(declared: Mapping[str, Declared]) -> dict[str, Declared]:
    return {FIELDS.get(name, name): value for name, value in declared.items()}


def _declared(kind: str, order: tuple[str, ...], *given: Declared, **named: Declared) -> KnobSpec:
    """A knob in a class of `Knobs`; positional arguments come in this order.

    `choices` says them all: identifier -> the words that a person reads. `examples` of a `Typed` describes each of
    them.
    """
    return KnobSpec(kind=kind, **_fields(dict(zip(order, given, strict=False)) | named))


Whole = partial(_declared, "whole", NUMBER)
Real = partial(_declared, "real", NUMBER)
Choice = partial(_declared, "choice", CHOICES)
Flag = partial(_declared, "flag", ("default", "label"))
Source = partial(_declared, "source", CHOICES)  # data by a name, or from a person's file (`data.files`)
Typed = partial(_declared, "formula", CHOICES)  # a formula (`formulas`) by the name of an example, or its text
A_FILE = "a file"  # in `only_if`: the path of any


FIELD = re.compile(r"^(\w+): (.+(?:\n {4}.+)*)", re.MULTILINE)


def documented(owner: type | Callable) -> dict[str, str]:
    """The lines `name: text` of the docstring of a function or class itself; long texts go on in indented lines."""
    doc = owner.__dict__.get("__doc__") if isinstance(owner, type) else owner.__doc__
    found = FIELD.findall(inspect.cleandoc(doc or ""))
    return {name: " ".join(line.strip() for line in text.splitlines()) for name, text in found}


def named_after(owner: type, suffix: str) -> Any:
    """The class of the owner's file with the owner's name and this suffix: `PMDKnobs` of `PMD`; None without one."""
    return vars(sys.modules[owner.__module__]).get(f"{owner.__name__}{suffix}")


class Knobs:
    """A set of knob values; immutable. Subclasses declare `Whole`, `Real`, `Choice`, `Flag`, `Source`, `Typed`."""

    kind_words = "knob"  # "option" for a target's
    restarts: ClassVar[bool] = False  # whether a new value of any of them begins a new run
    _specs: ClassVar[dict[str, KnobSpec]] = {}

    def __init_subclass__(cls) -> None:
        """The help of each knob is its line in the docstring, or that in the docstring of a base class."""
        own, of_bases = documented(cls), [documented(base) for base in cls.__mro__[1:]]
        for name, declared in [*vars(cls).items()]:
            if isinstance(declared, KnobSpec):
                acts = "restart" if cls.restarts else declared.acts
                inherited = next((texts[name] for texts in of_bases if name in texts), "")
                setattr(cls, name, replace(declared, help=own.get(name, declared.help or inherited), acts=acts))
        names = [name for base in cls.__mro__ for name, each in vars(base).items() if isinstance(each, KnobSpec)]
        cls._specs = {name: getattr(cls, name) for name in dict.fromkeys(names)}

    def __init__(self, /, **values: Value) -> None:
        """Knobs with these values, all of which were checked; the others have their defaults."""
        vars(self).update({name: spec.default for name, spec in self._specs.items()} | values)

    def __setattr__(self, name: str, value: Value) -> None:
        raise TypeError("knobs never change: `replaced` makes others")

    @classmethod
    def specs(cls) -> dict[str, KnobSpec]:
        """Every knob in the order of declaration: a class's own first, then its bases' knobs."""
        return cls._specs

    @classmethod
    def matters(cls, name: str, values: Mapping[str, Value]) -> bool:
        """Whether a knob does anything when all have `values`; what depends on an idle knob is idle too."""
        only_if = cls.specs()[name].only_if
        if only_if is None:
            return True
        return any(
            (values[other] in allowed or (A_FILE in allowed and names_file(values[other])))
            and cls.matters(other, values)
            for other, allowed in only_if.items()
        )

    @classmethod
    def defaults(cls) -> Self:
        """The knobs at their defaults, unchecked."""
        return cls()

    @classmethod
    def checked(cls, values: Mapping[str, Raw]) -> Self:
        """The defaults with `values` from outside in their place. Raises InputError."""
        return cls.defaults().replaced(**values) if values else cls.defaults()

    def check(self) -> None:
        """Raise InputError where values do not fit one another; for subclasses."""

    def replaced(self, /, **values: Raw) -> Self:
        """These knobs with some changed to values as they come from outside. Raises InputError."""
        specs = self.specs()
        check_known(self.kind_words, values, specs)
        return self.changed({name: specs[name].parse(raw) for name, raw in values.items()})

    def changed(self, /, values: Mapping[str, Value]) -> Self:
        """These knobs with some changed to values that were parsed by their declarations.

        A knob whose default depends on another (`default_by`) goes to its new default when that other one changes
        and it is not given itself. Raises InputError where the values do not fit one another.
        """
        before = self.as_dict()
        full = {**before, **values}
        for name, spec in self.specs().items():
            if spec.default_by and name not in values and full[spec.default_by[0]] != before[spec.default_by[0]]:
                full[name] = spec.default_given(full)
        made = type(self)(**full)
        made.check()
        return made

    def as_dict(self) -> dict[str, Value]:
        """Name -> value, in the order of declaration."""
        return dict(vars(self))

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash(tuple(vars(self).items()))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in vars(self).items())})"


def _explained(spec: KnobSpec) -> str:
    """The allowed values with the words that a page has for them: "never, ess (when ESS is low)"."""
    if not spec.words:
        return spec.bounds_words
    pairs = ((choice or '""', words) for choice, words in spec.words.items())
    listed = ", ".join(choice if words == choice else f"{choice} ({words})" for choice, words in pairs)
    besides = {"source": f", or a path: {SUFFIXES_IN_WORDS}", "formula": ", or a formula of x and y"}
    return f"{listed}{besides[spec.kind]}" if spec.kind in besides else f"one of {listed}"


def table(knobs: type[Knobs]) -> list[dict[str, Value | list[Value] | None]]:
    """The declarations as plain rows for lists, the command line and the docs.

    `bounds` are the two ends of a number, `inclusive` whether each is allowed; or `bounds` are the choices.
    """
    return [
        {
            **{part: getattr(s, part) for part in ("name", "label", "default", "unit", "help")},
            "bounds": list(s.bounds) if s.bounds else (list(s.choices) or None),
            "inclusive": list(s.inclusive) if s.bounds else None,
            "values": _explained(s),
            "acts": ACTS[s.acts],
        }
        for s in knobs.specs().values()
    ]
