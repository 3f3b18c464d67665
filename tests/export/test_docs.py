"""The page of the docs says what the declarations say."""

from pathlib import Path

from pmdviz.export import WRITERS
from pmdviz.export.options import Look

PAGE = (Path(__file__).parents[2] / "docs" / "export.md").read_text(encoding="utf-8")


def kinds() -> str:
    rows = [f"| `{w.suffix}` | {w.title} | {_needs(w.needs)} |" for w in WRITERS.values()]
    return "\n".join(["| suffix | what it is | needs |", "|---|---|---|", *rows])


def _needs(needs) -> str:
    extras = dict.fromkeys(extra for _, extra in needs)
    return f"`pip install 'pmdviz[{','.join(extras)}]'`" if extras else "nothing more"


def options() -> str:
    rows = []
    for name, spec in Look.specs().items():
        default = str(spec.default).lower() if spec.kind == "flag" else spec.default
        where = ", ".join(f"`{w.suffix}`" for w in WRITERS.values() if name in w.options)
        rows.append(f"| `{name}` | {default} | {spec.bounds_words} | {spec.help} | {where} |")
    return "\n".join(["| option | default | values | what it does | for |", "|---|---|---|---|---|", *rows])


def test_the_table_of_kinds_is_the_table_of_writers():
    assert kinds() in PAGE, f"docs/export.md must hold:\n{kinds()}"


def test_the_table_of_options_is_the_declarations():
    assert options() in PAGE, f"docs/export.md must hold:\n{options()}"
