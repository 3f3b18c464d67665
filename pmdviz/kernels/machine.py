"""The parts of a computer on which the last digits of a run depend, besides the code and its versions."""

import hashlib
import platform
from functools import cache

import numpy as np
from llvmlite import binding
from numba import config
from threadpoolctl import threadpool_info


@cache
def machine() -> dict[str, str]:
    """Runs have the same bits on computers for which these texts, and the versions of NumPy and numba, are the same.

    processor : the one that LLVM compiles kernels for, and a digest of its features (which tell AVX-512 and FMA)
    simd : vector instructions that NumPy chose at import, beyond those it was built for
    blas : NumPy's BLAS, its version, and the processor that its code was written for
    libc : the C library, which computes exp and log where NumPy and LLVM have no code of their own
    """
    features = config.CPU_FEATURES or binding.get_host_cpu_features().flatten()
    digest = hashlib.sha256(f"{features} {getattr(config, 'USING_SVML', False)}".encode()).hexdigest()[:8]
    return {
        "processor": f"{config.CPU_NAME or binding.get_host_cpu_name()} {digest}",
        "simd": " ".join(np.show_config("dicts")["SIMD Extensions"].get("found", [])),
        "blas": _blas(),
        "libc": " ".join(platform.libc_ver()).strip(),
    }


def _blas() -> str:
    """The first BLAS that was loaded is NumPy's: what loads another one, such as SciPy, imports NumPy before."""
    loaded = [library for library in threadpool_info() if library["user_api"] == "blas"]
    if loaded:
        return " ".join(str(loaded[0].get(key)) for key in ("internal_api", "version", "architecture"))
    built = np.show_config("dicts")["Build Dependencies"]["blas"]  # threadpoolctl does not see Apple's Accelerate
    return f"{built.get('name')} {built.get('version')}"
