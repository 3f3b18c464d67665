"""What a lesson asks before it shows."""
