"""Words that no lecturer in statistics would say stay out of the page, the messages, the docstrings and the docs."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
GENERATED = {"claims.md"}  # quotes labels of a measured file
# What was found in texts of ours, and the field's words for it; whatever has a use of its own is left out.
UNWORDS = {
    r"(cannot|can|not to|could) be had": "unavailable, available",
    r"drawn anew": "redrawn, resampled",
    r"perfect (draws|samples|independent)": "exact samples, iid draws",
    r"(runs|ran|run) away": "diverges",
    r"\bhangs? on\b": "depends on",
    r"(take[ns]?|took) (a run |a race |it |all |one )?home": "export",
    r"drawn by lot": "random placeholders",
    r"so many-th": "every k-th",
    r"\bto foretell|is foretold|are foretold": "predict",
    r"furthest behind|nobody races": "the method that has visited least, no methods yet",
    r"share themselves out": "distribute over",
    r"stands? in where|variances stand in": "is used instead",
    r"such of unequal": "unequally weighted",
    r"ought to know of": "would have to be coordinated",
    r"the run before\b(?! it)": "the previous run",
    r"last picture stays\b(?=\")": "is still shown",
    r"is led to the": "is adapted to",
    r"nobody knows": "unknown",
    r"bit for bit the one": "differs slightly",
}
FILES = [
    *(ROOT / "pmdviz").rglob("*.py"),
    *(ROOT / "pmdviz").rglob("*.js"),
    *(ROOT / "pmdviz").rglob("*.yaml"),
    *(ROOT / "pmdviz").rglob("*.md"),
    *(path for path in DOCS.glob("*.md") if path.name not in GENERATED),
    *(ROOT / "notebooks").glob("*.ipynb"),
    ROOT / "README.md",
]


def found_in(text, pattern):
    """Where the words stand, also over the end of a line."""
    spaced = pattern.replace(" ", r"\s+(?:#\s+)?")
    return [text[max(0, one.start() - 30) : one.end() + 20] for one in re.finditer(spaced, text, re.IGNORECASE)]


@pytest.mark.parametrize("pattern", UNWORDS)
def test_nobody_has_to_guess_what_is_meant(pattern):
    texts = {path: path.read_text(encoding="utf-8") for path in FILES}
    found = {str(path.relative_to(ROOT)): at for path, text in texts.items() if (at := found_in(text, pattern))}
    assert not found, f"say: {UNWORDS[pattern]}"


def test_the_search_sees_words_over_the_end_of_a_line():
    assert found_in("a value that cannot\n    be had", "cannot be had") and not found_in("can behave", "can be had")


def test_every_page_is_listed_by_purpose_once():
    index = (DOCS / "README.md").read_text(encoding="utf-8")
    listed = re.findall(r"^- \[([\w.-]+\.md)\]", index, flags=re.M)
    assert sorted(listed) == sorted(path.name for path in DOCS.glob("*.md") if path.name != "README.md")
    assert re.findall(r"^## (.+)$", index, flags=re.M) == [
        "Tutorials", "How-to", "Explanation", "Reference", "Contributors",
    ]  # fmt: skip


@pytest.mark.parametrize("page", sorted(DOCS.glob("*.md")), ids=lambda page: page.name)
def test_a_page_opens_with_what_the_reader_gets(page):
    title, first, *_ = page.read_text(encoding="utf-8").split("\n\n")
    assert title.startswith("# ") and "\n" not in title
    assert re.match(r"[A-Z*`][^|#]{40,300}[.?:]$", first, re.DOTALL), "one or two sentences, of 300 letters at most"
    assert not re.match(r"(Written|Made) by", first), "how a page is made comes after what it is for"
