"""A Sphinx extension: formulas as MathML, and docstrings as they are meant.

Browsers draw MathML themselves, with no script and no font from the net. Docstrings of properties stay as they are
written, and a public name that is another name of a class is documented as that class.
"""

from __future__ import annotations

import re
from functools import partial
from html import escape
from typing import Any

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx import addnodes
from sphinx.util import logging

import pmdviz

MATHML = "mathml"
# TeX that MathJax reads, in the notebooks, and docutils does not: a fraction of two bare digits, and \big.
SPELLED_OUT = ((re.compile(r"frac(\d)(\d)"), r"frac{\1}{\2}"), (re.compile(r"\\(big|Big)(?=[()\[\]|])"), r"\\\1l"))


def setup(app: Any) -> dict[str, bool]:
    """Enter the renderer that conf.py names, and what is done to docstrings."""
    app.add_html_math_renderer(MATHML, (_inline, None), (_block, None))
    app.connect("config-inited", _know_aliases)
    app.connect("doctree-read", _leave_words)
    # Of "The budget: what it needs" napoleon, whose place is 500, would make a type and a meaning.
    written: dict[str, list[str]] = {}
    app.connect("autodoc-process-docstring", partial(_keep, written), priority=400)
    app.connect("autodoc-process-docstring", partial(_put_back, written), priority=600)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _know_aliases(app: Any, config: Any) -> None:
    """Tell the templates which public name is another name of a class, of which autodoc would say just that."""
    named = {f"pmdviz.{name}": getattr(pmdviz, name) for name in pmdviz.__all__}
    config.autosummary_context["aliases"] = {
        name: f"{each.__module__}.{each.__qualname__}"
        for name, each in named.items()
        if isinstance(each, type) and each.__name__ != name.rpartition(".")[2]
    }


def _leave_words(app: Any, doctree: Any) -> None:
    """Let words in the types of arguments, such as theta, be words and not links to any attribute of that name."""
    for node in [*doctree.findall(addnodes.pending_xref)]:
        if node.get("refspecific") and node["reftarget"].removeprefix("pmdviz.") not in pmdviz.__all__:
            node.replace_self(node.children)


def _keep(written: dict, app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    if what == "property":
        written[name] = [*lines]


def _put_back(written: dict, app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    if name in written:
        lines[:] = written.pop(name)


def mathml(tex: str, block: bool = False) -> str:
    """A formula as MathML. Raises docutils' MathError."""
    for pattern, spelled in SPELLED_OUT:
        tex = pattern.sub(spelled, tex)
    return tex2mathml(tex, as_block=block)


def _inline(writer: Any, node: nodes.Element) -> None:
    writer.body.append(_drawn(node, block=False))
    raise nodes.SkipNode


def _block(writer: Any, node: nodes.Element) -> None:
    writer.body.append(f'<div class="math">{_drawn(node, block=True)}</div>')
    raise nodes.SkipNode


def _drawn(node: nodes.Element, block: bool) -> str:
    try:
        return mathml(node.astext(), block)
    except MathError as error:
        logging.getLogger(__name__).warning("this formula cannot be drawn: %s", error, location=node)
        return f"<code>{escape(node.astext())}</code>"
