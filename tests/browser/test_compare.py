"""Two settings side by side, and whether a value was luck, in a real browser."""

from tests.browser.test_race import DRAWN, ITERATION, iteration

SHOWN = "JSON.parse(pmdviz.model('race-acknowledge')?.shown ?? '{}').entrants ?? []"
DIFFERENCE = "pmdviz.model('race-difference')?.renderers.find(r => r.glyph.type === 'Line').data_source.data.x.length"
BAND = (
    "pmdviz.model('traces').renderers.filter(r => r.glyph.type === 'VArea' && r.data_source.data.x?.length > 1).length"
)


def test_a_lab_races_against_another_setting_and_asks_for_other_seeds(lab):
    page = lab.page
    page.get_by_label("Budget (data visited)").select_option("5,000")
    lab.type("num_particles", "200")
    lab.wait("pmdviz.words().includes('of 5,000 data')")
    opener = page.get_by_role("button", name="Compare with …", exact=True)
    opener.focus()
    page.keyboard.press("Enter")  # without a mouse, up to the race
    page.get_by_label("What differs").select_option("Bandwidth h")
    page.get_by_text("This run: bandwidth h = 1.").wait_for()
    page.get_by_role("button", name="Compare", exact=True).focus()
    page.keyboard.press("Enter")
    lab.wait(f"{DRAWN} > 0", 60)
    lab.wait(f"{SHOWN}.length === 2", 60)
    shown = page.evaluate(SHOWN)
    assert shown == ["pmd:bandwidth=1.0,num_particles=200", "pmd:bandwidth=2.0,num_particles=200"]
    tab = page.get_by_role("tab", name="Race")
    assert tab.get_attribute("aria-selected") == "true"
    lab.wait("location.search.startsWith('?page=race&race=')")
    lab.press("Play")
    lab.wait(f"{ITERATION} > 60", 60)
    lab.wait(f"{DIFFERENCE} > 3")
    page.locator(".step", has_text="lower with PMD, bandwidth h =").first.wait_for()
    lab.press("Pause")
    assert iteration(lab) > 60
    page.go_back()  # the address of the lab is a place in the browser's history
    page.get_by_role("button", name="Is this luck?", exact=True).wait_for()  # it is seen, and its buttons with it
    stood = lab.paused_at(10)
    page.get_by_label("Other seeds").select_option("8")
    lab.press("Is this luck?")
    cancel = page.get_by_role("button", name="Cancel", exact=True)
    cancel.first.click()
    page.get_by_text("Cancelled: no other seeds.").wait_for()
    assert page.evaluate(BAND) == 0
    lab.press("Is this luck?")
    page.get_by_text("of 8 other seeds").wait_for(timeout=120_000)
    assert page.evaluate(BAND) == 1 and lab.iteration() == stood
    box = lab.knob("bandwidth").locator("visible=true")  # the card has one too
    box.fill("2")
    box.press("Enter")
    page.get_by_text("The settings have changed").wait_for()
    assert page.evaluate(BAND) == 0
