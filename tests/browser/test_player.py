"""The exported player: opened from a file and inside a frame, with nothing to be had from anywhere."""

import pytest

import pmdviz
from tests.support.browser import HELPERS_JS, painted

FRAMES = 12
NOTED_JS = """(e, part) => {
  const list = window[`${part}Texts`] = []
  new MutationObserver(() => list.push(e.textContent)).observe(e, {childList: true})
}"""
PICTURE_JS = """() => {
  const canvases = pmdviz.canvases(document), small = document.createElement("canvas")
  small.width = small.height = 96
  const g = small.getContext("2d", {willReadFrequently: true})
  for (const c of canvases) if (c.width && c.height) g.drawImage(c, 0, 0, 96, 96)
  return g.getImageData(0, 0, 96, 96).data.join("")
}"""


@pytest.fixture(scope="module")
def player(tmp_path_factory):
    run = pmdviz.run(num_particles=150, budget=100 * (FRAMES - 1))
    return run.export(tmp_path_factory.mktemp("player") / "player.html", fps=30)


@pytest.fixture
def opened(browser, player):
    """A function that opens the player by itself or inside a page with a frame; the web is shut."""
    made, problems, asked = [], [], []

    def refuse(route):
        asked.append(route.request.url)
        route.abort()

    def open_player(framed=False, place=player):
        context = browser.new_context(viewport={"width": 1280, "height": 720})
        made.append(context)
        page = context.new_page()
        page.route(lambda url: not url.startswith(("file:", "data:", "blob:")), refuse)
        page.route_web_socket("**/*", lambda socket: (asked.append(socket.url), socket.close()))
        page.add_init_script(HELPERS_JS)
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("console", lambda said: problems.append(said.text) if said.type == "error" else None)
        if framed:
            slides = place.with_name("slides.html")
            inner = f'<iframe src="{place.name}" sandbox="allow-scripts" width="1100" height="640"></iframe>'
            slides.write_text(f"<!doctype html><body>{inner}", encoding="utf-8")
            place = slides
        page.goto(place.as_uri())
        frame = page.frames[-1] if framed else page.main_frame
        frame.wait_for_function("document.getElementById('shown')?.textContent.startsWith('1 of')")
        return page, frame

    yield open_player
    for context in made:
        context.close()
    assert problems == [] and asked == []


def scrub(frame, k):
    """Move the slider to frame k, as a hand does, and wait for the picture."""
    put = "(slider, k) => { slider.value = k; slider.dispatchEvent(new Event('input')) }"
    frame.locator("#frame").evaluate(put, k)
    painted(frame)


def words(frame):
    return frame.locator(".pmdviz-status").inner_text()


def test_scrubbing_changes_the_picture_and_play_shows_every_frame_to_the_end(opened):
    _, frame = opened(framed=True)
    assert words(frame).startswith("iteration 0, 0 of 1,100 observations used, TV")
    seen = {}
    for k in (0, 6, FRAMES - 1, 0):
        scrub(frame, k)
        picture = frame.evaluate(PICTURE_JS)
        assert seen.setdefault(k, picture) == picture
        assert words(frame).startswith(f"iteration {k}, ")
    assert len(set(seen.values())) == 3
    # Every text that these ever have: a film of a third of a second is over before anybody looks.
    for part in ("shown", "play"):
        frame.locator(f"#{part}").evaluate(NOTED_JS, part)
    button = frame.get_by_role("button", name="Play", exact=True)
    button.click()
    frame.wait_for_function("playTexts.length === 2")
    assert frame.evaluate("playTexts") == ["Pause", "Play"]
    assert frame.evaluate("shownTexts") == [f"{k} of {FRAMES}" for k in range(2, FRAMES + 1)]
    button.click()  # and again from the beginning
    frame.wait_for_function("shownTexts.includes('1 of 12')")


@pytest.mark.ci
def test_keys_and_the_square_stage(opened, player):
    slow = player.with_name("slow.html")  # it is still playing when it is paused
    slow.write_text(player.read_text(encoding="utf-8").replace('"fps":30', '"fps":0.01'), encoding="utf-8")
    page, frame = opened(place=slow)
    for key, k in [("ArrowRight", 1), ("ArrowRight", 2), ("ArrowLeft", 1)]:
        page.keyboard.press(key)
        assert words(frame).startswith(f"iteration {k}, ")
    page.keyboard.press(" ")
    frame.get_by_role("button", name="Pause").wait_for()
    page.keyboard.press(" ")
    frame.get_by_role("button", name="Play", exact=True).wait_for()
    for width, height in ((1280, 720), (390, 844)):
        page.set_viewport_size({"width": width, "height": height})
        frame.wait_for_function("document.documentElement.scrollWidth <= innerWidth")
        square = "([x, y, w, h]) => Math.abs(w - h) <= 1 && w > 240"
        frame.wait_for_function(f"({square})(document.getElementById('stage').pmdviz.box)")


@pytest.mark.ci
def test_a_race_in_a_frame(opened, tmp_path):
    race = pmdviz.race(["pmd:num_particles=100", "smc:num_particles=80,batch_size=100"], budget=1_000)
    page, frame = opened(True, place=race.export(tmp_path / "race.html", fps=30))
    ends = "Array.from(document.getElementById('traces').pmdviz.picture.marks.fronts.columns.x, Math.round)"
    seen = {}
    for k, visited in ((0, [0, 0]), (4, [400, 400]), (10, [1000, 1000]), (0, [0, 0])):
        scrub(frame, k)
        picture = frame.evaluate(PICTURE_JS)
        assert seen.setdefault(k, picture) == picture and frame.evaluate(ends) == visited
    assert len(set(seen.values())) == 3
    frame.get_by_role("button", name="Play", exact=True).click()
    frame.wait_for_function("document.getElementById('shown').textContent === '11 of 11'")
    frame.get_by_role("button", name="Play", exact=True).wait_for()
    painted(frame)
    assert words(frame).startswith("iteration 20, 1,000 of 1,000 observations each, leading: ")
    assert frame.evaluate(PICTURE_JS) == seen[10]
    frame.get_by_text("Inside this step (key I)").click()
    scrub(frame, 4)
    inside = frame.locator("#inside")
    inside.locator(".term", has_text="log p").first.wait_for()
    inside.get_by_label("Step of").select_option(index=1)
    inside.locator(".title", has_text="Iteration 4:").wait_for()
    scrub(frame, 0)
    inside.locator(".note", has_text="Press Step or Play").wait_for()
    page.set_viewport_size({"width": 390, "height": 844})
    assert frame.evaluate("document.documentElement.scrollWidth <= innerWidth")
