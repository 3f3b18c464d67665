"""A Python batch of CIFAR-10: a pickle, of which nothing is run.

Python's own reader would import and call whatever a pickle names. Here the instructions are only listed, by
`pickletools`, and the few that such a batch is made of are followed: numbers, texts, lists, a dictionary, and arrays of
bytes. A pickle that asks for anything else is refused with the name of what it asks for.
"""

from __future__ import annotations

import pickletools
from typing import IO, Any, NamedTuple

import numpy as np

RECONSTRUCT, NDARRAY, DTYPE, ENCODE = "multiarray _reconstruct", "numpy ndarray", "numpy dtype", "_codecs encode"
NAMES = {
    "numpy.core.multiarray _reconstruct": RECONSTRUCT,
    "numpy._core.multiarray _reconstruct": RECONSTRUCT,
    "numpy ndarray": NDARRAY,
    "numpy dtype": DTYPE,
    "_codecs encode": ENCODE,
}
BYTES = {"u1", "uint8"}  # the types of number that an array may have
LATIN = {"BINSTRING", "SHORT_BINSTRING"}  # Python 2's texts, which are bytes
VALUES = LATIN | {
    "BININT", "BININT1", "BININT2", "INT", "LONG", "LONG1", "BINBYTES", "SHORT_BINBYTES", "BINBYTES8", "BINUNICODE",
    "SHORT_BINUNICODE", "BINUNICODE8",
}  # fmt: skip
CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
EMPTY = {"EMPTY_DICT": dict, "EMPTY_LIST": list, "EMPTY_TUPLE": tuple}
TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}
MARK = object()


class _Name(NamedTuple):
    """What an instruction names; it is never looked up."""

    name: str


class _Type:
    """A type of number, by its code."""

    def __init__(self, code: str) -> None:
        self.code = code


class _Array:
    """An array that is being built."""

    values: np.ndarray | None = None


def read_batch(file: IO[bytes]) -> np.ndarray:
    """The images of a batch and their classes, one a row (n, pixels + 1), all bytes.

    Raises ValueError for a pickle that is no such batch, before anything in it could be run.
    """
    found = _followed(file)
    if not isinstance(found, dict):
        raise ValueError("the pickle holds no dictionary of data and labels")
    parts = {_text(key): value for key, value in found.items()}
    data, labels = parts.get("data"), parts.get("labels")
    images = data.values if isinstance(data, _Array) else None
    if images is None or images.ndim != 2 or not isinstance(labels, list) or len(labels) != len(images):
        raise ValueError("the pickle must hold data, an array of bytes with a row for each image, and as many labels")
    if not all(isinstance(label, int) and 0 <= label < 256 for label in labels):
        raise ValueError("the labels of the pickle must be whole numbers from 0 to 255")
    return np.column_stack([images, np.array(labels, np.uint8)])


def _followed(file: IO[bytes]) -> Any:
    """What is left at the end."""
    stack: list[Any] = []
    memo: dict[int, Any] = {}
    try:
        for code, argument, _ in pickletools.genops(file):
            if code.name == "STOP":
                return stack.pop()
            _follow(code.name, argument, stack, memo)
    except (IndexError, KeyError, TypeError, UnicodeError) as error:
        raise ValueError(f"the pickle is broken ({error})") from None
    raise ValueError("the pickle is cut off")


def _follow(name: str, argument: Any, stack: list[Any], memo: dict[int, Any]) -> None:
    """One instruction. Raises ValueError for one that a batch has no need of."""
    if name in ("PROTO", "FRAME"):
        return
    if name in VALUES:
        stack.append(argument.encode("latin-1") if name in LATIN else argument)
    elif name in CONSTANTS:
        stack.append(CONSTANTS[name])
    elif name in EMPTY:
        stack.append(EMPTY[name]())
    elif name == "MARK":
        stack.append(MARK)
    elif name in ("PUT", "BINPUT", "LONG_BINPUT", "MEMOIZE"):
        memo[len(memo) if name == "MEMOIZE" else argument] = stack[-1]
    elif name in ("GET", "BINGET", "LONG_BINGET"):
        stack.append(memo[argument])
    elif name in TUPLES:
        stack.append(tuple(_taken(stack, TUPLES[name])))
    elif name == "TUPLE":
        stack.append(tuple(_marked(stack)))
    elif name in ("APPEND", "APPENDS"):
        values = _taken(stack, 1) if name == "APPEND" else _marked(stack)
        _checked(stack[-1], list).extend(values)
    elif name in ("SETITEM", "SETITEMS"):
        values = _taken(stack, 2) if name == "SETITEM" else _marked(stack)
        _checked(stack[-1], dict).update(zip(values[::2], values[1::2], strict=True))
    elif name in ("GLOBAL", "STACK_GLOBAL"):
        stack.append(_known(argument if name == "GLOBAL" else " ".join(map(_text, _taken(stack, 2)))))
    elif name == "REDUCE":
        stack.append(_made(*_taken(stack, 2)))
    elif name == "BUILD":
        _build(stack[-2], stack[-1])
        stack.pop()
    else:
        raise ValueError(f"it is a pickle with {name}, which no batch of images needs; nothing in it was run")


def _taken(stack: list[Any], count: int) -> list[Any]:
    if len(stack) < count:
        raise IndexError("too few values")
    values = stack[-count:]
    del stack[-count:]
    return values


def _marked(stack: list[Any]) -> list[Any]:
    at = next(k for k in range(len(stack) - 1, -2, -1) if k < 0 or stack[k] is MARK)
    if at < 0:
        raise IndexError("no mark")
    values = stack[at + 1 :]
    del stack[at:]
    return values


def _checked(value: Any, kind: type) -> Any:
    if not isinstance(value, kind):
        raise TypeError(f"{type(value).__name__} in place of {kind.__name__}")
    return value


def _text(value: Any) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else _checked(value, str)


def _known(name: str) -> _Name:
    if name not in NAMES:
        called = name.replace(" ", ".")
        raise ValueError(
            f"it is a pickle that asks for {called}, which no batch of images needs; nothing in it was run"
        )
    return _Name(NAMES[name])


def _made(what: Any, arguments: Any) -> Any:
    """What a call would give of the few names that are known."""
    name = _checked(what, _Name).name
    if name == RECONSTRUCT:
        return _Array()
    if name == DTYPE:
        return _Type(_text(arguments[0]))
    if name == ENCODE:
        return _checked(arguments[0], str).encode("latin-1")
    raise TypeError(f"a call of {name}")


def _build(thing: Any, state: Any) -> None:
    """The state of an array: a version, the shape, the type, whether by columns, the bytes; of a type nothing."""
    if isinstance(thing, _Type):
        return
    _, shape, kind, by_columns, content = _checked(state, tuple)
    code = _checked(kind, _Type).code
    if code not in BYTES:
        raise ValueError(f"the arrays of the pickle must hold bytes; given: numbers of type {code}")
    values = np.frombuffer(_checked(content, bytes), np.uint8)
    if values.size != int(np.prod([int(side) for side in shape], dtype=object)):
        raise TypeError(f"{values.size:,} bytes for shape {shape}")
    _checked(thing, _Array).values = values.reshape(shape, order="F" if by_columns else "C")
