"""Live pages in a browser: opened from files, with everything that goes wrong on them."""

import re

from playwright.sync_api import expect

LIMIT_MS = 60_000


def opened(browser, file, fragment="", **more):
    page, trouble = browser.new_page(**more), []
    page.on("pageerror", lambda error: trouble.append(str(error)))
    page.on("console", lambda message: message.type == "error" and trouble.append(message.text))
    page.on("dialog", lambda dialog: trouble.append(dialog.message))
    own = ("file:", "blob:", "data:")
    page.on("request", lambda request: request.url.startswith(own) or trouble.append(request.url))
    page.goto(f"file://{file}{fragment}")
    return page, trouble


def begun(frame):
    """Wait for the first frame of a page, or of a frame in a page."""
    expect(frame.locator(".pmdviz-status")).to_contain_text("iteration 0", timeout=LIMIT_MS)


def played(frame):
    """Press Play, and wait until something has moved."""
    frame.get_by_role("button", name="Play").click()
    expect(frame.locator(".pmdviz-status")).to_contain_text(re.compile("iteration [1-9]"), timeout=LIMIT_MS)
