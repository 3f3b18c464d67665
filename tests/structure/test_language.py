"""The ten rules of plain English as patterns; ceilings may only fall. Run as a module it prints the hits."""

import ast
import json
import re
import sys
import tokenize
from pathlib import Path

ROOT = Path(__file__).parents[2]
STEP = "step|run|row|particle|kernel|second|draw|stage|word|nat|pass|mode|page"
STOCK = "anew|beside|in (the )?place of|for ever|gone on with|next to nothing|shall|on the way|hardly|whereabouts"
VERBS = (
    "is|has|was|as|does|this|adds|asks|begins|becomes|builds|carries|closes|combines|counts|draws|ends|finds|gets|gives|judges"
    "|keeps|leaves|loses|makes|means|measures|moves|multiplies|names|needs|opens|reads|replays|returns|sends|shows|starts"
    "|stores|takes|turns|uses|writes|yields"
)
HEADLESS = (
    r"\b[Ww]hat (is|was|are|were|has|did) \w+(?![^.]*\?)|, of which|\b[Ww]ho[e]ver\b|\b[Nn]obody\b|\b(that|those) of\b"
)
RULES = {
    "stands": r"\b[Ss]tands?\b (in|under|beside|below|above|at|on|there|for|as)\b",  # is, appears
    "knows": r"\b(knows? (nothing )?of|says? so|(is|are) told|asks? for|has been asked)\b",  # depends on, needs
    "headless": HEADLESS,  # the setting that ..., users
    "so that": r", as (it|they|the|q|no|all|what|its|a|most|this) |, so that\b",  # because; so
    "a step": rf"\b(?!(?:{VERBS}) )\w+s an? ({STEP})\b",  # per step
    "is no": r"\b(is|are|was) no (?!longer|more)\w+|; given:",  # is not a valid X: got ..., expected ...
    "stock": rf"\b({STOCK})\b",  # again, next to, instead of, forever, resumed, almost nothing, will, during, barely
    "aphorism": r"(?<=[.?!]) (?!Raises|Returns|None|Source:)[A-Z][^.?!|`]{8,38}\.\s*$",  # say a quantity
    "one": r"\b[Oo]ne (may|can|must|sees|has to|could|would|should|needs)\b|\b(is|are|was) said\b",  # you
    "house": r"\b(datum|luck|brothers?|fat|trembles?|shouts?)\b",  # observation, Monte Carlo noise, siblings, wide
}
PATTERNS = {name: re.compile(pattern, re.M) for name, pattern in RULES.items()}
# Hits of each kind of text, in the order of RULES.
MOST = {
    "docs": (0, 0, 1, 0, 0, 0, 0, 5, 0, 0),
    "lessons": (0, 0, 1, 0, 1, 0, 0, 0, 0, 0),
    "notebooks": (0, 0, 0, 2, 2, 0, 0, 0, 0, 0),
    "code": (0, 0, 1, 1, 2, 0, 2, 31, 0, 2),
    "others": (0, 0, 0, 0, 0, 0, 1, 0, 0, 0),
}
CEILINGS = {kind: dict(zip(RULES, most, strict=True)) for kind, most in MOST.items()}
MEAN_WORDS, MAX_WORDS = 18, 25  # of a sentence of the docs
# Comments and strings of scripts and style sheets, comments of configuration files.
SAID = re.compile(r"/\*(?s:.*?)\*/|(?://|(?<!\S)# )[^\n]*|\"[^\"\n]*\"")
NO_PROSE = re.compile(r"^ *(```+)(?s:.*?)^ *\1$|^( {4}|\||#|<!--|!\[).*$", re.M)


def texts() -> dict[str, dict[str, str]]:
    """Kind of text -> path -> text: of Python its strings and comments, one a paragraph."""
    docs = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    package = [path for path in (ROOT / "pmdviz").rglob("*") if path.suffix in (".md", ".yaml")]
    notebooks = (ROOT / "notebooks").glob("*.ipynb")
    code = [*(ROOT / "pmdviz").rglob("*.py"), ROOT / "docs/conf.py"]
    others = [path for path in (ROOT / "pmdviz").rglob("*") if path.suffix in (".js", ".css")]
    others += [path for name in ("deploy", ".ci", "docs/_static") for path in (ROOT / name).iterdir()]
    others += [ROOT / "pyproject.toml", ROOT / "docs/pages.toml"]
    kinds = {
        "docs": (docs, _read),
        "lessons": (package, _read),
        "notebooks": (notebooks, _cells),
        "code": (code, _words),
        "others": (others, lambda path: "\n\n".join(SAID.findall(_read(path)))),
    }
    return {kind: {str(p.relative_to(ROOT)): read(p) for p in paths} for kind, (paths, read) in kinds.items()}


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def _cells(path: Path) -> str:
    return "\n\n".join("".join(cell["source"]) for cell in json.loads(_read(path))["cells"])


def _words(path: Path) -> str:
    nodes = ast.walk(ast.parse(_read(path)))
    found = [node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    with path.open("rb") as file:
        found += [each.string for each in tokenize.tokenize(file.readline) if each.type == tokenize.COMMENT]
    return "\n\n".join(found)


def hits(pattern: re.Pattern[str], text: str) -> list[str]:
    """What a pattern finds in each paragraph; a line break hides nothing."""
    return [found[0] for part in re.split(r"\n\s*\n", text) for found in pattern.finditer(" ".join(part.split()))]


def counts() -> dict[str, dict[str, int]]:
    found = {}
    for kind, some in texts().items():
        found[kind] = {name: sum(len(hits(p, text)) for text in some.values()) for name, p in PATTERNS.items()}
    return found


def sentences(text: str) -> list[str]:
    """The sentences of a Markdown page, without code, tables and headings."""
    prose = re.sub(r"\]\([^)]*\)", "]", NO_PROSE.sub("\n\n", text))
    parts = re.split(r"\n\s*\n|^\s*(?:-|\d+\.) ", prose, flags=re.M)
    found = [each for part in parts for each in re.split(r"(?<=[.?!])\s+", " ".join(part.split()))]
    return [each for each in found if each]


def test_no_rule_has_more_hits_than_before():
    found = counts()
    more = {
        (kind, name): f"{found[kind][name]} hits, at most {most}"
        for kind, ceilings in CEILINGS.items()
        for name, most in ceilings.items()
        if found[kind][name] > most
    }
    assert not more, f"{more}; see them: python -m tests.structure.test_language {next(iter(more))[1]!r}"
    assert {*found} == {*CEILINGS}


def test_sentences_of_the_docs_are_short():
    found = [(path, each) for path, text in texts()["docs"].items() for each in sentences(text)]
    assert not [(path, each) for path, each in found if len(each.split()) > MAX_WORDS]
    assert sum(len(each.split()) for _, each in found) <= MEAN_WORDS * len(found)


if __name__ == "__main__":
    for kind, some in texts().items():
        for path, text in some.items():
            for name, pattern in PATTERNS.items():
                if not sys.argv[1:] or sys.argv[1] in (name, kind):
                    print(*(f"{path}: {name}: {hit}\n" for hit in hits(pattern, text)), sep="", end="")
    print(*counts().items(), sep="\n")
    for path, text in texts()["docs"].items():
        if found := sentences(text):
            print(round(sum(len(each.split()) for each in found) / len(found), 1), path)
