"""Where the compiled kernels are: package data, made by `python -m pmdviz.wasm`."""

from pathlib import Path

FOLDER = Path(__file__).parent / "static"
MODULE = FOLDER / "kernels.wasm"
NAMES = FOLDER / "kernels.json"  # each kernel's arguments and what it returns, and the hash of the sources
