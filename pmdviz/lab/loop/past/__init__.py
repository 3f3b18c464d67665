"""Back in time and on another way: where one stands in a run so far, and the run that a branch has left."""
