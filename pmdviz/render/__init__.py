"""Renderers of pictures that know no scene."""
