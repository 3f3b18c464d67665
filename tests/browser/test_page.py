"""The page itself: sizes, zoom, tabs, themes, what one takes home, what the server does when nobody looks."""

from tests.browser.conftest import STILL_JS

PHONE = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True}


INNER = "(() => { const s = pmdviz.model('stage'); return [s.inner_width, s.inner_height] })()"


def inner(lab):
    return lab.page.evaluate(INNER)


def test_zoom_stays_through_100_frames_a_knob_change_and_a_restart(lab):
    lab.endless()
    (middle,) = lab.boxes(".pmdviz-stage")
    lab.page.mouse.move(middle["x"] + middle["width"] * 0.6, middle["y"] + middle["height"] * 0.4)
    before = lab.view()
    lab.page.mouse.wheel(0, -300)
    lab.wait(f"pmdviz.model('stage').x_range.start !== {before[0]}")
    lab.at_rest("pmdviz.model('stage').x_range.end")
    zoomed = lab.view()
    lab.press("Play")
    lab.reach(50)
    lab.type("bandwidth", "0.5")
    lab.reach(100)
    assert lab.view() == zoomed
    lab.press("Pause")
    lab.press("Restart")
    lab.wait("pmdviz.iteration() === 0")
    assert lab.view() == zoomed
    lab.press("Fit posterior")
    for end, value in zip(("x_range.start", "x_range.end", "y_range.start", "y_range.end"), before, strict=True):
        lab.wait(f"pmdviz.model('stage').{end} === {value}")
    assert lab.view() == before


def test_everything_is_visible_on_a_laptop(lab):
    parts = lab.boxes(".pmdviz-stage", ".pmdviz-traces", ".pmdviz-transport", ".pmdviz-status")
    stage, traces, *_ = parts
    assert abs(stage["width"] - stage["height"]) < 1
    assert stage["width"] >= 500
    assert traces["left"] >= stage["right"]
    assert all(part["bottom"] <= 900 and part["right"] <= 1440 for part in parts), parts
    width, height = inner(lab)
    assert abs(width - height) <= 1


def test_resizing_keeps_equal_aspect_and_the_run(lab):
    stood = lab.paused_at(3)
    for size in [(1920, 1080), (1024, 768), (720, 450), (2880, 1800), (844, 390), (1266, 860)]:
        lab.page.set_viewport_size({"width": size[0], "height": size[1]})
        lab.page.wait_for_timeout(400)
        lab.at_rest(INNER)
        width, height = inner(lab)
        assert abs(width - height) <= 1 and width > 200, size
        assert lab.iteration() == stood
        assert lab.page.evaluate("document.documentElement.scrollWidth") <= size[0]


def test_phone(open_lab):
    lab = open_lab(**PHONE)
    lab.at_rest(INNER)
    stage, transport = lab.boxes(".pmdviz-stage", ".pmdviz-transport")
    assert stage["width"] >= 350 and abs(stage["width"] - stage["height"]) < 1
    assert stage["left"] >= 0 and stage["right"] <= 390
    assert transport["bottom"] <= 844 and transport["top"] > 600
    assert lab.page.evaluate("document.documentElement.scrollWidth") <= 390
    width, height = inner(lab)
    assert abs(width - height) <= 1
    lab.press("Play")
    lab.reach(3)


def test_two_tabs_are_two_runs(open_lab):
    one, two = open_lab(), open_lab()
    one.paused_at(6)
    assert two.iteration() == 0
    two.type("bandwidth", "2")
    two.wait("JSON.parse(pmdviz.model('acknowledge').shown).bandwidth === 2")
    assert one.knob("bandwidth").input_value() == "1"


def test_figures_follow_the_theme_and_lines_keep_their_dashes(lab):
    style = "(() => { const s = pmdviz.model('stage'); return [s.background_fill_color, s.select_one?.name] })()"
    light = lab.page.evaluate(style)
    lab.page.get_by_label("Toggle theme").click()
    lab.wait("pmdviz.model('stage').background_fill_color !== '#ffffff'")
    assert lab.page.evaluate(style) != light


def test_copy_python_says_so_and_is_on_the_clipboard(open_lab):
    lab = open_lab(permissions=["clipboard-read", "clipboard-write"])
    lab.press("Step")
    lab.reach(1)
    lab.press("Copy Python")
    lab.page.get_by_text("Copied to the clipboard").wait_for()
    text = lab.page.evaluate("navigator.clipboard.readText()")
    assert text.startswith("import pmdviz") and "budget=100," in text and "run = pmdviz.run(recipe)" in text


def test_png_and_csv_are_downloaded(lab, tmp_path):
    lab.paused_at(10)
    with lab.page.expect_download() as saved:
        lab.press("Save PNG")
    saved.value.save_as(tmp_path / "stage.png")
    assert (tmp_path / "stage.png").read_bytes().startswith(b"\x89PNG")
    with lab.page.expect_download() as saved:
        lab.page.get_by_text("Download CSV").click()
    saved.value.save_as(tmp_path / "history.csv")
    lines = (tmp_path / "history.csv").read_text().splitlines()
    assert lines[0].startswith("# iteration: iterations; visited: data points")
    assert lines[1].split(",")[:3] == ["iteration", "visited", "tv"]
    assert len(lines) >= 5


def test_layers_can_be_hidden(lab):
    lab.page.get_by_label("particles", exact=True).uncheck()
    lab.wait("pmdviz.model('particles')?.visible === false")


def test_traces_of_other_quantities(lab):
    lab.paused_at(10)
    lab.page.get_by_label("Traces", exact=True).select_option("ESS and ancestors")
    lab.wait("pmdviz.model('traces').left[0].axis_label === 'ESS, ancestors (particles)'")
    lab.page.get_by_label("Against", exact=True).select_option("iteration")
    lab.wait("pmdviz.model('traces').below[0].axis_label === 'iteration'")
    over = "r => r.level === 'overlay'"
    lab.wait(f"pmdviz.model('traces').renderers.filter({over}).every(r => Bokeh.index.find_one(r).needs_clip)")
    lab.page.get_by_label("Traces", exact=True).select_option("Data and predictions")
    lab.wait("pmdviz.model('data')?.renderers.some(r => r.level === 'overlay')")
    lab.wait("Bokeh.index.find_one(pmdviz.model('data'))?.bbox.width > 100")  # drawn, where the traces were
    lab.wait("!Bokeh.index.find_one(pmdviz.model('traces')).el.checkVisibility()")


def test_nothing_moves_while_playing(lab):
    """Once the floor is known: while it is computed for the first time, the pictures were seen to be laid out anew."""
    lab.wait("/exact samples \\d/.test(pmdviz.words())", 120)
    lab.wait("Bokeh.documents[0].is_idle")
    lab.page.evaluate(STILL_JS)
    lab.page.evaluate(
        """() => { window.shift = 0; new PerformanceObserver(list => {
        for (const e of list.getEntries()) window.shift += e.value }).observe({type: "layout-shift"}) }"""
    )
    lab.press("Play")
    lab.reach(60)
    assert lab.page.evaluate("window.shift") == 0


def test_a_resize_before_a_figure_has_a_layout_is_no_error(lab):
    """What happens now and then while a page is being filled, done on purpose."""
    words = lab.page.evaluate(
        """() => {
        const figure = pmdviz.model("stage"), view = Bokeh.index.find_one(figure), layout = view.layout
        view.layout = undefined
        try { view.measure_layout(); view.after_layout(); return "" }
        catch (error) { return String(error) }
        finally { view.layout = layout; view.invalidate_layout() } }"""
    )
    assert words == ""
    before = lab.picture()
    lab.paused_at(3)
    assert lab.picture() != before
