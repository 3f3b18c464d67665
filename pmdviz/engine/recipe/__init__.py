"""A recipe: everything that a run is made of, and its forms as JSON, link and Python."""
