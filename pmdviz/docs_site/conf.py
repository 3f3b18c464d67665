"""Settings of Sphinx for the docs site. `pmdviz docs FOLDER` builds it: it puts together the pages that are read."""

from pathlib import Path

from pmdviz.version import __version__

project = "pmdviz"
author = "pmdviz developers"
release = version = __version__
root_doc = "index"
exclude_patterns = ["files/**.md"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "pmdviz.docs_site.extension",
]
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
suppress_warnings = ["myst.header"]  # a page may leave out a level of headings

autodoc_typehints = "none"  # the docstrings say types in the words of the field
autodoc_member_order = "bysource"
autosummary_generate = True
napoleon_google_docstring = False
napoleon_use_rtype = False
default_role = "code"  # docstrings mark code as Markdown does, by single backticks

templates_path = [str(Path(__file__).parent / "_templates")]  # autosummary looks beside the pages
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
