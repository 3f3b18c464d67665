"""`python -m pmdviz.wasm`: compile the kernels of the page again. Needs the extra `wasm`."""

import os

# Before numba is imported: vectors of 128 bits without fused multiply-add, as in a page.
os.environ.update({"NUMBA_CPU_NAME": "x86-64", "NUMBA_CPU_FEATURES": "+sse,+sse2"})

import gzip
import json
import tempfile
from pathlib import Path

from pmdviz.wasm.compiling import link, objects
from pmdviz.wasm import MODULE, NAMES
from pmdviz.wasm.kernels import declared, digest


def main() -> None:
    """Write the module, and the kernels' arguments with the hash of their sources."""
    with tempfile.TemporaryDirectory() as folder:
        link(list(objects(Path(folder))), MODULE)
    NAMES.write_text(json.dumps({"sources": digest(), "kernels": declared()}, indent=1) + "\n", encoding="utf-8")
    size = MODULE.stat().st_size
    print(f"{MODULE.name}: {size:,} bytes, {len(gzip.compress(MODULE.read_bytes(), 9)):,} compressed")


main()
