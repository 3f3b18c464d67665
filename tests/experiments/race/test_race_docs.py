"""The Python of the page on races runs and gives what it says."""

import re
from pathlib import Path

PAGE = Path(__file__).parents[3] / "docs" / "race.md"


def test_the_python_of_the_page_runs():
    (block,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.S)
    scope: dict = {}
    exec(compile(block, PAGE.name, "exec"), scope)
    result = scope["result"]
    assert [entry["method"] for entry in result.summary] == ["pmd", "pmd:warm_start=true", "smc", "sgld:batch_size=50"]
    assert len(result.rows) == 12 and len(result.to_frame()) == 12
