"""The scripts and style sheets of a page are listed once for each place of a server, and are those of Panel."""

import panel as pn
import pytest
from panel.io import server
from panel.io.resources import Resources

from pmdviz.lab import panel_internals
from pmdviz.serve import resource_bundle


@pytest.fixture
def asked(monkeypatch):
    """How often Panel was asked."""
    times = []
    monkeypatch.setattr(server, "bundle_resources", server.bundle_resources)
    monkeypatch.setattr(resource_bundle, "_known", {})
    panels = resource_bundle.bundle_resources
    monkeypatch.setattr(resource_bundle, "bundle_resources", lambda *given: (times.append(given), panels(*given))[1])
    resource_bundle.install()
    return times


def listed(bundle):
    return [[str(part) for part in getattr(bundle, name)] for name in ("js_files", "js_raw", "css_files", "css_raw")]


def test_it_is_panels_own_and_made_once(asked):
    roots, resources = [pn.pane.HTML("a").get_root()], Resources(mode="server")
    first = server.bundle_resources(roots, resources)
    assert server.bundle_resources([pn.pane.HTML("b").get_root()], resources) is first and len(asked) == 1
    assert listed(first) == listed(panel_internals.bundle_resources(roots, resources))


def test_another_place_has_another_list(asked):
    roots = [pn.pane.HTML("a").get_root()]
    here, there = (
        server.bundle_resources(roots, Resources(mode="server", root_url=url, absolute=True))
        for url in ("http://here/", "http://there/")
    )
    assert listed(here) != listed(there) and len(asked) == 2
