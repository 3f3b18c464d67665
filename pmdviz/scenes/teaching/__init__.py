"""What presets and lessons say: of a goal, a score, a run."""
