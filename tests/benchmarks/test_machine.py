"""The machine that a measurement names."""

from benchmarks.helpers.machine import circumstances


def test_what_numba_was_told_of_the_processor_belongs_to_the_machine(monkeypatch):
    monkeypatch.delenv("NUMBA_CPU_NAME", raising=False)
    monkeypatch.delenv("NUMBA_CPU_FEATURES", raising=False)
    plain = circumstances()["cpu"]
    monkeypatch.setenv("NUMBA_CPU_FEATURES", "+avx2,-prefer-256-bit")
    assert circumstances()["cpu"] == f"{plain}, NUMBA_CPU_FEATURES=+avx2,-prefer-256-bit"
