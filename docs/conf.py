"""Settings of Sphinx for the docs site, which `pmdviz docs FOLDER` builds.

The same by hand: `sphinx-build -c docs SOURCES SITE`, where SOURCES is an empty folder. The pages of this folder are
written there, with the links of the site and with what the code itself says about commands, functions and words.
"""

import argparse
import os
import re
import shutil
import tomllib
from collections.abc import Iterator
from html import escape
from pathlib import Path

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx import addnodes
from sphinx.util import logging

import pmdviz
from pmdviz.cli import lists, main
from pmdviz.errors import InputError, unknown
from pmdviz.presets import PRESETS
from pmdviz.scenes.words import GLOSSARY
from pmdviz.version import __version__

project = "pmdviz"
author = "pmdviz developers"
release = version = __version__
root_doc = "index"
exclude_patterns = ["files/**.md"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "sphinx.ext.napoleon"]
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
suppress_warnings = ["myst.header"]  # a page may leave out a level of headings

autodoc_typehints = "none"  # the docstrings say types in the words of the field
autodoc_member_order = "bysource"
autosummary_generate = True
# pmdviz.Race and pmdviz.race: two files whose names differ in more than case, for the disks of macOS.
_lower = {name for name in pmdviz.__all__ if name.islower()}
autosummary_filename_map = {
    f"pmdviz.{name}": f"pmdviz.{name}-class" for name in pmdviz.__all__ if name.lower() in _lower - {name}
}
napoleon_google_docstring = False
napoleon_use_rtype = False
default_role = "code"  # docstrings mark code as Markdown does, by single backticks

HERE = Path(__file__).resolve().parent
templates_path = [str(HERE / "_templates")]  # autosummary looks next to the pages
smartquotes = False  # "--" is an option

html_theme = "furo"
html_title = "pmdviz"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_copy_source = False
html_show_sphinx = False
math_numfig = False
html_math_renderer = "mathml"

linkcheck_ignore = [r"http://127\.0\.0\.1.*"]  # an app of the reader's own
linkcheck_anchors = True


def setup(app):
    """Write the pages, draw formulas as MathML, and leave words of docstrings as they are."""
    if Path(app.srcdir).resolve() == HERE:
        raise ValueError("Sphinx needs an empty folder for the pages: sphinx-build -c docs SOURCES SITE")
    app.add_config_value("gallery", "", "env", str, "names of presets, with commas between")
    names = [name for name in app.config.gallery.split(",") if name]
    write_sources(HERE, Path(app.srcdir), {**parts(), "gallery": gallery_markdown(names)})
    write_settings(Path(app.srcdir))
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    app.connect("config-inited", _note_aliases)
    app.connect("doctree-read", _leave_words)
    # Of "The budget: what it needs" napoleon, whose place is 500, would make a type and a meaning.
    written = {}

    def keep(app, what, name, thing, options, lines):
        if what == "property":
            written[name] = [*lines]

    def put_back(app, what, name, thing, options, lines):
        if name in written:
            lines[:] = written.pop(name)

    app.connect("autodoc-process-docstring", keep, priority=400)
    app.connect("autodoc-process-docstring", put_back, priority=600)


# Docstrings and formulas.


def _note_aliases(app, config):
    """Tell the templates which public name is another name of a class; autodoc would say no more than that."""
    named = {f"pmdviz.{name}": getattr(pmdviz, name) for name in pmdviz.__all__}
    config.autosummary_context["aliases"] = {
        name: f"{each.__module__}.{each.__qualname__}"
        for name, each in named.items()
        if isinstance(each, type) and each.__name__ != name.rpartition(".")[2]
    }


def _leave_words(app, doctree):
    """Let words in the types of arguments, such as theta, be words and not links to any attribute of that name."""
    for node in [*doctree.findall(addnodes.pending_xref)]:
        if node.get("refspecific") and node["reftarget"].removeprefix("pmdviz.") not in pmdviz.__all__:
            node.replace_self(node.children)


# TeX that MathJax reads, in the notebooks, and docutils does not: a fraction of two bare digits, and \big.
SPELLED_OUT = ((re.compile(r"frac(\d)(\d)"), r"frac{\1}{\2}"), (re.compile(r"\\(big|Big)(?=[()\[\]|])"), r"\\\1l"))


def _inline(writer, node):
    writer.body.append(_drawn(node, block=False))
    raise nodes.SkipNode


def _block(writer, node):
    writer.body.append(f'<div class="math">{_drawn(node, block=True)}</div>')
    raise nodes.SkipNode


def _drawn(node, block):
    tex = node.astext()
    for pattern, spelled in SPELLED_OUT:
        tex = pattern.sub(spelled, tex)
    try:
        return tex2mathml(tex, as_block=block)
    except MathError as error:
        logging.getLogger(__name__).warning("this formula cannot be drawn: %s", error, location=node)
        return f"<code>{escape(node.astext())}</code>"


# The pages: their links as the site has them, and a menu in the order of pages.toml.

PACKAGE = Path(pmdviz.__file__).resolve().parent
INDEX = "index.md"
PROJECT = {"README.md": "readme.md", "CHANGELOG.md": "changelog.md"}  # pages next to docs/, and their names on the site
LINK = re.compile(r"(?P<picture>!?)\[(?P<text>[^\]\[]*)\]\((?P<to>[^)\s#]+)(?P<anchor>#[^)\s]*)?\)")
CODE = re.compile(r"^ {0,3}(`{3,}).*?^ {0,3}\1\s*$", re.M | re.S)  # between fences
PART = re.compile(r"^<!-- part: (\w+) -->$", re.M)
TERM = re.compile(r"^(?=## )", re.M)
GLOSSARY_PAGE = "reference/glossary.md"
ORPHAN = "---\norphan: true\n---\n\n"  # a page that is reached by links alone


def write_sources(docs, folder, parts):
    """Write every page into `folder`, with the files that pages link to. Raises InputError for an unknown part."""
    menu = sections(docs)
    listed = {INDEX, *PROJECT.values(), *(f"{name}.md" for names in menu.values() for name in names)}
    pages = [*sorted(docs.rglob("*.md")), *(docs.parent / file for file in PROJECT if (docs.parent / file).is_file())]
    for page in pages:
        name = _place_of(page, docs)
        text = _with_links(with_parts(page.read_text(encoding="utf-8"), parts), page, name, docs, folder)
        if name == GLOSSARY_PAGE:
            head, *terms = TERM.split(text)
            text = head + "".join(sorted((f"{term.rstrip()}\n\n" for term in terms), key=str.casefold))
        text += "\n" + contents(menu) if name == INDEX else ""
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text if name in listed else ORPHAN + text, encoding="utf-8")


def sections(docs):
    """The sections of the menu: title -> its pages, as pages.toml has them in order."""
    tables = tomllib.loads((docs / "pages.toml").read_text(encoding="utf-8"))
    return {title: [*pages] for title, pages in tables.items() if isinstance(pages, dict)}


def with_parts(text, parts):
    """A page whose lines `<!-- part: NAME -->` have become what the code says. Raises InputError."""

    def said(found):
        if found[1] not in parts:
            raise unknown("part of the docs", found[1], parts)
        return parts[found[1]]

    return PART.sub(said, text)


def contents(menu):
    """The tables of contents, one for each section of the menu."""
    lists = {**menu, "Project": [name.removesuffix(".md") for name in PROJECT.values()]}
    return "\n".join(
        f"```{{toctree}}\n:hidden:\n:caption: {caption}\n\n" + "\n".join(names) + "\n```\n"
        for caption, names in lists.items()
        if names
    )


def _with_links(text, page, name, docs, folder):
    """The page with its links as the site has them; text between fences stays."""

    def led(found):
        text, link, anchor = found["text"], found["to"], found["anchor"] or ""
        if "://" in link or link.startswith("mailto:"):
            return found[0]
        source = _source_of((page.parent / link).resolve(), docs)
        if source is None:  # a folder, or not in this installation: its name, and nothing of a picture
            return "" if found["picture"] else text if "`" in text else f"`{text}`"
        place = _place_of(source, docs)
        if not place.endswith(".md"):
            (folder / place).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, folder / place)
        shown = "" if text.endswith(".md") else text  # Sphinx writes the title of the page where a link has no text
        return f"{found['picture']}[{shown}]({os.path.relpath(place, Path(name).parent)}{anchor})"

    written, at = "", 0
    for code in CODE.finditer(text):
        written += LINK.sub(led, text[at : code.start()]) + code[0]
        at = code.end()
    return written + LINK.sub(led, text[at:])


def _source_of(meant, docs):
    """The file that a link means; the package of an installation lies above its docs. None where there is none."""
    root = docs.parent.resolve()
    inside = PACKAGE.parent / meant.relative_to(root) if meant.is_relative_to(root) else meant
    return next((path for path in (meant, inside) if path.is_file()), None)


def _place_of(source, docs):
    """The place of a file on the site, from its top folder."""
    source, root, docs = source.resolve(), docs.parent.resolve(), docs.resolve()
    if source.parent == root and source.name in PROJECT:
        return PROJECT[source.name]
    if source.is_relative_to(docs):
        return source.relative_to(docs).as_posix()
    base = root if source.is_relative_to(root) else PACKAGE.parent
    plain = ".txt" if source.suffix == ".md" else ""  # else it would be a page
    return f"files/{source.relative_to(base).as_posix()}{plain}"


# What the code says: the command line, the Python API, the glossary of the app, the gallery.


def parts():
    """Lines `<!-- part: NAME -->` of a page: NAME -> what the code says there."""
    return {
        "commands": commands_markdown(),
        "python": python_markdown(),
        "glossary": glossary_markdown(),
        "grammar": lists.grammar_markdown(),
        "settings": settings_markdown(),
    }


def settings_markdown():
    """A list of the pages that `write_settings` writes, by their groups."""
    groups = lists.settings_pages()
    lines = [f"- {title}: {', '.join(f'[{name}](settings/{name}.md)' for name in groups[title])}" for title in groups]
    names = [f"settings/{name}" for pages in groups.values() for name in pages]
    return "\n".join([*lines, "", "```{toctree}", ":hidden:", "", *names, "```"])


def write_settings(folder):
    """Write the pages of the shared settings and of each target, method and experiment, in reference/settings."""
    for pages in lists.settings_pages().values():
        for name, text in pages.items():
            path = folder / "reference/settings" / f"{name}.md"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{text}\n", encoding="utf-8")


def python_markdown():
    """A table of the public functions, and one of the classes, each with a page made from its docstring."""
    names = [name for name in pmdviz.__all__ if not name.startswith("_")]
    classes = [name for name in names if name[0].isupper()]
    lines = []
    for title, each in (("Functions", [name for name in names if name not in classes]), ("Classes", classes)):
        lines += [f"## {title}", "", "```{eval-rst}", ".. autosummary::", "   :toctree: api", "   :nosignatures:", ""]
        lines += [*(f"   pmdviz.{name}" for name in each), "```", ""]
    return "\n".join(lines)


def glossary_markdown():
    """Every term that the app explains: its meaning, formula, and page."""
    lines = []
    for term in sorted(GLOSSARY.values(), key=lambda term: term.title.casefold()):
        page = term.page.removeprefix("docs/")
        more = f"See [{page.rpartition('/')[2]}](../{page})."
        lines += [f"## {term.title}", "", term.meaning, "", f"    {term.formula}", "", more, ""]
    return "\n".join(lines).rstrip()


def commands_markdown():
    """A section for each command: what it does, how it is called, and every option."""
    return "\n".join(line for name in main.COMMANDS for line in _command(name)).rstrip()


def _command(name) -> Iterator[str]:
    words = main.COMMANDS[name].help
    yield from (f"## `pmdviz {name}`", "", f"{words[0].upper()}{words[1:].rstrip('.')}.", "")
    try:
        parser = main.parser_of([name]).commands.choices[name]
    except InputError:
        yield from ("This command needs a checkout of the repository; its options are not known here.", "")
        return
    parser.formatter_class = _Wide
    start = "usage: "
    usage = [line.removeprefix(start).removeprefix(" " * len(start)) for line in parser.format_usage().splitlines()]
    yield from ("```text", *usage, "```", "", "| option | what it does |", "|---|---|")
    yield from (_row(action) for action in parser._actions if "--help" not in action.option_strings)  # noqa: SLF001, argparse lists them nowhere else
    yield ""


class _Wide(argparse.HelpFormatter):
    """Usage in lines of one width, whatever the terminal's is."""

    def __init__(self, prog):
        super().__init__(prog, width=100)


def _row(action):
    choices = " | ".join(map(str, action.choices)) if action.choices is not None else action.dest.upper()
    metavar = action.metavar or choices
    value = "" if action.nargs == 0 else f" {metavar}"
    called = ", ".join(f"`{flag}{value}`" for flag in action.option_strings) or f"`{metavar}`"
    cells = called, (action.help or "") % {"default": action.default, "prog": "pmdviz"}
    return "| " + " | ".join(cell.replace("|", r"\|").replace("<", "&lt;") for cell in cells) + " |"


def gallery_markdown(names):
    """A section for each preset: its question, a picture that opens the player, what to watch, a link to the app."""
    lines = []
    for preset in map(PRESETS.get, names):
        player, app = f"players/{preset.name}", f"http://127.0.0.1:5006/?preset={preset.name}"  # of `pmdviz serve`
        lines += [f"## {preset.title}", "", preset.question, "", f'<p class="gallery"><a href="{player}.html">']
        for theme in ("light", "dark"):
            picture = f'src="{player}-{theme}.png" alt="The end of the run: {preset.title}" width="768" height="432"'
            lines.append(f'<img class="only-{theme}" {picture} loading="lazy">')
        lines += ["</a></p>", "", f"Watch {preset.watch}", ""]
        lines += [f'<p><a href="{player}.html">Play it</a> here, or <a href="{app}">open it in the app</a>']
        lines += ["(after <code>pmdviz serve</code>), and change a setting.</p>", ""]
    return "\n".join(lines).rstrip() or "This build of the site holds no players."
