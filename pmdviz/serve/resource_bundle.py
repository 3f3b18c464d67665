"""The list of scripts and style sheets of a page, made once: Panel looks through all its classes for each page.

It depends on where the server is, and on a page only by whether it may have formulas; all of ours are alike in that.
"""

from __future__ import annotations

from typing import Any

from panel.io import state

from pmdviz.lab.panel_internals import bundle_resources, replace_bundle_resources

MOST_KEPT = 16  # places; who asks names them (a proxy's prefix), so they could be any number

_known: dict[tuple[Any, ...], Any] = {}


def _bundle_resources(roots: Any, resources: Any) -> Any:
    """Panel's own, once for each place of the server."""
    key = (resources.mode, resources.absolute, resources.root_url, state.rel_path, state.base_url)
    if key not in _known:
        if len(_known) >= MOST_KEPT:
            _known.clear()
        _known[key] = bundle_resources(roots, resources)
    return _known[key]


def install() -> None:
    """Have it kept from now on. Twice does no harm."""
    replace_bundle_resources(_bundle_resources)
