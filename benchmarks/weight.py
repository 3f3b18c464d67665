"""How large the project is: code, tests, docs, scripts, import circles, loose types, controls on the Lab."""

from __future__ import annotations

import argparse
import ast
import io
import json
import math
import re
import subprocess
import sys
import tempfile
import tokenize
from argparse import Namespace
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
COLUMNS = 120  # of a line of formatted code
DEFINITIONS = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
NO_CODE = {*(tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)}
EMBEDDED = re.compile(r"</?[a-z][\w-]*(\s[^<>]*)?>|=>|\bfunction\s*\(|document\.|\{\s*[a-z-]+:[^{}]*;")
SCREENS = ((1440, 900), (1366, 625), (390, 844))


class Row(NamedTuple):
    """A figure: its name in the JSON, what it is, its value at fdf68e4, and the most that it may be."""

    key: str
    words: str
    before: int
    ceiling: int | None


ROWS = (
    Row("code_lines", "package, code lines", 48_630, 32_000),
    Row("modules", "package, modules", 674, 200),
    Row("test_lines", "tests, lines", 52_003, 26_000),
    Row("test_items", "tests, items by the README's command", 22_546, 4_000),
    Row("benchmark_lines", "benchmarks, lines", 11_750, 5_000),
    Row("doc_words", "docs, words", 149_115, 45_000),
    Row("doc_pages", "docs, pages (the README is one)", 50, 45),
    Row("script_files", "CSS and JS, files", 97, 25),
    Row("script_lines", "CSS and JS, lines", 3_730, 3_500),
    Row("circles", "import circles", 5, 0),
    Row("sibling_imports", "imports against acyclic siblings", 70, 0),
    Row("loose_types", "Any, object, cast, type: ignore in annotations", 1_501, 500),
    Row("any_words", "Any, every mention", 1_718, None),
    Row("controls_1440", "controls in view on the Lab at 1440x900", 74, 24),
    Row("controls_1366", "controls in view on the Lab at 1366x625", 50, 22),
    Row("controls_390", "controls in view on the Lab at 390x844", 29, 14),
    Row("beside_1440", "window that is not the Lab's stage at 1440x900, %", 86, 70),
    Row("beside_1366", "window that is not the Lab's stage at 1366x625, %", 92, 70),
    Row("beside_390", "window that is not the Lab's stage at 390x844, %", 62, 70),
    Row("statements", "package, statements", 45_220, None),
    Row("data_bytes", "package, bytes of other files than code", 594_903, None),
    Row("embedded_bytes", "package, bytes of scripts or markup in strings", 6_888, None),
    Row("docstring_words", "package, words of docstrings", 102_664, None),
    Row("generated_words", "docs, words of the tables that the site adds", 96_288, None),
)


def run(options: Namespace) -> dict[str, int]:
    """The figures by their keys; those of the page, which need a browser, where `options.page` is true."""
    with tempfile.TemporaryDirectory() as folder:
        package = Counter[str]()
        for source in formatted("pmdviz", Path(folder)):
            package.update(code_figures(source))
        tests, benches = (len("".join(formatted(name, Path(folder))).splitlines()) for name in ("tests", "benchmarks"))
    figures = {**package, "test_lines": tests, "test_items": test_items(), "benchmark_lines": benches}
    figures |= {**doc_figures(), **file_figures(), **import_figures()}
    return {**figures, **page_figures()} if getattr(options, "page", False) else figures


def tracked(folder: str, *suffixes: str) -> list[Path]:
    """The files of a folder that git tracks, or would track once they are added."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", folder]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\0")
    paths = [ROOT / name for name in listed if name]
    return [path for path in paths if path.is_file() and (not suffixes or path.suffix in suffixes)]


def formatted(folder: str, place: Path) -> Iterator[str]:
    """The sources of a folder as ruff formats them with lines of at most 120 columns, whatever its settings say."""
    for path in tracked(folder, ".py"):
        copy = place / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(path.read_text(encoding="utf-8"), encoding="utf-8")
    ruff = [sys.executable, "-m", "ruff", "format", "--isolated", "--quiet", "--no-cache"]
    subprocess.run([*ruff, f"--line-length={COLUMNS}", "--target-version=py311", str(place / folder)], check=True)
    for path in sorted((place / folder).rglob("*.py")):
        yield path.read_text(encoding="utf-8")


def code_figures(source: str) -> dict[str, int]:
    """The figures of one module."""
    nodes = list(ast.walk(ast.parse(source)))
    docstrings = [found for node in nodes if isinstance(node, DEFINITIONS) and (found := docstring(node))]
    strings = [node.value for node in nodes if isinstance(node, ast.Constant) and node not in docstrings]
    typed = [kind for node in nodes for name in ("annotation", "returns") if (kind := getattr(node, name, None))]
    said = [part for kind in typed for part in ast.walk(kind) if isinstance(part, ast.Name)]
    called = [node.func for node in nodes if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)]
    loose = [one for one in said if one.id in ("Any", "object")] + [one for one in called if one.id == "cast"]
    embedded = [text for text in strings if isinstance(text, str) and EMBEDDED.search(text)]
    return {
        "modules": 1,
        "code_lines": len(code_lines(source, docstrings)),
        "statements": sum(isinstance(node, ast.stmt) for node in nodes),
        "loose_types": len(loose) + source.count("# type: ignore"),
        "any_words": len(re.findall(r"\bAny\b", source)),
        "embedded_bytes": sum(len(text.encode()) for text in embedded),
        "docstring_words": sum(len(str(node.value).split()) for node in docstrings),
    }


def docstring(node: ast.AST) -> ast.Constant | None:
    """The docstring of a definition."""
    first = node.body[0] if node.body else None
    value = first.value if isinstance(first, ast.Expr) else None
    return value if isinstance(value, ast.Constant) and isinstance(value.value, str) else None


def code_lines(source: str, docstrings: list[ast.Constant]) -> set[int]:
    """Numbers of the lines with code: no blank ones, no comments, no docstrings."""
    lines = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in NO_CODE:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in docstrings:
        lines.difference_update(range(node.lineno, node.end_lineno + 1))
    texts = source.split("\n")
    return {number for number in lines if texts[number - 1].strip()}


def test_items() -> int:
    """Tests that the README's command collects."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-n", "0", "-p", "no:cacheprovider"]
    said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if said.returncode:
        raise RuntimeError(f"pytest could not collect the tests:\n{said.stdout[-2000:]}{said.stderr[-2000:]}")
    return sum("::" in line for line in said.stdout.splitlines())


def doc_figures() -> dict[str, int]:
    """Words and pages of docs/, with the tables that the site adds; the README counts as a page."""
    from pmdviz.cli import lists

    pages = [ROOT / "README.md", *tracked("docs", ".md")]
    generated = [lists.settings_markdown(), lists.grammar_markdown()]
    own = [path.read_text(encoding="utf-8") for path in pages]
    tables = sum(len(re.findall(r"\S*\w\S*", text)) for text in generated)  # their bars and dashes are not words
    return {
        "doc_words": tables + sum(len(text.split()) for text in own),
        "doc_pages": len(pages),
        "generated_words": tables,
    }


def file_figures() -> dict[str, int]:
    """Scripts, styles and data files of the package."""
    scripts = [path.read_text(encoding="utf-8") for path in tracked("pmdviz", ".js", ".css")]
    data = [path.stat().st_size for path in tracked("pmdviz") if path.suffix not in (".py", ".js", ".css")]
    return {
        "script_files": len(scripts),
        "script_lines": sum(len(text.splitlines()) for text in scripts),
        "data_bytes": sum(data),
    }


def import_figures() -> dict[str, int]:
    """Circles of modules by the imports that run, and what import-linter's acyclic siblings would report."""
    import grimp  # comes with import-linter

    sys.path.insert(0, str(ROOT))
    graph = grimp.build_graph("pmdviz", cache_dir=None, exclude_type_checking_imports=True)
    rings = {frozenset(graph.find_upstream_modules(m) & graph.find_downstream_modules(m) | {m}) for m in graph.modules}
    packages = [name for name in graph.modules if len(graph.find_children(name)) > 1]
    against = sum(len(graph.nominate_cycle_breakers(name)) for name in packages)
    return {"circles": sum(len(ring) > 1 for ring in rings), "sibling_imports": against}


def page_figures() -> dict[str, int]:
    """At three sizes of the window: controls in view on the Lab, and the share that is not its stage, %."""
    from benchmarks.scripts import script
    from tests.support.browser import await_picture, chromium, lab_server, open_page

    found = {}
    with lab_server() as (port, _), chromium() as browser:
        for size in SCREENS:
            page = open_page(browser, port, size)
            await_picture(page, 180)
            page.wait_for_selector("#opening", state="detached")
            page.wait_for_timeout(3_000)  # the fonts arrive after the first picture
            found[f"controls_{size[0]}"] = len(page.evaluate(script("controls")))
            found[f"beside_{size[0]}"] = math.ceil(page.evaluate(script("beside")))
            page.close()
    return found


def table(figures: dict[str, int]) -> str:
    """The figures beside those of fdf68e4 and the ceilings."""
    lines = [f"{'':50} {'now':>9} {'fdf68e4':>9} {'ceiling':>9}"]
    for row in ROWS:
        now = f"{figures[row.key]:,}" if row.key in figures else "--page"
        ceiling = "" if row.ceiling is None else f"{row.ceiling:,}"
        over = row.ceiling is not None and figures.get(row.key, 0) > row.ceiling
        lines.append(f"{row.words:50} {now:>9} {row.before:>9,} {ceiling:>9}{' over' if over else ''}")
    return "\n".join(lines)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.weight", description=__doc__)
    parser.add_argument("--page", action="store_true", help="count the controls on the Lab too, in a browser")
    parser.add_argument("--json", metavar="FILE", type=Path, help="write the figures there too")
    options = parser.parse_args()
    figures = run(options)
    print(table(figures))
    if options.json is not None:
        options.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
