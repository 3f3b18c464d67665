"""The pages: one for each tab."""
