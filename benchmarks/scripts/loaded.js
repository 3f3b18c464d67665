// Bytes that a page and all that it needs took on the wire.
() => [...performance.getEntriesByType("resource"), ...performance.getEntriesByType("navigation")]
  .reduce((sum, one) => sum + one.transferSize, 0)
