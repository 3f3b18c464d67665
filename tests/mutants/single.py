"""Faults in where float32 is used."""

REJUVENATION = "pmdviz/methods/pmd/rejuvenation.py"
TESTS = "tests/methods/test_single_precision.py"

MUTANTS = [
    {"file": REJUVENATION, "find": "single=m >= SINGLE_FROM", "replace": "single=m > SINGLE_FROM", "tests": TESTS},
    {"file": REJUVENATION, "find": "single=m >= SINGLE_FROM", "replace": "single=True", "tests": TESTS},
]
