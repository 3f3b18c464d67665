"""JavaScript that benches run in a page."""

from pathlib import Path


def script(name: str) -> str:
    """The source in NAME.js."""
    return (Path(__file__).parent / f"{name}.js").read_text(encoding="utf-8")
