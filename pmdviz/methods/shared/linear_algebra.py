"""Linear algebra whose bits are the same for any number of BLAS threads."""

from __future__ import annotations

from threadpoolctl import ThreadpoolController

# A decorator: what is decorated has one BLAS thread. With several the last bits of products and of eigenvectors of tens
# of rows and more depend on how many there are. It costs 12 microseconds a call.
one_blas_thread = ThreadpoolController().wrap(limits=1, user_api="blas")
