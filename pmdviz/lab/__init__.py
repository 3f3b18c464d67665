"""The lab: sessions with controls, pictures and the live loop, the same in the app and in a notebook."""

from pmdviz.lab.notebook.own_race import Race
from pmdviz.lab.pages.laboratory import Lab

__all__ = ["Lab", "Race"]
