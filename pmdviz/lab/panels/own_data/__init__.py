"""A person's own problem in the page: their table, data by the click, true parameters that can be dragged."""
