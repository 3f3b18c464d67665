"""One step from the inside, as plain arrays and words: its terms, its particles, its batch, and four pictures."""

from pmdviz.scenes.inside.step import Inside, inside

__all__ = ["Inside", "inside"]
