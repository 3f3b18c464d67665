import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
# What a line of the README is given more, so that it ends soon; a later option takes an earlier one's place.
SOONER = {
    "run": ("--budget", "300"),
    "race": ("--budget", "300", "--seeds", "1"),
    "sweep": ("--seeds", "1"),
    "export": ("--budget", "300", "--frames", "3"),
}
ELSEWHERE = ("docs", "essay")  # tests of their own write these files


def assert_serves(line: list[str]) -> None:
    environment = {**os.environ, "BROWSER": "no-such-browser", "DISPLAY": "", "WAYLAND_DISPLAY": ""}
    with subprocess.Popen([*line, "--port", "0"], env=environment, stdout=subprocess.PIPE, text=True) as server:
        try:
            first, second = server.stdout.readline(), server.stdout.readline()
            assert first.startswith("pmdviz is at http://127.0.0.1:"), first
            assert second.startswith("no browser was found on this computer: open http://127.0.0.1:"), second
        finally:
            server.terminate()


@pytest.mark.ci
def test_the_lines_for_the_command_line_run_as_printed(tmp_path):
    (block,) = re.findall(r"^## On the command line\n.*?^```console\n(.*?)^```$", README, flags=re.M | re.S)
    lines = [shlex.split(line, comments=True) for line in block.splitlines()]
    assert [(dollar, program) for dollar, program, *_ in lines] == [("$", ".venv/bin/pmdviz")] * len(lines)
    for _, _, command, *arguments in lines:
        line = [sys.executable, "-m", "pmdviz", command, *arguments, *SOONER.get(command, ())]
        if command in ELSEWHERE:
            continue
        if command == "serve":
            assert_serves(line)
            continue
        done = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, (line, done.stderr)
    assert {path.name for path in tmp_path.iterdir()} >= {"run.json", "table.csv", "film.gif", "course"}


def test_the_python_example_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (block,) = re.findall(r"^```python\n(.*?)^```$", README, flags=re.M | re.S)
    exec(block, {})
    result, lines = capsys.readouterr().out.split("import pmdviz")
    tv, *_, visited = result.split()
    assert 0 < float(tv) < 0.2
    assert int(visited) == 1000
    assert "(10, {'bandwidth': 0.5})" in lines
