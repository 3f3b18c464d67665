"""The lab: a session with controls, pictures and the live loop, the same in the app and in a notebook."""

from pmdviz.lab.laboratory import Lab

__all__ = ["Lab"]
