import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.ci
LEFT_BY_TOOLS = {".pyc", ".nbi", ".nbc"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Built in a folder that holds only what deploy/Containerfile copies, as its image is."""
    folder, source = tmp_path_factory.mktemp("wheel"), tmp_path_factory.mktemp("source")
    for line in re.findall(r"^COPY (.+) \./", (ROOT / "deploy/Containerfile").read_text(encoding="utf-8"), re.M):
        for name in line.split():
            if (ROOT / name).is_dir():
                shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(ROOT / name, source / name)
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    done = subprocess.run(command, cwd=source, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (built,) = folder.glob("*.whl")
    return built


def test_the_wheel_holds_the_package_whole_and_alone(wheel):
    files = {p for p in (ROOT / "pmdviz").rglob("*") if p.is_file() and p.suffix not in LEFT_BY_TOOLS}
    packed = set(zipfile.ZipFile(wheel).namelist())
    assert {p.relative_to(ROOT).as_posix() for p in files} | {"pmdviz/py.typed"} <= packed
    assert {name.partition("/")[0] for name in packed} == {"pmdviz", wheel.name.rsplit("-", 3)[0] + ".dist-info"}


def test_the_wheel_works_away_from_the_checkout_and_the_course_and_the_docs_come_out_of_it(wheel, tmp_path):
    zipfile.ZipFile(wheel).extractall(tmp_path / "installed")
    env = {**os.environ, "PYTHONPATH": str(tmp_path / "installed")}

    def python(*arguments):
        done = subprocess.run([sys.executable, *map(str, arguments)], cwd="/", env=env, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert python("-c", "import pmdviz; print(pmdviz.__file__)").startswith(str(tmp_path))
    small = ("--target", "mixture", "--budget", "300", "--knob", "num_particles=50", "--json", "-")
    assert "mixture" in python("-m", "pmdviz", "run", *small)
    python("-m", "pmdviz", "notebooks", tmp_path / "mine")
    copied = {path.name: path.read_bytes() for path in (tmp_path / "mine").iterdir()}
    assert copied == {path.name: path.read_bytes() for path in (ROOT / "notebooks").glob("*.ipynb")}
    call = "import runpy, sys; from pathlib import Path; from pmdviz.cli.tools import folder_with; "
    call += "docs = folder_with('docs', 'conf.py'); write = runpy.run_path(docs / 'conf.py')['write_sources']; "
    call += "write(docs, Path(sys.argv[1]), dict.fromkeys(sys.argv[2:], ''))"
    pages = tmp_path / "pages"
    python("-c", call, pages, "commands", "python", "glossary", "gallery", "grammar", "settings")
    written = {path.relative_to(pages).as_posix() for path in pages.rglob("*.md")}
    ours = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    assert written == ours | {"readme.md", "changelog.md"} and (pages / "files/deploy/nginx.conf").is_file()
    assert {*os.listdir(pages / "files/assets")} == {*os.listdir(ROOT / "assets")}
