"""The YAML blocks of a lesson: names and values, each once, and nothing that refers to another place."""

from __future__ import annotations

import re
from collections.abc import Hashable
from typing import Any

import yaml
from yaml.nodes import MappingNode, Node

from pmdviz.errors import InputError, shown

RULE = "---"


class _Loader(yaml.SafeLoader):
    """Plain values. A name that is there twice would lose its first value in silence, and aliases can grow huge.

    true and false alone are flags, as in YAML 1.2: an option may say No.
    """

    yaml_implicit_resolvers = {
        first: [(tag, form) for tag, form in forms if not tag.endswith(":bool")]
        for first, forms in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def compose_node(self, parent: Node | None, index: Any) -> Node | None:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("a word that begins with * must stand in quotes")
        return super().compose_node(parent, index)

    def construct_mapping(self, node: MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        names = [key.value for key, _ in node.value if isinstance(key.value, str)]
        if twice := [name for name in names if names.count(name) > 1]:
            raise yaml.YAMLError(f"{twice[0]!r} is given twice")
        return super().construct_mapping(node, deep)


_Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile("^(?:true|false)$"), [*"tf"])


def split(text: str, what: str) -> tuple[dict[str, Any], str]:
    """The YAML block between two lines of three dashes at the start, and the text after it.

    Raises InputError that begins with `what` it is a block of.
    """
    lines = text.strip().split("\n")
    if lines[0].strip() != RULE or RULE not in [line.strip() for line in lines[1:]]:
        raise InputError(f"{what} must begin with a YAML block between two lines of three dashes")
    end = [line.strip() for line in lines[1:]].index(RULE) + 1
    return read_block("\n".join(lines[1:end]), what), "\n".join(lines[end + 1 :]).strip()


def read_block(text: str, what: str) -> dict[str, Any]:
    """Names and values of a YAML text. Raises InputError."""
    try:
        found = _Loader(text).get_single_data() or {}
    except (yaml.YAMLError, ValueError, TypeError, LookupError, ArithmeticError, AttributeError, RecursionError) as e:
        raise InputError(f"the YAML block of {what} cannot be read: {_words(e)}") from None
    if not isinstance(found, dict):
        raise InputError(f"the YAML block of {what} must be names and values; given: {shown(found)}")
    return found


def _words(error: Exception) -> str:
    """What is wrong and where, without the lines around it."""
    mark, problem = (getattr(error, name, None) for name in ("problem_mark", "problem"))
    if mark is not None and problem:
        return f"{problem}, in its line {mark.line + 1}; a text with a colon or a # needs quotes around it"
    return " ".join(str(error).split()) or type(error).__name__
