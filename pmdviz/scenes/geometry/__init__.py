"""Mirror descent beside gradient descent on probabilities: the steps, one setting of them, its arrays and its words."""

from pmdviz.scenes.geometry.knobs import GeometryKnobs
from pmdviz.scenes.geometry.setting import Geometry
from pmdviz.scenes.geometry.words import sentences

__all__ = ["Geometry", "GeometryKnobs", "sentences"]
