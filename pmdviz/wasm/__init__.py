"""The kernels of the package as WebAssembly, for pages that run without a server."""

from pathlib import Path

# Package data, made by `python -m pmdviz.wasm`.
FOLDER = Path(__file__).parent / "static"
MODULE = FOLDER / "kernels.wasm"
NAMES = FOLDER / "kernels.json"  # each kernel's arguments and what it returns, and the hash of the sources
