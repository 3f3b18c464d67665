"""A built docs site beside the app: served as it lies there, and refused in a sentence where none is."""

import pytest

from pmdviz.cli.tools import MARKER
from pmdviz.errors import InputError
from pmdviz.serve import pages as docs_pages
from tests.serve.answers import answers


@pytest.fixture
def built(tmp_path, monkeypatch):
    monkeypatch.setenv(docs_pages.FOLDER, str(tmp_path / "site"))
    files = {MARKER: "", "index.html": "first", "api/pmdviz.run.html": "a run", "../secret.txt": "not theirs"}
    for name, text in files.items():
        path = tmp_path / "site" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "site"


def test_it_is_served_under_its_address_and_nothing_above_it(built, monkeypatch):
    paths = "/docs", "/docs/", "/docs/api/pmdviz.run.html", "/docs/none.html", "/docs/..%2Fsecret.txt"
    found = [(one.code, one.body.decode()) for one in answers(docs_pages.docs_routes(), *paths)]
    whole, first, page, none, above = found
    assert whole == first == (200, "first") and page == (200, "a run")
    assert none[0] == 404 and above[0] in (403, 404) and "theirs" not in above[1]
    monkeypatch.delenv(docs_pages.FOLDER, raising=False)
    docs_pages.offer_docs(None)
    assert docs_pages.docs_routes() == []


@pytest.mark.parametrize("missing", [MARKER, "index.html"])
def test_a_folder_without_a_site_is_refused(missing, built):
    (built / missing).unlink()
    with pytest.raises(InputError, match="pmdviz docs FOLDER"):
        docs_pages.offer_docs(str(built))
