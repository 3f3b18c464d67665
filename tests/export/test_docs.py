from pathlib import Path

from pmdviz.export import WRITERS
from pmdviz.export.options import Look, RaceLook

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


def options_of_a_race() -> str:
    usual = Look.specs()
    other = {name: spec for name, spec in RaceLook.specs().items() if spec != usual[name]}
    rows = [f"| `{name}` | {spec.default} | {spec.bounds_words} | {spec.help} |" for name, spec in other.items()]
    return "\n".join(["| option | default | values | what it does |", "|---|---|---|---|", *rows])


def test_the_tables_of_kinds_and_options_are_the_declarations():
    for table in (kinds(), options(), f"{options_of_a_race()}\n\n"):
        assert table in PAGE, f"docs/export.md must hold:\n{table}"
