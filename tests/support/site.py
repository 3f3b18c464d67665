"""The settings of the docs site; a browser page without a server, and what axe-core says of it."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from types import ModuleType
from typing import Any

from tests.support.pages import DOCS


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

    # axe reads style sheets again, which a page on the disk may not; what they give is in the computed styles.
    found = Axe().run(page, options={"preload": False}).response["violations"]
    bad = {"serious", "critical"}
    return [(each["id"], each["nodes"][0]["html"][:200]) for each in found if each["impact"] in bad]


@cache
def settings() -> ModuleType:
    spec = spec_from_file_location("docs_settings", DOCS / "conf.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
