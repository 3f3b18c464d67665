"""A browser page without a server, and what axe-core says of it."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

BAD = {"serious", "critical"}
# axe reads style sheets again, which a page on the disk may not; what they give is in the computed styles.
OPTIONS = {"preload": False}


@contextmanager
def watched_page(browser: Any) -> Iterator[tuple[Any, list[str]]]:
    """A page, and the addresses that it asks for, as they come."""
    context = browser.new_context()
    page, asked = context.new_page(), []
    page.on("request", lambda request: asked.append(request.url))
    try:
        yield page, asked
    finally:
        context.close()


def serious(page: Any) -> list[tuple[str, str]]:
    """What axe-core finds serious or critical: its rule, and the first element."""
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page, options=OPTIONS).response["violations"]
    return [(each["id"], each["nodes"][0]["html"][:200]) for each in found if each["impact"] in BAD]
