"""Data that are read: files of a machine, tables of a person, and the form in which recipes and workers name them."""
