"""What a served page does when a browser or a presenter asks for it, without a server."""

from types import SimpleNamespace

from pmdviz.engine.recipe import Recipe
from pmdviz.lab.links import Link
from pmdviz.serve import pages as essay
from pmdviz.serve.pages import BARE, lab_page
from pmdviz.serve.server_internals import set_from_browser
from pmdviz.serve.tabs import TabBar


async def test_a_value_from_a_browser_is_set_as_a_patch_of_its_own_connection():
    """Bokeh sends a change to every connection but that one."""
    seen = []

    async def locked(act):
        act()

    session = SimpleNamespace(with_document_locked=locked, _current_patch_connection=None)
    connection = SimpleNamespace(session=session)

    def set_from_json(name, value, setter):
        seen.append((name, value, setter, session._current_patch_connection))

    await set_from_browser(connection, SimpleNamespace(set_from_json=set_from_json), "drawn", 3)
    assert seen == [("drawn", 3, session, connection)]
    assert session._current_patch_connection is None


def test_a_link_opens_the_presenters_page_and_an_embedded_one_links_no_essay(monkeypatch):
    for routed, address in ((False, ""), (True, "essay")):
        monkeypatch.setattr(essay, "_routed", routed)
        assert essay.essay_address() == address
    links = Link(Recipe()), Link(Recipe(), presenter=True), Link(Recipe(), embed=True)
    usual, presented, embedded = pages = [lab_page(link) for link in links]
    assert not BARE.keys() & usual.sx.keys()
    assert BARE.items() <= presented.sx.items() and BARE.items() <= embedded.sx.items()
    linked = [[title for title, _ in bar.links] for page in pages for bar in page.select(TabBar)]
    assert linked == [["Essay"], ["Essay"], []]
