"""Runs pytest many times with everything imported once: `python -P` of this file forks a child for each job.

The first line of standard input is a JSON object: `place`, a checkout; `environment`; and `collect`, the test files
to import. Every other line is a job: `arguments` of pytest, `output` (a file), `patience` (seconds), and the fault that
the checkout holds: its `file` with the text `before` and `after`. The first answer is "ready", every other one pytest's
exit status, or null after that time.

The child gives the functions that the fault changes their new code. Where that is not possible (a fault in code that
runs at import, or in compiled code, with `environment` of its own), the child starts Python again.
"""

import gc
import json
import os
import signal
import sys
import time
from collections.abc import Iterator
from types import CodeType, FunctionType

os.environ["OPENBLAS_NUM_THREADS"] = "1"

import pytest  # noqa: E402

OPTIMIZED = 1  # the flag of a function's code; that of a module or a class body has it not


def run(job: dict) -> int | None:
    """Fork, run pytest in the child, and end whatever it has started."""
    child = os.fork()
    if child == 0:
        in_child(job)
    end = time.monotonic() + job["patience"]
    while (ended := os.waitpid(child, os.WNOHANG)) == (0, 0) and time.monotonic() < end:
        time.sleep(0.05)
    try:
        os.killpg(child, signal.SIGKILL)
    except ProcessLookupError:
        pass
    if ended == (0, 0):
        os.waitpid(child, 0)
        return None
    return os.waitstatus_to_exitcode(ended[1])


def in_child(job: dict) -> None:
    """Run pytest with the fault, and with its output in a file."""
    os.setsid()
    write_to(job["output"])
    status = 3
    try:
        if job["environment"] or not patched(job["file"], job["before"], job["after"]):
            os.environ.update(job["environment"])
            os.execv(sys.executable, [sys.executable, "-m", "pytest", *job["arguments"]])
        status = int(pytest.main(job["arguments"]))
    finally:
        sys.stdout.flush()
        os._exit(status)


def write_to(path: str) -> None:
    """From now on write to a file, and read nothing."""
    out = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for number, target in enumerate((os.open(os.devnull, os.O_RDONLY), out, out)):
        os.dup2(target, number)


def patched(file: str, before: str, after: str) -> bool:
    """Give the functions of a file the code of another text; False if its modules or classes differ too."""
    old, new = (dict(codes(compile(text, file, "exec"))) for text in (before, after))
    if any(static(code) != static(new.get(key)) for key, code in old.items() if not code.co_flags & OPTIMIZED):
        return False
    places = {(code.co_qualname, code.co_firstlineno): key for key, code in old.items()}
    for function in [found for found in gc.get_objects() if type(found) is FunctionType]:
        code = function.__code__
        if code.co_filename == file:
            changed = new.get(places[code.co_qualname, code.co_firstlineno])
            if changed is None or len(changed.co_freevars) != len(code.co_freevars):
                return False
            function.__code__ = changed
    return True


def codes(code: CodeType, seen: dict[str, int] | None = None) -> Iterator[tuple[tuple[str, int], CodeType]]:
    """All code within some code, by qualified name and, of several with that name, the number."""
    seen = {} if seen is None else seen
    seen[code.co_qualname] = seen.get(code.co_qualname, 0) + 1
    yield (code.co_qualname, seen[code.co_qualname]), code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from codes(constant, seen)


def static(code: CodeType | None) -> object:
    """What runs at import."""
    return code and (code.co_code, code.co_names, [one for one in code.co_consts if not isinstance(one, CodeType)])


def main() -> None:
    """Import and collect once, then answer job after job."""
    answers = os.fdopen(os.dup(1), "w")
    begin = json.loads(sys.stdin.readline())
    os.chdir(begin["place"])
    sys.path.insert(0, begin["place"])
    os.environ.update(begin["environment"])
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    if begin["collect"]:
        pytest.main(["--collect-only", "-qq", "-n", "0", "-m", "", "-p", "no:cacheprovider", *begin["collect"]])
    print(json.dumps("ready"), file=answers, flush=True)  # from here on the checkout may change
    for line in sys.stdin:
        print(json.dumps(run(json.loads(line))), file=answers, flush=True)


main()
