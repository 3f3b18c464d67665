"""A lesson beside the pages that it drives: what it shows, what it asks, and the run that it gives back."""
