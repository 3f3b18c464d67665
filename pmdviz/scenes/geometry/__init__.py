"""Mirror descent beside gradient descent on probabilities: the steps, one setting of them, its arrays and its words."""

from pmdviz.scenes.geometry.setting import Geometry, GeometryKnobs, sentences

__all__ = ["Geometry", "GeometryKnobs", "sentences"]
