"""Inside this step: opened by its key, read, picked from and played, by pointer and by keyboard."""

import pytest

READ_JS = """(() => {
  const root = pmdviz.find(".inside"), text = (part) => part.querySelector(".number").textContent
  const parts = [...root.querySelectorAll(".part")], told = JSON.parse(pmdviz.model_of_inside().told)
  const floats = ({f4}) => new Float32Array(Uint8Array.from(atob(f4), (c) => c.charCodeAt(0)).buffer)
  const row = Number(root.querySelector("input").value), at = floats(told.dots.row).indexOf(row)
  return {row, shown: parts.map(text), keys: parts.map((part) => part.dataset.term),
    names: told.terms.map((t) => t.name), terms: told.terms.map((t) => floats(t.values[0])[at]),
    total: floats(told.total[0])[at],
    weight: Math.max(...floats(told.dots.weight)), mine: floats(told.dots.weight)[at]}
})()"""
MODEL_JS = """pmdviz.model_of_inside = () => {
  const models = Bokeh.documents.flatMap((doc) => [...doc._all_models.values()])
  return models.find((m) => m.data?.told !== undefined && m.data.freezes !== undefined)?.data
}"""


def number(text):
    return float(text.replace("−", "-").replace("+", "").replace("=", "").replace(" ", "").replace(",", ""))


@pytest.mark.nightly
def test_a_step_is_seen_from_the_inside(open_lab):
    lab = open_lab(color_scheme="dark", reduced_motion="reduce")
    page = lab.page
    page.evaluate(MODEL_JS)
    page.keyboard.press("i")
    page.locator(".inside .note", has_text="Press Step or Play").wait_for()
    for expected in (1, 2):
        lab.press("Step")
        lab.wait(f"pmdviz.iteration() === {expected}")
    page.locator(".inside .title", has_text="Iteration 2:").wait_for()

    def read():
        return page.evaluate(READ_JS)

    found = read()  # the heaviest particle, and its numbers are those of the step and add up
    assert found["mine"] == found["weight"] and found["keys"] == ["=", *found["names"]]
    shown = [number(text) for text in found["shown"]]
    places = len(found["shown"][0].rstrip(" =").partition(".")[2])
    for text, value in zip(shown, [found["total"], *found["terms"]], strict=True):
        assert abs(text - value) <= 0.5001 * 10**-places
    assert abs(sum(shown[1:]) - shown[0]) <= 0.5 * len(shown) * 10**-places

    lit = "[...pmdviz.find('.inside').querySelectorAll('.lit')].map((e) => [e.classList[0], e.dataset.term])"
    page.locator('.inside .term[data-term="likelihood"]').hover()
    assert page.evaluate(lit) == [["part", "likelihood"], ["term", "likelihood"]]
    page.locator('.inside .term[data-term="prior"] button').focus()
    assert page.evaluate(lit) == [["part", "prior"], ["term", "prior"]]

    box = page.locator("#inside-particle")  # by keyboard the next lighter one, and back
    box.focus()
    page.keyboard.press("ArrowDown")
    lighter = read()
    assert lighter["row"] != found["row"] and lighter["mine"] <= found["mine"]
    assert number(lighter["shown"][0]) != shown[0] or lighter["mine"] == found["mine"]
    page.keyboard.press("ArrowUp")
    assert read()["row"] == found["row"]

    page.locator('.inside .term[data-term="prior"] canvas').click(position={"x": 60, "y": 75})
    picked = read()["row"]
    assert picked != found["row"]
    page.locator(".pmdviz-stage").scroll_into_view_if_needed()
    stage = page.locator(".pmdviz-stage").bounding_box()
    page.mouse.click(stage["x"] + 0.62 * stage["width"], stage["y"] + 0.38 * stage["height"])
    page.wait_for_function(f"pmdviz.find('#inside-particle').value !== '{picked}'")

    page.get_by_role("button", name="Freeze and play this step").focus()
    page.keyboard.press("Enter")
    seen = set()
    for k in range(1, 5):
        page.get_by_role("button", name=f"Picture {k}", exact=True).focus()
        page.keyboard.press(str(k))
        page.locator(".inside .theatre h4", has_text=f"{k}. ").wait_for()
        seen.add(lab.at_rest("pmdviz.find('.inside .large').toDataURL()", 2))
    assert len(seen) >= 3  # a step that keeps its particles has two alike
    lab.press("Play")
    lab.reach(4)
    page.get_by_role("button", name="Freeze and play this step").click()  # pauses the run
    page.locator(".inside .title", has_text=f"Iteration {lab.at_rest(looks=10):,}:").wait_for()
    page.keyboard.press("i")
    page.locator(".inside").wait_for(state="hidden")
