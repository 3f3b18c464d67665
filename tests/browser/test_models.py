"""Models beyond the plane in the Lab: the picture's axes and the words are those of what was chosen."""

import re


def choose(lab, label, title):
    lab.page.get_by_label(label, exact=True).first.select_option(title)


def both_axes(lab, across, up, gap):
    """Choose both, so long after one another, and wait until they are shown."""
    choose(lab, "Horizontal", across)
    lab.page.wait_for_timeout(gap)
    choose(lab, "Vertical", up)
    stage = "pmdviz.model('stage')"
    lab.wait(f"{stage}.below[0].axis_label === '{across}' && {stage}.left[0].axis_label === '{up}'", 60)


def test_logistic_regression_on_digits(open_lab):
    lab = open_lab(viewport={"width": 1366, "height": 625})
    choose(lab, "Target", "Logistic regression")
    lab.wait("pmdviz.words().includes('error of the mean')", 60)
    lab.page.get_by_text("Data and options of the target").click()
    synthetic = lab.view()
    lab.knob("data").select_option("digits")
    lab.wait(f"pmdviz.model('stage').x_range.end < {synthetic[1]}", 60)
    lab.press("Step")
    lab.reach(1)
    assert abs(lab.view()[1]) < 3
    choose(lab, "Picture", "Posterior")
    lab.wait("pmdviz.model('stage').x_range.end > 3", 60)
    for gap in (0, 10, 20, 30, 40):  # ms: the server hears of a choice after 50, and answers the first with a swap
        both_axes(lab, "w₁", "w₂", 0)
        both_axes(lab, "w₂", "w₃", gap)
    lab.settled()


def test_gibbs_on_a_lattice_of_spins(open_lab):
    lab = open_lab(color_scheme="dark")
    choose(lab, "Method", "Gibbs sampling")
    lab.page.get_by_label("Burn-in").first.wait_for()
    choose(lab, "Target", "Ising model (discrete)")
    lab.wait("pmdviz.words().includes('evaluations')", 60)
    lab.press("Play")
    lab.reach(60)
    lab.press("Pause")
    lab.page.get_by_text(re.compile("one sweep · moved")).wait_for()
    assert "data visited" not in lab.words()
    lab.settled()


def test_topics_and_a_document_that_is_chosen(open_lab):
    lab = open_lab()
    choose(lab, "Target", "Topics of a corpus (LDA)")
    lab.wait("pmdviz.words().includes('perplexity')", 60)
    lab.press("Step")
    lab.reach(1)
    choose(lab, "Document", "held-out 3")
    lab.wait("pmdviz.model('stage').below[0].axis_label.endsWith('held-out document 3')", 60)
    lab.page.get_by_label("Vertical").first.wait_for(state="hidden")
    lab.press("Play")
    lab.reach(8)
    lab.press("Pause")
    lab.settled()
