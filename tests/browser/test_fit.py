"""Is this a sample from the target? The card is opened, a sample is refused, another one is tested."""

CARD = "Is this a sample from the target?"


def said(lab, words):
    """Wait until the card says something with these words, and give all that it says."""
    line = lab.page.locator(".pmdviz-fit-said", has_text=words)
    line.wait_for(timeout=120_000)
    return line.inner_text()


def test_a_sample_is_refused_or_tested_and_a_later_moment_is_told_from_it(lab):
    lab.page.get_by_text(CARD).click()
    button = lab.page.get_by_role("button", name="Test this sample", exact=True)
    button.click()
    assert said(lab, "evenly spread").endswith("set New particles to “independent”.")
    lab.page.get_by_label("Method", exact=True).select_option("Stochastic variational inference (Gaussian)")
    lab.wait("/^iteration 0,/.test(pmdviz.words())")
    lab.page.locator(".pmdviz-fit-said").wait_for(state="detached")
    stood = lab.paused_at(20)
    button.click()
    words = said(lab, ", p = ")
    assert words.startswith(f"Iteration {stood:,}: statistic") and "rejected at 5" in words  # two modes
    assert "draws of the fitted density" in lab.page.locator(".pmdviz-fit-note").inner_text()
    lab.press("Step")
    lab.page.locator(".pmdviz-fit-old").wait_for()
    assert "is no longer what is shown" in lab.page.locator(".pmdviz-fit-note").inner_text()
