"""The page's script with its kernels in a real Chromium."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pmdviz.export.live import kernels, script

HELPERS = Path(__file__).with_name("helpers.js").read_text("utf-8")


class Driver:
    def __init__(self, page: Any) -> None:
        self.page = page
        page.add_script_tag(content=script() + HELPERS)
        page.evaluate("([module, declared]) => start(module, declared)", [*kernels().values()])

    def ask(self, expression: str, *values: Any) -> Any:
        """The value of an expression of `v`, the given values; arrays come back as arrays."""
        asked = f"(text) => {{ const v = decoded(JSON.parse(text)); return JSON.stringify(encoded({expression})) }}"
        return decoded(json.loads(self.page.evaluate(asked, json.dumps([encoded(value) for value in values]))))


def encoded(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return {"kind": value.dtype.str[1:], "shape": list(value.shape), "data": [_word(x) for x in value.ravel()]}
    if isinstance(value, dict):
        return {"items": {name: encoded(each) for name, each in value.items()}}
    if isinstance(value, list | tuple):
        return [encoded(each) for each in value]
    return _word(value)


def _word(x: Any) -> Any:
    if isinstance(x, np.uint64):
        return str(x)
    x = x.item() if isinstance(x, np.generic) else x
    return str(x) if isinstance(x, float) and not np.isfinite(x) else x


def decoded(value: Any) -> Any:
    if isinstance(value, dict) and "kind" in value:
        words = [float(x) if isinstance(x, str) and value["kind"][0] == "f" else int(x) if isinstance(x, str) else x
                 for x in value["data"]]  # fmt: skip
        return np.array(words, value["kind"]).reshape(value["shape"])
    if isinstance(value, dict):
        return {name: decoded(each) for name, each in value.items()}
    return [decoded(each) for each in value] if isinstance(value, list) else value


@pytest.fixture(scope="session")
def driver(browser: Any) -> Driver:
    return Driver(browser.new_page())
