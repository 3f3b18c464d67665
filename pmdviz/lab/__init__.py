"""The lab: sessions with controls, pictures and the live loop, the same in the app and in a notebook."""

from pmdviz.lab.laboratory import Lab
from pmdviz.lab.race import Race

__all__ = ["Lab", "Race"]
