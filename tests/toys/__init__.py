"""One of each, in one file each, outside the package: what is imported must appear everywhere by itself."""
