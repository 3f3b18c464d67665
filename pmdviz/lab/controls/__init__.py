"""What a person turns and presses."""
