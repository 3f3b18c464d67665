"""Plain arrays and words of every picture; no Bokeh, no matplotlib."""
