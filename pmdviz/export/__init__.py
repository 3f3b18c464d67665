"""Files to take home: one writer a suffix."""
