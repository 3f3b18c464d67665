"""`python -m pmdviz.wasm`: compile the kernels of the table to one WebAssembly module. Needs the extra `wasm`.

numba gives LLVM's text for the processor of this computer; what differs is replaced, and llvmlite compiles it for
wasm32. The linker is LLVM's, which the wheel `ziglang` brings. Memory is never given back one by one: the page resets
it as a whole after each call.
"""

import os

# Before numba is imported: vectors of 128 bits without fused multiply-add, as in a page.
os.environ.update({"NUMBA_CPU_NAME": "x86-64", "NUMBA_CPU_FEATURES": "+sse,+sse2"})

import gzip
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
from numba import carray, cfunc, types

from pmdviz.wasm import MODULE, NAMES
from pmdviz.wasm.kernels import KERNELS, Entry, declared, digest, type_of

TRIPLE = "wasm32-unknown-unknown"
LAYOUT = "e-m:e-p:32:32-p10:8:8-p20:8:8-i64:64-i128:128-n32:64-S128-ni:1:10:20"
FEATURES = "+simd128,+bulk-memory,+nontrapping-fptoint,+sign-ext"  # in every browser since 2023
# Counts of references are kept by instructions of x86 in numba's code.
COUNTS = re.compile(r"define linkonce_odr void @(NRT_incref|NRT_decref)\(.*?\n}\n", re.DOTALL)
NUMBER = {"i8": types.int32}  # whole numbers cross as 32 bits: a page has no others without big integers


def wrapped(name: str, entry: Entry) -> tuple[Any, types.Type]:
    """A C function around a kernel, and what the kernel returns.

    An array is a pointer and its lengths. A returned array is written to a pointer that comes last.
    """
    kernel, flat = entry.function, list[str]()
    parameters: list[str] = []
    kinds: list[types.Type] = []
    for place, word in enumerate(entry.words):
        text, names, ctypes = _argument(place, word)
        flat.append(text)
        parameters += names
        kinds += ctypes
    arguments = [f"({', '.join(group)},)" if len(group) > 1 else group[0] for group in entry.grouped(flat)]
    kernel.compile(entry.signature())
    returned = kernel.overloads[entry.signature()].signature.return_type
    body = [f"found = kernel({', '.join(arguments)})"]
    if isinstance(returned, types.Array):
        parameters.append("out")
        kinds.append(types.CPointer(returned.dtype))
        body += ["at = 0", "for value in found.flat:", "    out[at] = value", "    at += 1"]
        result = types.void
    else:
        result = types.void if returned == types.none else returned
        body += [] if result == types.void else ["return found"]
    text = "\n    ".join([f"def {name}({', '.join(parameters)}):", *body])
    space: dict[str, Any] = {"carray": carray, "kernel": kernel}
    exec(text, space)
    return cfunc(result(*kinds), error_model="numpy")(space[name]), returned


def _argument(place: int, word: str) -> tuple[str, list[str], list[types.Type]]:
    """How an argument is written in the call, its parameters, and their types."""
    kind, name = type_of(word), f"a{place}"
    if kind == types.none:
        return "None", [], []
    if isinstance(kind, types.Array):
        lengths = [f"n{place}_{axis}" for axis in range(kind.ndim)]
        pointer = [types.CPointer(kind.dtype), *[types.int32] * kind.ndim]
        return f"carray({name}, ({', '.join(lengths)},))", [name, *lengths], pointer
    return name, [name], [NUMBER.get(word, kind)]


def for_page(text: str, name: str) -> str:
    """LLVM's text of a wrapper for wasm32."""
    text = re.sub(r'target triple = ".*"', f'target triple = "{TRIPLE}"', text)
    text = re.sub(r'target datalayout = ".*"', f'target datalayout = "{LAYOUT}"', text)
    text = COUNTS.sub(r"define linkonce_odr void @\1(ptr %p) {\n ret void\n}\n", text)
    text = text.replace("= common ", "= weak ")  # which wasm does not have
    return re.sub(r'@"?cfunc\.[^("\s]*"?', f"@{name}", text)


def objects(folder: Path) -> Iterator[Path]:
    """An object file for each kernel."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    machine = llvm.Target.from_triple(TRIPLE).create_target_machine(opt=3, features=FEATURES)
    for name, entry in KERNELS.items():
        function, _ = wrapped(name, entry)
        module = llvm.parse_assembly(for_page(function.inspect_llvm(), name))
        module.verify()
        path = folder / f"{name}.o"
        path.write_bytes(machine.emit_object(module))
        yield path


def link(files: list[Path], out: Path) -> None:
    """Join the object files. Raises CalledProcessError where the linker fails."""
    exports = [f"--export={name}" for name in KERNELS]
    options = ["--no-entry", "--export=__heap_base", "--allow-undefined", "--gc-sections", "--strip-all", "-O2"]
    subprocess.run([sys.executable, "-m", "ziglang", "wasm-ld", *options, *exports, *files, "-o", out], check=True)


def main() -> None:
    """Write the module, and the kernels' arguments with the hash of their sources."""
    with tempfile.TemporaryDirectory() as folder:
        link(list(objects(Path(folder))), MODULE)
    NAMES.write_text(json.dumps({"sources": digest(), "kernels": declared()}, indent=1) + "\n", encoding="utf-8")
    size = MODULE.stat().st_size
    print(f"{MODULE.name}: {size:,} bytes, {len(gzip.compress(MODULE.read_bytes(), 9)):,} compressed")


main()
