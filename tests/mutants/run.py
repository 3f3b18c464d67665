"""Plant every listed fault in a copy of the package, run the tests that should see it, and print what they saw."""

import argparse
import importlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.mutants.planting import ROOT, Fault, planted

LISTS = ("kernels", "methods", "contracts")
COPIED = ("pmdviz", "benchmarks", "tests", "notebooks", "pyproject.toml", "README.md")
IGNORED = shutil.ignore_patterns("__pycache__", "*.nbi", "*.nbc")
TIMEOUT = 900  # seconds; a fault may turn a loop endless, and then it is caught too
ENDINGS = {0: "SURVIVED", 1: "caught"}  # any other status of pytest: the tests themselves could not run


def all_faults() -> dict[str, list[Fault]]:
    """The faults of every list."""
    return {name: importlib.import_module(f"tests.mutants.{name}").FAULTS for name in LISTS}


def chosen(lists: dict[str, list[Fault]], names: list[str], every: int = 1) -> list[Fault]:
    """Return the faults, or lists of them, of these names, or all; of these each `every`-th."""
    return [
        fault for of, faults in lists.items() for fault in faults if not names or fault.name in names or of in names
    ][::every]


def copy_tree(root: Path, place: Path) -> None:
    """Copy what the tests need of the checkout."""
    for name in COPIED:
        source = root / name
        if source.is_dir():
            shutil.copytree(source, place / name, ignore=IGNORED)
        elif source.exists():
            shutil.copy(source, place / name)


def environment(place: Path) -> dict[str, str]:
    """Environment of the tests: the copy's modules, and compiled code that no other run has touched.

    Compiled code is cached by the stamp of its own file alone, so a kernel that calls a changed one would not notice.
    """
    kept = {key: value for key, value in os.environ.items() if key not in {"CI", "PYTEST_ADDOPTS"}}
    return {**kept, "PYTHONPATH": str(place), "NUMBA_CACHE_DIR": str(place / ".numba"), "PYTHONDONTWRITEBYTECODE": "1"}


def run_tests(place: Path, tests: list[str], first_failure: bool = True) -> tuple[str, str]:
    """Run tests in the copy at `place`; how they ended in one word, and their output."""
    command = [sys.executable, "-m", "pytest", "-q", "-m", "", "-p", "no:cacheprovider", *tests]
    if first_failure:
        command.append("-x")
    try:
        done = subprocess.run(
            command, cwd=place, env=environment(place), capture_output=True, text=True, timeout=TIMEOUT
        )
    except subprocess.TimeoutExpired:
        return "caught", f"no end after {TIMEOUT} s"
    return ENDINGS.get(done.returncode, "CANNOT RUN"), done.stdout + done.stderr


def try_fault(fault: Fault, root: Path = ROOT) -> tuple[str, str]:
    """Plant one fault in a fresh copy of `root` and run its tests."""
    with tempfile.TemporaryDirectory(prefix="pmdviz-fault-") as folder:
        place = Path(folder)
        copy_tree(root, place)
        changed = fault.file(place)
        changed.write_text(planted(changed.read_text(encoding="utf-8"), fault), encoding="utf-8")
        return run_tests(place, list(fault.tests))


def sound_without_faults(faults: list[Fault], root: Path = ROOT) -> tuple[bool, str]:
    """Whether the named tests pass on the package as it is: otherwise they would `catch` anything."""
    with tempfile.TemporaryDirectory(prefix="pmdviz-sound-") as folder:
        copy_tree(root, Path(folder))
        tests = sorted({test for fault in faults for test in fault.tests})
        ending, output = run_tests(Path(folder), tests, first_failure=False)
    return ending == "SURVIVED", output


def report(faults: list[Fault], root: Path = ROOT) -> int:
    """Try the faults, print a line for each as it ends, and return the number that was not caught."""
    missed = 0
    width = max(len(fault.name) for fault in faults)
    for fault in faults:
        ending, output = try_fault(fault, root)
        print(f"{fault.name:<{width}}  {ending:<10}  {fault.where}: {fault.replace}", flush=True)
        if ending != "caught":
            missed += 1
            print(output)
    print(f"{len(faults) - missed} of {len(faults)} faults caught")
    return missed


def main(arguments: list[str] | None = None) -> int:
    """Command line: exit status 0 if every fault was caught, 1 if not, 2 if there was nothing sound to try."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants.run", description=__doc__)
    parser.add_argument("names", metavar="NAME", nargs="*", help=f"a fault or a list ({', '.join(LISTS)}); all without")
    parser.add_argument("--every", metavar="K", type=int, default=1, help="each K-th of them: a sample")
    options = parser.parse_args(arguments)
    lists = all_faults()
    unknown = {*options.names} - {*lists, *(fault.name for faults in lists.values() for fault in faults)}
    if unknown:
        print(f"no fault or list named {', '.join(sorted(unknown))}", file=sys.stderr)
        return 2
    faults = chosen(lists, options.names, max(options.every, 1))
    sound, output = sound_without_faults(faults)
    if not sound:
        print(f"the tests fail without any fault:\n{output}", file=sys.stderr)
        return 2
    return 1 if report(faults) else 0


if __name__ == "__main__":
    sys.exit(main())
