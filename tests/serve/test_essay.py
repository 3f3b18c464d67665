"""The essay beside the app: sent packed or as it is, and linked only where it is served."""

import gzip

from pmdviz.essay.build import page
from pmdviz.lab.links import Link
from pmdviz.lab.panels.heading import Heading
from pmdviz.serve import essay
from pmdviz.serve.pages import lab_page
from tests.serve.answers import answers
from tests.support.tables import looped


def test_a_browser_that_unpacks_gets_it_packed():
    (whole,) = answers(essay.essay_routes(), "/essay", decompress_response=False)
    asked = {"Accept-Encoding": "gzip, deflate"}
    (packed,) = answers(essay.essay_routes(), "/essay", decompress_response=False, headers=asked)
    assert whole.code == packed.code == 200 and "Content-Encoding" not in whole.headers
    assert packed.headers["Content-Encoding"] == "gzip" and packed.headers["Vary"] == "Accept-Encoding"
    assert whole.body.decode() == gzip.decompress(packed.body).decode() == page(served=True)
    assert len(packed.body) < 200_000


@looped(
    "routed, link, address",
    [(False, Link(), ""), (True, Link(), "essay"), (True, Link(embed=True), "")],
)
def test_the_heading_links_it_where_it_is_served(monkeypatch, routed, link, address):
    monkeypatch.setattr(essay, "_routed", routed)
    assert [heading.essay for heading in lab_page(link).select(Heading)] == [address]
