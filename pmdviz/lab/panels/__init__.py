"""What a page shows."""
