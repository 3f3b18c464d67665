"""The lab as a widget of a notebook."""
