"""The fold that makes a link: what is copied, and its QR code once the browser has said the address."""

from urllib.parse import unquote

import pytest
import segno

from pmdviz.lab.loop.frame_sender import Acknowledge
from pmdviz.lab.panels.sharing import NO_CODE, LinkBuilder, qr_code

ADDRESS = "https://example.org/app?preset=two_modes&start=start"


@pytest.fixture
def builder():
    ack, copied = Acknowledge(), []
    made = LinkBuilder(lambda start, page: copied.append((start, page)), ack)
    made.view.collapsed = False
    made.ack, made.copied = ack, copied
    return made


def press(builder, label):
    (row,) = [one for one in builder.view.objects if hasattr(one, "objects")]
    (button,) = [one for one in row if one.label == label]
    button.param.trigger("clicks")


def test_the_picture_holds_the_modules_of_the_code_and_an_address_that_none_can_hold_is_a_sentence(builder):
    shown = qr_code(ADDRESS)
    picture = unquote(shown.split('src="data:image/svg+xml;charset=utf-8,')[1].split('"')[0])
    assert picture.count("<path") == 2  # light ground and dark modules
    width = segno.make_qr(ADDRESS, error="l").symbol_size(scale=8, border=4)[0]
    assert f"width='{width}'" in picture.replace('"', "'")
    assert qr_code(ADDRESS + "&embed=1") != shown
    press(builder, "Show a QR code")
    builder.ack.update(address="https://example.org/?run=" + "x" * 3000, copied=1)
    assert builder.code.object == NO_CODE
