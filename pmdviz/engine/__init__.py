"""From a recipe to its run: session, frame, history."""
