"""The essay beside the app: sent packed or as it is, and linked only where it is served."""

import gzip

from pmdviz.essay.build import page
from pmdviz.serve import pages as essay
from tests.serve.answers import answers


def test_a_browser_that_unpacks_gets_it_packed():
    (whole,) = answers(essay.essay_routes(), "/essay", decompress_response=False)
    asked = {"Accept-Encoding": "gzip, deflate"}
    (packed,) = answers(essay.essay_routes(), "/essay", decompress_response=False, headers=asked)
    assert whole.code == packed.code == 200 and "Content-Encoding" not in whole.headers
    assert packed.headers["Content-Encoding"] == "gzip" and packed.headers["Vary"] == "Accept-Encoding"
    assert whole.body.decode() == gzip.decompress(packed.body).decode() == page(served=True)
    assert len(packed.body) < 200_000
