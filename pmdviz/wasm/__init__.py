"""The kernels of the package as WebAssembly, for pages that run without a server."""
