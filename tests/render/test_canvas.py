"""The canvas renderer in Chromium: marks, ranges, ticks and colours as in matplotlib; it is sharp, and dots move."""

import numpy as np
import pytest
from matplotlib.colors import to_hex

import pmdviz
from pmdviz.export.figure import FigureLayout, PicturePanel
from pmdviz.export.films import Film, stage_of, traces_of
from pmdviz.export.options import Look
from pmdviz.pictures import Axis, Mark, Picture
from pmdviz.render import canvas_script, changes, picture_json

pytestmark = pytest.mark.ci

SEEN = (  # a target, a method, a scene, and the traces
    ("mixture", "pmd", "posterior", "tv"), ("mixture", "gibbs", "difference", "kl"),
    ("banana", "svgd", "marginals", "tv"), ("bimodal1d", "pmd", "posterior", "tv"),
    ("logistic", "pmd", "decision_lines", "mean_error"),
    ("ising", "gibbs", "lattice", "none"), ("categorical", "gibbs", "value_bars", "none"),
    ("gaussian", "sgld", "posterior", "none"), ("binary_net", "ais", "weight_signs", "none"),
)  # fmt: skip
PAGE = """<!doctype html><style>body { margin: 0 } canvas { display: block; width: 480px; height: 480px }</style>
<canvas></canvas>"""

# Of each mark its places as shares of the axes, and how many of 60 of them have its colour within 2 px.
READ_JS = """
([picture, theme]) => {
  const canvas = document.querySelector("canvas"), ink = canvas.getContext("2d"), ratio = devicePixelRatio
  const {box: [left, top, w, h], X, Y, colour} = pmdvizDraw(canvas, picture, {theme})
  const share = (xs, ys) => xs.map((x, k) => (
    x === null || ys[k] === null ? [null, null] : [(X(x) - left) / w, 1 - (Y(ys[k]) - top) / h]
  ))
  const near = (rgb, data) => Array.from({length: data.length / 4}, (_, k) => 4 * k).some((at) => (
    rgb.every((part, c) => Math.abs(part - data[at + c]) < 48)
  ))
  const hits = (places, role) => {
    const rgb = [1, 3, 5].map((k) => parseInt(colour(role).slice(k, k + 2), 16))
    const seen = places.filter((place) => place.every((at) => at > 0.01 && at < 0.99))
    const tried = seen.filter((_, k) => k % (Math.ceil(seen.length / 60) || 1) === 0)
    const good = tried.filter(([x, y]) => {
      const corner = [left + w * x - 2, top + h * (1 - y) - 2].map((at) => Math.round(at * ratio))
      return near(rgb, ink.getImageData(...corner, 5 * ratio, 5 * ratio).data)
    })
    return tried.length ? good.length / tried.length : 1
  }
  const marks = Object.entries(picture.marks).map(([key, {kind, role, columns, look}]) => {
    const [x, y] = [columns[look.x ?? "x"], columns[look.y ?? "y"]]
    if (!["line", "dots", "signs"].includes(kind) || look.edge || !x) return [key, {kind, colour: colour(role)}]
    const places = share(x, y)
    return [key, {kind, colour: colour(role), places, hits: hits(places, role)}]
  })
  return Object.fromEntries(marks)
}
"""


@pytest.fixture(scope="module")
def drawn():
    found = {}
    for target, method, scene, traces in SEEN:
        run = pmdviz.run(target=target, method=method, seed=1, budget=600, floor=False)
        film = Film(run, Look.checked({"scene": scene, "traces": traces}), all_floors=False)
        last = film.last_scene()
        found[f"{scene} of {method} on {target}"] = stage_of(film, last)
        if traces != "none":
            found[f"{traces} of {method} on {target}"] = traces_of(film, last, last)
    assert len(found) >= 12
    return found


@pytest.fixture
def page(browser):
    context = browser.new_context(viewport={"width": 600, "height": 1000}, device_scale_factor=2)
    made, problems = context.new_page(), []
    made.on("pageerror", lambda error: problems.append(str(error)))
    made.set_content(f"{PAGE}<script>{canvas_script()}</script>")
    yield made
    context.close()
    assert problems == []


def artists(picture, theme):
    """The same picture by matplotlib: its axes, and its artists by their keys."""
    paper = FigureLayout(Look.checked({"theme": theme, "traces": "none"}))
    panel = PicturePanel(paper, paper.layout(1)[0], lambda scene: picture, None)
    panel.show(None)
    return panel.axes, panel.artists


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_marks_ranges_ticks_and_colours_are_those_of_matplotlib(drawn, page, theme):
    for name, picture in drawn.items():
        told = picture_json(picture)
        axes, made = artists(picture, theme)
        for axis, limits, ticks in (
            (told["x"], axes.get_xlim(), axes.xaxis.get_major_locator()()),
            (told["y"], axes.get_ylim(), axes.yaxis.get_major_locator()()),
        ):
            assert (axis["low"], axis["high"]) == pytest.approx(limits), name
            assert {*np.round(ticks, 9)} <= {*np.round(axis["ticks"], 9)}, name
        words = axes.yaxis.get_major_formatter()
        assert [words(tick) for tick in told["y"]["ticks"]] == told["y"]["words"]
        found = page.evaluate(READ_JS, [told, theme])
        for key, one in ((key, one) for key, one in found.items() if "places" in one):
            artist = made[key]
            if one["kind"] == "signs":
                continue
            if one["kind"] == "line":
                assert one["colour"].lower() == to_hex(artist.get_color()), (name, key)
            points = np.column_stack(artist.get_data()) if one["kind"] == "line" else artist.get_offsets()
            expected = axes.transAxes.inverted().transform(axes.transData.transform(np.asarray(points, float)))
            places = np.array(one["places"], float).reshape(-1, 2)
            gaps = np.isnan(places).any(axis=1)
            np.testing.assert_allclose(places[~gaps], expected[~gaps], atol=1e-6, err_msg=f"{name}: {key}")
        top = [key for key in found if found[key].get("places")][-1:]
        assert all(found[key]["hits"] > 0.5 for key in top), (name, top, found[top[0]]["hits"])


def test_a_picture_is_sharp_and_moving_a_dot_moves_no_layout(page):
    columns = {"x": (0.25, 0.75), "y": (0.5, 0.5), "size": (9.0, 9.0)}
    dots = {name: np.array(values) for name, values in columns.items()}
    swapped = {**dots, "x": dots["x"][::-1]}  # the same two dots in another order
    moved = {**dots, "x": dots["x"] + 0.2}
    pictures = [
        picture_json(Picture(Axis("x", 0, 1), Axis("y", 0, 1), {"dots": Mark("dots", "exact", each)}, {}))
        for each in (dots, swapped, moved)
    ]
    pictures[1]["marks"]["dots"]["columns"]["origin"] = [1, 0]

    def draw(picture, **more):
        return page.evaluate(
            "([picture, more]) => { const canvas = document.querySelector('canvas'); "
            "pmdvizDraw(canvas, picture, more); return canvas.toDataURL() }",
            [picture, more],
        )

    first = draw(pictures[0])
    widths = page.evaluate("(({clientWidth, width}) => [clientWidth, width])(document.querySelector('canvas'))")
    assert widths == [480, 960]
    assert draw(pictures[1]) == first and draw(pictures[2]) != first
    assert draw(pictures[1], previous=pictures[0], t=0.5) == first, "a dot comes from the row that `origin` has"
    way = [draw(pictures[2], previous=pictures[0], t=t) for t in (0, 0.5, 1)]
    assert way[0] == first and way[2] == draw(pictures[2]) and len({*way}) == 3
    assert page.evaluate("document.querySelector('canvas').getBoundingClientRect().height") == 480


def test_hover_zoom_and_tap(page):
    dots = {"x": np.array([0.5]), "y": np.array([0.5]), "size": np.array([9.0]), "weight": np.array([0.25])}
    hover = {"θ": "{x:.3f}", "weight": "{weight:.6f}", "of": "{size:,}"}
    picture = picture_json(
        Picture(Axis("x", 0, 1), Axis("y", 0, 1), {"dots": Mark("dots", "exact", dots, hover=hover)}, {})
    )
    page.evaluate(
        "(picture) => { const c = document.querySelector('canvas'); pmdvizDraw(c, picture); window.taps = []; "
        "pmdvizWatch(c, {zoom: 'both', tap: (x, y, per) => taps.push([x, y, per.x])}) }",
        picture,
    )
    left, top, width, height = page.evaluate("document.querySelector('canvas').pmdviz.box")
    x, y = left + width / 2, top + height / 2
    page.mouse.move(x + 2, y)
    tip = page.locator(".pmdviz-tip")
    assert tip.inner_text() == "θ: 0.500\nweight: 0.250000\nof: 9"
    page.mouse.click(x, y)
    (tapped,) = page.evaluate("taps")
    assert tapped == pytest.approx([0.5, 0.5, width], abs=1e-6)
    page.mouse.move(x + 60, y + 60)
    assert not tip.is_visible()
    page.mouse.wheel(0, -100)
    page.wait_for_function(
        "Math.abs(document.querySelector('canvas').pmdviz.X(1) - document.querySelector('canvas').pmdviz.X(0)) > 400"
    )
    page.mouse.down()
    page.mouse.move(x + 30, y + 60, steps=4)
    page.mouse.up()
    assert len(page.evaluate("taps")) == 1, "a drag is no tap"
    page.mouse.dblclick(x, y)
    assert page.evaluate("document.querySelector('canvas').pmdviz.X(1)") == pytest.approx(left + width)


def test_numbers_of_an_axis_with_other_units_keep_them_where_the_reader_has_zoomed(page):
    x = Axis("height", -2, 2, origin=170.0, unit=10.0)
    picture = picture_json(Picture(x, Axis("y", 0, 1), {}, {}))
    assert [picture["x"][name] for name in ("low", "high", "origin", "unit")] == [-2, 2, 170, 10]
    assert not {"origin", "unit"} & {*picture["y"]}
    page.evaluate(
        "(picture) => { const pen = CanvasRenderingContext2D.prototype, write = pen.fillText; window.written = {}; "
        "pen.fillText = function (words, x, ...rest) { written[words] = x; write.call(this, words, x, ...rest) }; "
        "const c = document.querySelector('canvas'); pmdvizDraw(c, picture); pmdvizWatch(c, {zoom: 'both'}) }",
        picture,
    )
    left, top, width, height = page.evaluate("document.querySelector('canvas').pmdviz.box")
    page.evaluate("window.written = {}")
    page.mouse.move(left + width / 2, top + height / 2)
    page.mouse.wheel(0, -100)
    page.wait_for_function("'170' in written")
    written = page.evaluate("written")
    numbers = {float(words): at for words, at in written.items() if words.isdecimal() and int(words) > 100}
    assert len(numbers) > 2 and all(150 < number < 190 for number in numbers)
    for number, at in numbers.items():
        place = page.evaluate("(x) => document.querySelector('canvas').pmdviz.X(x)", (number - 170) / 10)
        assert at == pytest.approx(place)


def test_changes_are_what_a_frame_has_in_place_of_another(page):
    old = {"marks": {"a": {"columns": {"x": [1, 2]}, "look": {}}, "b": {"kind": "dots"}}, "note": "", "x": {"low": 0}}
    marks = {"a": {"columns": {"x": [1, 3]}, "look": {}}, "c": {"kind": "line"}}
    new = {"marks": marks, "note": "new", "x": {"low": 0}}
    change = changes(new, old)
    assert change == {"marks": {"a": {"columns": {"x": [1, 3]}}, "b": None, "c": {"kind": "line"}}, "note": "new"}
    assert page.evaluate("([old, change]) => pmdvizMerged(old, change)", [old, change]) == new
