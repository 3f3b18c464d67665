"""Faults where the data or their logarithms are large."""

CUSTOM, CELLS, BATCHES = "pmdviz/targets/custom.py", "pmdviz/targets/reference/cells.py", "pmdviz/engine/batches.py"
TESTS = "tests/targets/test_custom_large.py"

LISTED = [
    (CUSTOM, "data.view(np.ndarray) if isinstance(data, np.memmap) else np.array(data)", "np.array(data)", TESTS),
    (CUSTOM, "for start in range(rows, len(batch), rows):", "for start in range(rows, len(batch) - 1, rows):", TESTS),
    (CUSTOM, "MAX_PAIRS // max(1, len(theta))", "MAX_PAIRS", TESTS),
    (CUSTOM, "self.num_data * ENOUGH[self.dim] > MAX_EXACT_PAIRS", "self.num_data > MAX_EXACT_PAIRS", TESTS),
    (CELLS, "reach >= values.max() - NATS_KEPT", "reach > values.max() - NATS_KEPT", "tests/test_numerical.py"),
    (BATCHES, "np.uint32 if self", "np.uint16 if self", "tests/engine/test_batches.py"),
    (BATCHES, "self._rng.shuffle(numbers)", "numbers.sort()", "tests/engine/test_batches.py"),
]

MUTANTS = [{"file": file, "find": find, "replace": replace, "tests": tests} for file, find, replace, tests in LISTED]
