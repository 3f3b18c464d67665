"""`serve_and_play.py COMMAND`: runs a command that serves the lab, opens it in Chromium, plays, and sees it go live.

The command stays word for word as it is; the browser that it would show is left out by way of the environment.
"""

import os
import signal
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.support.browser import FLAGS, HELPERS_JS, find_chromium  # noqa: E402

PATIENCE_MS = 300_000  # the first picture of a machine compiles the kernels


def address(server: subprocess.Popen) -> str:
    """The address in the server's words."""
    for line in server.stdout:
        print(line, end="", flush=True)
        if "pmdviz is at " in line:
            return line.split("pmdviz is at ")[1].split()[0]
    raise SystemExit(f"the command ended with status {server.wait()} and served nothing")


def play(url: str) -> None:
    """Press Play on recorded frames; they move, and the live run takes over, without a problem in the browser."""
    problems: list[str] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=list(FLAGS))
        page = browser.new_page()
        page.set_default_timeout(PATIENCE_MS)
        page.add_init_script(HELPERS_JS)
        page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.goto(url)
        page.wait_for_function("window.pmdviz && pmdviz.iteration() >= 0 && pmdviz.model('acknowledge')?.drawn > 0")
        before = page.evaluate("pmdviz.picture()")
        page.get_by_role("button", name="Play", exact=True).first.click()
        page.wait_for_function("pmdviz.iteration() >= 20")
        page.wait_for_function("before => pmdviz.picture() !== before", arg=before)
        page.wait_for_function("!pmdviz.model('acknowledge').recorded")  # the live run has taken over
        print(f"played: {page.evaluate('pmdviz.words()')}")
        browser.close()
    if problems:
        raise SystemExit(f"problems in the browser: {problems}")


def main(command: str) -> None:
    """Serve, play, end; whatever the command has started ends with it."""
    environment = {**os.environ, "BROWSER": "true"}  # what `--show` calls with the address
    server = subprocess.Popen(
        ["bash", "-c", command], stdout=subprocess.PIPE, text=True, env=environment, start_new_session=True
    )
    try:
        play(address(server))
    finally:
        os.killpg(server.pid, signal.SIGTERM)
        server.wait(60)


if __name__ == "__main__":
    main(sys.argv[1])
