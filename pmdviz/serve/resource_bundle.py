"""The list of scripts and style sheets of a page, made once: Panel looks through all its classes for each page.

Private part of Panel 1.9.4 and 1.10 that this file relies on: `panel.io.server.bundle_resources`, which makes it. It
depends on where the server is, and on a page only by whether it may have formulas; all of ours are alike in that.
"""

from __future__ import annotations

from typing import Any

from panel.io import server, state

_panels = server.bundle_resources
_known: dict[tuple[Any, ...], Any] = {}


def _bundle_resources(roots: Any, resources: Any) -> Any:
    """Panel's own, once for each place of the server."""
    key = (resources.mode, resources.absolute, resources.root_url, state.rel_path, state.base_url)
    if key not in _known:
        _known[key] = _panels(roots, resources)
    return _known[key]


def install() -> None:
    """Have it kept from now on. Twice does no harm."""
    server.bundle_resources = _bundle_resources
