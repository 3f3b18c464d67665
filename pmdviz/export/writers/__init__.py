"""One kind of file each."""
