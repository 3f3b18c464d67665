"""The lab: sessions with controls, pictures and the live loop, the same in the app and in a notebook."""

from pmdviz.lab.pages.laboratory import Lab
from pmdviz.lab.pages.race import Race

__all__ = ["Lab", "Race"]
