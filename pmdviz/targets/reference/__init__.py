"""The exact posterior, where it can be had."""
